package main

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

func (t *tool) convertCommand() *cobra.Command {
	var in input
	var how writing
	var dir string
	var allowLoss, force bool
	to := choice{allowed: formats}
	var output encoding
	cmd := &cobra.Command{
		Use:   "convert --from FORMAT --to FORMAT PATH",
		Short: "Turn a file of one format into another, and tell what is lost",
		Long: `Convert reads a file, or for hosts a directory, and prints what it says in
another format. Each thing that the other format cannot say, or says in another
way, is a line on standard error with its place and what to do; then nothing is
printed and the exit code is 3, unless --allow-loss is given. When there is no
such line, nothing was lost. What check warns of is told, too.

With -o json or yaml all of that is on standard output instead: entries are what
is lost, ignored what is not about registries, findings what check warns of, and
files the result, without texts when --out writes them, none when the exit code
is 3. The formats:

` + formatsHelp + `
A result of several files, and every one for hosts, needs --out DIR. They are
readable by their owner only.`,
		Example: `  mirrorctl convert --from k3s --to registries --root node node/etc/rancher/k3s/registries.yaml
  mirrorctl convert --from hosts --to talos node/etc/containerd/certs.d
  mirrorctl convert --from registries --to hosts --out certs.d registries.yaml
  mirrorctl convert --from docker-daemon --to registries --allow-loss -o json daemon.json`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			in.file = args[0]
			return t.do(func() error {
				if err := how.check(to.value, cmd.Flags().Changed("talos-version")); err != nil {
					return err
				}
				if force && dir == "" {
					return wrongCall("--force is about files that --out writes, and --out is not given")
				}
				return t.convert(&in, to.value, &how, dir, allowLoss, force, output)
			})(cmd, args)
		},
	}
	in.registerFormat(cmd)
	how.talos.register(cmd, "v1.13")
	flags := cmd.Flags()
	flags.Var(&to, "to", "what to make of it, one of the same formats (required)")
	flags.Var(&once{value: &dir, what: "DIR"}, "out", "write files into this directory instead of printing")
	flags.Var(&once{value: &how.folder, what: "DIR"}, "to-folder", "k3s, hosts: the folder that the result will lie in on the nodes, by which it names certificates\n(default: /etc/rancher/k3s, and /etc/cri/conf.d/hosts of Talos; . for hosts: relative names)")
	flags.Var(&once{value: &how.secret, what: "[NAMESPACE/]NAME"}, "secret", "docker-config: a Secret of this name instead of config.json")
	flags.BoolVar(&how.platform, "platform", false, "cozystack: the platform's registries instead of talos.registryMirrors")
	flags.BoolVar(&how.clusterCreate, "cluster-create", false, "talosctl-flags: for talosctl cluster create instead of gen config")
	flags.BoolVar(&allowLoss, "allow-loss", false, "go on when something is lost")
	flags.BoolVar(&force, "force", false, "let --out replace files that have other content")
	must(cmd.MarkFlagRequired("from"))
	must(cmd.MarkFlagRequired("to"))
	must(cmd.MarkFlagDirname("out"))
	complete(cmd, "to", to.allowed)
	complete(cmd, "to-folder", nil)
	complete(cmd, "secret", nil)
	output.register(cmd, "what is printed; text is the result alone")
	return cmd
}

// completePath offers files, or directories for hosts.
func completePath(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case cmd.Flag("from").Value.String() == "hosts":
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// check finds what is wrong with the call.
func (how *writing) check(to string, versionGiven bool) error {
	talos := &how.talos
	namespace, name, namespaced := strings.Cut(how.secret, "/")
	switch {
	case to != "talos" && (versionGiven || talos.form.value != "" || talos.imageCache):
		return wrongCall("--talos-version, --form and --image-cache are for --to talos, not for %s", to)
	case to != "k3s" && to != "hosts" && how.folder != "":
		return wrongCall("--to-folder is for --to k3s and --to hosts, not for %s", to)
	case how.folder != "" && !path.IsAbs(how.folder) && (to != "hosts" || how.folder != "."):
		return wrongCall("--to-folder is a folder on the nodes (want an absolute path, or . for hosts)")
	case to != "docker-config" && how.secret != "":
		return wrongCall("--secret is for --to docker-config, not for %s", to)
	case namespaced && (namespace == "" || name == "" || strings.Contains(name, "/")):
		return wrongCall("--secret %q (want [NAMESPACE/]NAME)", how.secret)
	case to != "cozystack" && how.platform:
		return wrongCall("--platform is for --to cozystack, not for %s", to)
	case to != "talosctl-flags" && how.clusterCreate:
		return wrongCall("--cluster-create is for --to talosctl-flags, not for %s", to)
	}
	return nil
}

func (t *tool) convert(in *input, to string, how *writing, dir string, allowLoss, force bool, output encoding) error {
	in.to = to
	if to == "hosts" && dir == "" && output.text() {
		return wrongCall("--to hosts makes a directory (want --out DIR)")
	}
	source, lostReading, err := in.read(t)
	if err != nil {
		return err
	}
	var opts []mirrors.CheckOption
	if to == "talos" {
		opts = how.talos.checks()
	}
	findings := source.Check(opts...)
	if findings.Err() != nil {
		return &findingsError{in.file, in.from.value, findings}
	}
	files, lostWriting, err := writeFormat(to, source.Set, how, in.how.disableDefault)
	var wrong *mirrors.Error
	if errors.As(err, &wrong) {
		return &findingsError{in.file, in.from.value, wrong.Findings}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}

	lost := append(slices.Clone(lostReading.Entries), placed(lostWriting, source, in.from.value, to).Entries...)
	told := converted{Entries: list(lost), Ignored: list(lostReading.Ignored), Findings: list(warnings(findings)), Files: []convertedFile{}}
	if output.text() {
		t.warn(in.file, in.from.value, told.Findings)
		t.tellReport(in.file, in.from.value, convert.Report{Entries: lost})
		if len(told.Ignored) > 0 {
			t.say("%s: ignored, since it is not about registries: %s", shown(in.file), strings.Join(told.Ignored, ", "))
		}
	}
	if len(lost) > 0 && !allowLoss {
		if output.text() {
			return fmt.Errorf("%s: %w", shown(in.file), errLoss)
		}
		return cmp.Or(t.encode(output, told), error(&toldError{exitLoss}))
	}

	var out []outFile
	for _, name := range files.Names() {
		out = append(out, outFile{name, files[name]})
		told.Files = append(told.Files, convertedFile{Name: name, Text: string(files[name])})
	}
	if dir != "" {
		if err := writeFiles(dir, out, force); err != nil {
			return err
		}
		for i := range told.Files {
			told.Files[i].Text = ""
		}
	}
	switch {
	case !output.text():
		return t.encode(output, told)
	case dir != "":
		return nil
	}
	if len(files) != 1 {
		return wrongCall("the result is %d files: %s (want --out DIR)", len(files), strings.Join(files.Names(), ", "))
	}
	t.put(files[files.Names()[0]])
	return nil
}

// converted is what convert did as -o json has it.
type converted struct {
	Entries  []convert.Entry  `json:"entries"`
	Ignored  []string         `json:"ignored"`
	Findings mirrors.Findings `json:"findings"`
	Files    []convertedFile  `json:"files"`
}

type convertedFile struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
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
func cutEntry(place string) (entry, field string) {
	end := strings.IndexByte(place, '[') + 1
	key, err := strconv.QuotedPrefix(place[end:])
	if err != nil {
		return place, ""
	}
	end += len(key)
	end += strings.IndexByte(place[end:], ']') + 1 // of a long key, … stands between
	return place[:end], strings.TrimPrefix(place[end:], ".")
}
