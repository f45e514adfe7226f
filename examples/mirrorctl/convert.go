package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

func (t *tool) convertCommand() *cobra.Command {
	var in input
	var s setting
	var dir string
	var allowLoss, force bool
	to := choice{allowed: formats}
	cmd := &cobra.Command{
		Use:   "convert --from FORMAT --to FORMAT PATH",
		Short: "Turn a file of one format into another, and tell what is lost",
		Long: `Convert reads a file, or for hosts a directory, and prints what it says in
another format. Each thing that the other format cannot say, or says in another
way, is a line on standard error with its place and what to do; then nothing is
printed and the exit code is 3, unless --allow-loss is given. When there is no
such line, nothing was lost. What check warns of is told, too. The formats:

` + formatsHelp + `
A result of several files, and every one for hosts, needs --out DIR. They are
readable by their owner only.`,
		Example: `  mirrorctl convert --from k3s --to registries /etc/rancher/k3s/registries.yaml --root /
  mirrorctl convert --from hosts --to talos /etc/containerd/certs.d
  mirrorctl convert --from registries --to hosts --out certs.d registries.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.file = args[0]
			return t.do(func() error {
				if to.value != "talos" && (cmd.Flags().Changed("talos-version") || s.form.value != "" || s.imageCache) {
					return wrongCall("--talos-version, --form and --image-cache are for --to talos, not for %s", to.value)
				}
				if force && dir == "" {
					return wrongCall("--force is about files that --out writes, and --out is not given")
				}
				return t.convert(&in, to.value, &s, dir, allowLoss, force)
			})(cmd, args)
		},
	}
	in.registerFormat(cmd)
	s.register(cmd, "v1.13")
	flags := cmd.Flags()
	flags.Var(&to, "to", "what to make of it, one of the same formats (required)")
	flags.Var(&once{value: &dir, what: "DIR"}, "out", "write files into this directory instead of printing")
	flags.BoolVar(&allowLoss, "allow-loss", false, "go on when something is lost")
	flags.BoolVar(&force, "force", false, "let --out replace files that have other content")
	must(cmd.MarkFlagRequired("from"))
	must(cmd.MarkFlagRequired("to"))
	must(cmd.MarkFlagDirname("out"))
	complete(cmd, "to", to.allowed)
	return cmd
}

func (t *tool) convert(in *input, to string, s *setting, dir string, allowLoss, force bool) error {
	in.to = to
	if to == "hosts" && dir == "" {
		return wrongCall("--to hosts makes a directory (want --out DIR)")
	}
	source, lostReading, err := in.read(t)
	if err != nil {
		return err
	}
	var opts []mirrors.CheckOption
	if to == "talos" {
		opts = s.checks()
	}
	findings := source.Check(opts...)
	if findings.Err() != nil {
		return &findingsError{in.file, in.from.value, findings}
	}
	files, lostWriting, err := writeFormat(to, source.Set, s, in.how.disableDefault)
	var wrong *mirrors.Error
	if errors.As(err, &wrong) {
		return &findingsError{in.file, in.from.value, wrong.Findings}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}

	printFindings(t.stderr, in.file, in.from.value, warnings(findings))
	printReport(t.stderr, in.file, in.from.value, lostReading)
	printReport(t.stderr, in.file, in.from.value, placed(lostWriting, source, in.from.value, to))
	if len(lostReading.Ignored) > 0 {
		fmt.Fprintf(t.stderr, "%s: ignored, since it is not about registries: %s\n", in.file, strings.Join(lostReading.Ignored, ", "))
	}
	if !(lostReading.Lossless() && lostWriting.Lossless()) && !allowLoss {
		return fmt.Errorf("%s: %w", in.file, errLoss)
	}

	if dir != "" {
		var out []outFile
		for _, name := range files.Names() {
			out = append(out, outFile{name, files[name]})
		}
		return writeFiles(dir, out, force)
	}
	if len(files) != 1 {
		return wrongCall("the result is %d files: %s (want --out DIR)", len(files), strings.Join(files.Names(), ", "))
	}
	t.result.Write(files[files.Names()[0]])
	return nil
}

// placed is a writer's report with the lines, and the files, that the reader
// found the fields in, and the format that it is about.
func placed(report convert.Report, source *mirrors.Source, from, to string) convert.Report {
	places := map[string]mirrors.Place{}
	for name := range source.Set.Mirrors {
		p := mirrors.Place{Section: "mirrors", Key: name}
		places[p.String()] = p
	}
	for name := range source.Set.Config {
		p := mirrors.Place{Section: "config", Key: name}
		places[p.String()] = p
	}
	for i, e := range report.Entries {
		entry, field := cutEntry(e.Path)
		e.File = "" // of the result
		if p, ok := places[entry]; ok {
			p.Field = field
			at := source.Position(p)
			e.Line, e.Column = at.Line, at.Column
			e.File, _ = cutFile(from, at.Path)
		}
		e.Path = strings.TrimSuffix("for "+to+": "+e.Path, ": ")
		report.Entries[i] = e
	}
	return report
}

// cutEntry cuts the path of a field of a Set into that of the entry, such as
// mirrors["ghcr.io"], and the field below it.
func cutEntry(path string) (entry, field string) {
	end := strings.IndexByte(path, '[') + 1
	key, err := strconv.QuotedPrefix(path[end:])
	if err != nil {
		return path, ""
	}
	end += len(key)
	end += strings.IndexByte(path[end:], ']') + 1 // of a long key, … stands between
	return path[:end], strings.TrimPrefix(path[end:], ".")
}
