package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// input is the file that says which registries a node may pull from.
type input struct {
	file string
	from choice
	how  reading
	to   string // the format that convert writes, else empty

	talosVersion *yaml.Node // that cozystack's values name, or nil

	// judge finds what is wrong with the file as it is, where that is more than
	// what is wrong with the Set; else nil.
	judge func(...mirrors.CheckOption) mirrors.Findings
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
	cmd.Flags().Var(&in.from, "from", "what it is: "+strings.Join(formats[:5], ", ")+",\n"+strings.Join(formats[5:], ", ")+"\n(what in it is not about registries is passed over; convert names it)")
	cmd.Flags().Var(&once{value: &in.how.root, what: "DIR"}, "root", "k3s, hosts: the root folder of the node, or a copy of it, for certificates that are named by path")
	cmd.Flags().Var(&once{value: &in.how.folder, what: "DIR"}, "from-folder", "hosts: the folder that the directory lies in on the node, when its files name certificates by it")
	cmd.Flags().BoolVar(&in.how.disableDefault, "disable-default-registry-endpoint", false, "k3s: the nodes are started with this flag")
	must(cmd.MarkFlagDirname("root"))
	complete(cmd, "from-folder", nil)
	complete(cmd, "from", formats)
}

// check finds what is wrong with the call.
func (in *input) check() error {
	format := in.from.value
	switch {
	case in.how.root != "" && format != "k3s" && format != "hosts":
		return wrongCall("--root is for --from k3s and --from hosts, not for %s", format)
	case in.how.folder != "" && format != "hosts":
		return wrongCall("--from-folder is for --from hosts, not for %s", format)
	case in.how.folder != "" && !path.IsAbs(in.how.folder):
		return wrongCall("--from-folder is a folder on the node (want an absolute path)")
	case in.how.disableDefault && format != "k3s" && in.to != "k3s":
		return wrongCall("--disable-default-registry-endpoint is for k3s, not for %s", format)
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
	source, report, err := t.readFormat(in)
	var wrong *mirrors.Error
	if errors.As(err, new(*findingsError)) {
		return nil, report, err
	}
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
	t.tellReport(in.file, in.from.value, report)
	return source, err
}

// readChecked is read for the commands that make something of the Set: errors
// and losses end it, warnings go to standard error. That there is nothing in the
// Set is an error where there is nothing to make of it.
func (in *input) readChecked(t *tool, s *setting, mayBeEmpty bool) (*mirrors.Source, error) {
	source, report, err := in.read(t)
	if err != nil {
		return nil, err
	}
	findings := source.Check(s.checks()...)
	for i := range findings {
		if findings[i].Rule == mirrors.RuleEmptySet && !mayBeEmpty {
			findings[i].Severity = mirrors.SeverityError
		}
	}
	if findings.Err() != nil {
		return nil, &findingsError{in.file, in.from.value, findings}
	}
	if !report.Lossless() {
		t.tellReport(in.file, in.from.value, report)
		return nil, fmt.Errorf("%s: not all of it can be carried over (want it changed, or 'mirrorctl convert --from %s --to registries --allow-loss' first)",
			in.file, in.from.value)
	}
	t.warn(in.file, in.from.value, warnings(findings))
	in.warnOfVersion(t, s)
	return source, nil
}

// warnings are the findings of severity warning.
func warnings(findings mirrors.Findings) mirrors.Findings {
	return slices.DeleteFunc(slices.Clone(findings), func(f mirrors.Finding) bool { return f.Severity != mirrors.SeverityWarning })
}

// warnOfVersion tells when the values name a version of Talos that is older
// than the one that the result is for. The chart's version is the nodes', and
// the older of client and node counts.
func (in *input) warnOfVersion(t *tool, s *setting) {
	if in.talosVersion == nil {
		return
	}
	given := in.talosVersion.Value
	theirs, err := configpatch.ParseVersion(given)
	if err == nil && theirs.Compare(s.version.version) < 0 {
		t.warn(in.file, in.from.value, mirrors.Findings{{Rule: ruleOlderNodes, Severity: mirrors.SeverityWarning, Path: "talos.version",
			Line: in.talosVersion.Line, Column: in.talosVersion.Column,
			Message: fmt.Sprintf("it is %s, and the result is for %s", given, s.version.text), Fix: "want --talos-version " + given}})
	}
}

// tellReport writes a line for each entry: FILE:LINE:COL: loss: path: reason (fix).
func (t *tool) tellReport(file, format string, report convert.Report) {
	for _, e := range report.Entries {
		text := e.Reason
		if e.Path != "" {
			text = e.Path + ": " + text
		}
		if e.Fix != "" {
			text += " (" + e.Fix + ")"
		}
		kind := paint(t.personColour, yellow, e.Kind.String())
		fmt.Fprintf(t.stderr, "%s:%d:%d: %s: %s\n", shown(inFolder(file, format, e.File)), e.Line, e.Column, kind, visibleLine(text))
	}
}

// inFile puts the file's name before each of the errors, unless it is there.
func inFile(file string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) && at.Path == file {
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
	data, err := t.readSome(name, limit)
	if err != nil {
		return nil, unreadable(name, err)
	}
	return data, nil
}

func (t *tool) readSome(name string, limit int64) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(io.LimitReader(t.stdin, limit+1))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit+1))
}

func unreadable(name string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // the name stands before it
	}
	return &findingsError{file: name, findings: mirrors.Findings{{Rule: ruleUnreadable, Severity: mirrors.SeverityError,
		Message: err.Error(), Fix: "want a file that can be read"}}}
}

// readConfig reads a machine configuration.
func (t *tool) readConfig(name string) ([]byte, error) {
	data, err := t.readFile(name, mirrors.MaxSize)
	if err == nil && len(data) > mirrors.MaxSize {
		err = &findingsError{file: name, findings: findingsOf(tooLarge())}
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
		s.version.given = false
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
	completeVersions(cmd, "talos-version")
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
