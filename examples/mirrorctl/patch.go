package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) patchCommand() *cobra.Command {
	var in input
	var s setting
	var dir string
	var force, section, documentsOnly, verbose bool
	mode := choice{value: "merge", allowed: []string{"merge", "replace"}}
	options := func() []configpatch.Option {
		opts := s.options()
		if section {
			opts = append(opts, configpatch.WithSection())
		}
		if documentsOnly {
			opts = append(opts, configpatch.DocumentsOnly())
		}
		return opts
	}
	cmd := &cobra.Command{
		Use:   "patch -f FILE --talos-version V",
		Short: "Make a patch for a machine configuration",
		Long: `Patch prints strategic-merge patches for a Talos machine configuration. They
have been applied and read back with Talos's own code before they are printed.

  merge    one patch, for a configuration that has none of these registries
           yet: applied twice, it doubles their lists, and containerd then
           ignores every mirror
  replace  three patches for any configuration, to be given in order to one
           call: applied once or twice or over an older version, they give the
           same configuration. It needs --out and a client of Talos 1.8

Replace warns of what its patches cannot do. They also cannot tell whether the
configuration has a v1alpha1 document, as every machine configuration of a
node has, and make a stub of one where it has none; --verbose warns of that,
too, and --documents-only makes patches for such a configuration.

With --out DIR the patches are written to files there, mirrors.yaml or
1-ensure.yaml, 2-delete.yaml and 3-set.yaml, readable by their owner only, and
nothing is printed. A file of that name with other content, or one of these
names that is not among the patches now, is left alone and is an error; with
--force it is replaced or removed.`,
		Example: `  mirrorctl patch -f registries.yaml --talos-version v1.13
  mirrorctl patch -f registries.yaml --talos-version v1.11 --out legacy
  mirrorctl patch -f registries.yaml --talos-version v1.13 --mode replace --out patches
  talosctl patch machineconfig -p @patches/1-ensure.yaml -p @patches/2-delete.yaml -p @patches/3-set.yaml`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error {
			if force && dir == "" {
				return wrongCall("--force is about files that --out writes, and --out is not given")
			}
			if mode.value == "replace" && dir == "" {
				return wrongCall("--mode replace makes three files (want --out DIR)")
			}
			if mode.value != "replace" && verbose {
				return wrongCall("--verbose is for --mode replace")
			}
			if mode.value != "replace" && (section || documentsOnly) {
				return wrongCall("--section and --documents-only are for --mode replace")
			}
			source, err := in.readChecked(t, &s, section)
			if err != nil {
				return err
			}
			if mode.value == "replace" {
				replacement, err := configpatch.Replace(source.Set, s.version.version, options()...)
				if err != nil {
					return inCall(in.file, err)
				}
				for _, w := range replacement.Warnings {
					if strings.HasPrefix(w.Message, ofDocumentsAlone) && !verbose {
						continue
					}
					w.Fix = inFlags(w.Fix)
					t.warn(in.file, "", mirrors.Findings{w})
				}
				return t.emit(replacement.Patches, dir, force)
			}
			patch, err := configpatch.Merge(source.Set, s.version.version, options()...)
			if err != nil {
				return inCall(in.file, err)
			}
			return t.emit(configpatch.Patches{patch}, dir, force)
		}),
	}
	in.register(cmd)
	s.register(cmd, "")
	cmd.Flags().Var(&mode, "mode", "merge or replace")
	cmd.Flags().BoolVar(&section, "section", false, "replace, legacy form: the whole of machine.registries, entries of others included;\nFILE may then say nothing, which clears it")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "replace: warn also of what is so for every configuration")
	cmd.Flags().BoolVar(&documentsOnly, "documents-only", false, "replace, documents form: the configuration has no v1alpha1 document")
	cmd.Flags().Var(&once{value: &dir, what: "DIR"}, "out", "write files into this directory instead of printing")
	cmd.Flags().BoolVar(&force, "force", false, "let --out replace files that have other content, and remove patches that are not among these")
	must(cmd.MarkFlagDirname("out"))
	complete(cmd, "mode", mode.allowed)
	return cmd
}

// ofDocumentsAlone begins the warning of replace that is about a configuration
// without a v1alpha1 document. Nothing that replace knows makes it likelier or less.
const ofDocumentsAlone = "a configuration without a v1alpha1 document"

// inCall tells of an error of configpatch what of it is about flags, which is a
// wrong call, and what about the file.
func inCall(file string, err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, inCall(file, e))
		}
		return errors.Join(all...)
	}
	var e *configpatch.Error
	if !errors.As(err, &e) {
		return inFile(file, err)
	}
	told := *e
	told.Fix = inFlags(e.Fix)
	switch e.Path {
	case "version":
		told.Path = "--talos-version"
	case "form":
		told.Path = "--form"
	case "section":
		told.Path = "--section"
	case "documentsOnly":
		told.Path = "--documents-only"
	default:
		if !errors.Is(err, configpatch.ErrNotOwned) {
			return inFile(file, &told)
		}
	}
	return &callError{&told}
}

// emit prints one patch, or writes the patches into dir.
func (t *tool) emit(patches configpatch.Patches, dir string, force bool) error {
	if dir != "" {
		others := map[string]bool{"mirrors.yaml": true, "1-ensure.yaml": true, "2-delete.yaml": true, "3-set.yaml": true}
		files := make([]outFile, len(patches))
		for i, p := range patches {
			files[i] = outFile{p.Name(), p.Bytes()}
			delete(others, p.Name())
		}
		return writeFiles(dir, files, force, slices.Sorted(maps.Keys(others))...)
	}
	if len(patches) != 1 {
		return errors.New("several patches need --out DIR")
	}
	t.put(patches[0].Bytes())
	return nil
}
