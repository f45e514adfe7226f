package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// input is the file that says which registries a node may pull from.
type input struct {
	file string
	from choice
	how  reading
}

// register adds the flags that name the file and its format.
func (in *input) register(cmd *cobra.Command) {
	cmd.Flags().VarP(&once{value: &in.file, what: "FILE"}, "file", "f", "what to read; - is standard input (required)")
	must(cmd.MarkFlagRequired("file"))
	must(cmd.MarkFlagFilename("file", "yaml", "yml", "json", "toml", "conf"))
	in.registerFormat(cmd)
}

func (in *input) registerFormat(cmd *cobra.Command) {
	in.from = choice{value: "registries", allowed: formats}
	cmd.Flags().Var(&in.from, "from", "what it is: "+strings.Join(formats, ", "))
	cmd.Flags().StringVar(&in.how.root, "root", "", "k3s, hosts: the root folder of the node, or a copy of it, for certificates that are named by path")
	cmd.Flags().BoolVar(&in.how.disableDefault, "disable-default-registry-endpoint", false, "k3s: the nodes are started with this flag")
	must(cmd.MarkFlagDirname("root"))
	complete(cmd, "from", formats)
}

// check finds what is wrong with the call.
func (in *input) check() error {
	format := in.from.value
	switch {
	case in.how.root != "" && format != "k3s" && format != "hosts":
		return wrongCall("--root is for --from k3s and --from hosts, not for %s", format)
	case in.how.disableDefault && format != "k3s":
		return wrongCall("--disable-default-registry-endpoint is for --from k3s, not for %s", format)
	case in.file == "-" && format == "hosts":
		return wrongCall("--from hosts reads a directory, not standard input")
	}
	return nil
}

// read returns what the file says, and what of it a Set cannot say. Its
// mistakes are a *findingsError.
func (in *input) read(t *tool) (*mirrors.Source, convert.Report, error) {
	if err := in.check(); err != nil {
		return nil, convert.Report{}, err
	}
	source, report, err := t.readFormat(in.from.value, in.file, in.how)
	var wrong *mirrors.Error
	if errors.As(err, &wrong) {
		return nil, report, &findingsError{in.file, in.from.value, wrong.Findings}
	}
	if err != nil {
		return nil, report, inFile(in.file, err)
	}
	return source, report, nil
}

// readTold is read for commands that tell about the Set: what the Set cannot
// say goes to standard error.
func (in *input) readTold(t *tool) (*mirrors.Source, error) {
	source, report, err := in.read(t)
	printReport(t.stderr, in.file, report)
	return source, err
}

// readChecked is read for the commands that make something of the Set: errors
// and losses end it, warnings go to standard error.
func (in *input) readChecked(t *tool, opts ...mirrors.CheckOption) (*mirrors.Source, error) {
	source, report, err := in.read(t)
	if err != nil {
		return nil, err
	}
	findings := source.Check(opts...)
	if findings.Err() != nil {
		return nil, &findingsError{in.file, in.from.value, findings}
	}
	if !report.Lossless() {
		printReport(t.stderr, in.file, report)
		return nil, fmt.Errorf("%s: not all of it can be carried over (want it changed, or 'mirrorctl convert --from %s --to registries --allow-loss' first)",
			in.file, in.from.value)
	}
	printFindings(t.stderr, in.file, in.from.value, slices.DeleteFunc(findings, func(f mirrors.Finding) bool {
		return f.Severity != mirrors.SeverityWarning
	}))
	return source, nil
}

// printReport writes a line for each entry: FILE:LINE:COL: loss: path: reason (fix).
func printReport(w io.Writer, file string, report convert.Report) {
	for _, e := range report.Entries {
		within := file
		if e.File != "" {
			within += ": " + e.File
		}
		fmt.Fprintf(w, "%s:%d:%d: %s: ", within, e.Line, e.Column, e.Kind)
		if e.Path != "" {
			fmt.Fprintf(w, "%s: ", e.Path)
		}
		fmt.Fprint(w, e.Reason)
		if e.Fix != "" {
			fmt.Fprintf(w, " (%s)", e.Fix)
		}
		fmt.Fprintln(w)
	}
}

// inFile puts the file's name before each of the errors, unless it is there.
func inFile(file string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == file {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, inFile(file, e))
		}
		return errors.Join(all...)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// readFile reads a file, or standard input for "-". It reads at most one byte
// more than limit: who is given more than limit bytes says that it is too much.
func (t *tool) readFile(name string, limit int64) ([]byte, error) {
	if name == "-" {
		data, err := io.ReadAll(io.LimitReader(t.stdin, limit+1))
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return data, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

// readConfig reads a machine configuration.
func (t *tool) readConfig(name string) ([]byte, error) {
	data, err := t.readFile(name, mirrors.MaxSize)
	if err == nil && len(data) > mirrors.MaxSize {
		err = fmt.Errorf("%s: %w", name, tooLarge())
	}
	return data, err
}

// setting is how a Set is to be written for Talos.
type setting struct {
	version    version
	form       choice
	imageCache bool
}

func (s *setting) register(cmd *cobra.Command, defaultVersion string) {
	if defaultVersion != "" {
		must(s.version.Set(defaultVersion))
	}
	s.form = choice{allowed: []string{"legacy", "documents"}}
	text := "the older version of client and node, such as v1.13"
	if defaultVersion == "" {
		text += " (required)"
	}
	cmd.Flags().Var(&s.version, "talos-version", text)
	cmd.Flags().Var(&s.form, "form", "legacy (machine.registries) or documents (RegistryMirrorConfig and its kin)\n(default: documents from Talos 1.12.2 on, legacy below)")
	cmd.Flags().BoolVar(&s.imageCache, "image-cache", false, "the nodes have Talos's image cache enabled")
	if defaultVersion == "" {
		must(cmd.MarkFlagRequired("talos-version"))
	}
	complete(cmd, "form", s.form.allowed)
}

// chosen returns the form that will be written.
func (s *setting) chosen() configpatch.Form {
	if form, err := configpatch.ParseForm(s.form.value); err == nil {
		return form
	}
	return configpatch.FormFor(s.version.version)
}

// options are those for configpatch, the form included.
func (s *setting) options() []configpatch.Option {
	return append(s.withoutForm(), configpatch.WithForm(s.chosen()))
}

func (s *setting) withoutForm() []configpatch.Option {
	if s.imageCache {
		return []configpatch.Option{configpatch.WithImageCache()}
	}
	return nil
}

// checks are what the Set must hold for, so that a problem is reported with
// its place in the file.
func (s *setting) checks() []mirrors.CheckOption {
	opts := []mirrors.CheckOption{mirrors.ForTalos(s.version.text), mirrors.InForm(s.chosen().String())}
	if s.imageCache {
		opts = append(opts, mirrors.WithImageCache())
	}
	return opts
}
