package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
)

// input is the file that says which registries a node may pull from.
type input struct {
	file string
	from choice
}

// register adds the flags that name the file and its format.
func (in *input) register(cmd *cobra.Command) {
	in.from = choice{value: "registries", allowed: []string{"registries", "cozystack"}}
	cmd.Flags().VarP(&once{value: &in.file, what: "FILE"}, "file", "f", "what to read; - is standard input (required)")
	cmd.Flags().Var(&in.from, "from", "what the file is: "+strings.Join(in.from.allowed, ", ")+"\n"+
		"(registries: mirrors and config, as machine.registries has them;\ncozystack: chart values with talos.registryMirrors)")
	must(cmd.MarkFlagRequired("file"))
	must(cmd.MarkFlagFilename("file", "yaml", "yml", "json"))
	complete(cmd, "from", in.from.allowed)
}

// read returns what the file says. Its mistakes are a *findingsError.
func (in *input) read(t *tool) (*mirrors.Source, error) {
	data, err := t.readFile(in.file, mirrors.MaxSize)
	if err != nil {
		return nil, err
	}
	var source *mirrors.Source
	switch in.from.value {
	case "cozystack":
		var report convert.Report
		source, report, err = cozystack.Read(data)
		if err == nil && !report.Lossless() {
			err = errors.New(report.String())
		}
	default:
		source, err = mirrors.Decode(data)
	}
	var wrong *mirrors.Error
	if errors.As(err, &wrong) {
		return nil, &findingsError{in.file, wrong.Findings}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.file, err)
	}
	return source, nil
}

// readChecked is read for the commands that make something of the Set: errors
// end it, warnings go to standard error.
func (in *input) readChecked(t *tool, opts ...mirrors.CheckOption) (*mirrors.Source, error) {
	source, err := in.read(t)
	if err != nil {
		return nil, err
	}
	findings := source.Check(opts...)
	if findings.Err() != nil {
		return nil, &findingsError{in.file, findings}
	}
	printFindings(t.stderr, in.file, slices.DeleteFunc(findings, func(f mirrors.Finding) bool {
		return f.Severity != mirrors.SeverityWarning
	}))
	return source, nil
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

// setting is how a Set is to be written for Talos.
type setting struct {
	version version
	form    choice
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

func (s *setting) options() []configpatch.Option {
	return []configpatch.Option{configpatch.WithForm(s.chosen())}
}

// checks are what the Set must hold for, so that a problem is reported with
// its place in the file.
func (s *setting) checks() []mirrors.CheckOption {
	return []mirrors.CheckOption{mirrors.ForTalos(s.version.text), mirrors.InForm(s.chosen().String())}
}
