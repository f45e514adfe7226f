package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
)

func (t *tool) patchCommand() *cobra.Command {
	var in input
	var s setting
	var dir string
	var force bool
	mode := choice{value: "merge", allowed: []string{"merge"}}
	cmd := &cobra.Command{
		Use:   "patch -f FILE --talos-version V",
		Short: "Make a patch for a machine configuration",
		Long: `Patch prints a strategic-merge patch for a Talos machine configuration that has
none of these registries yet. It has been applied and read back with Talos's
own code before it is printed.

With --out DIR it is written to a file there, under a name such as merge.yaml,
readable by its owner only, and nothing is printed. A file of that name with
other content is left alone and is an error, unless --force is given.`,
		Example: `  mirrorctl patch -f registries.yaml --talos-version v1.13
  mirrorctl patch -f registries.yaml --talos-version v1.11 --out patches
  talosctl gen config dev https://192.0.2.10:6443 --config-patch @patches/merge.yaml`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error {
			if force && dir == "" {
				return wrongCall("--force is about files that --out writes, and --out is not given")
			}
			source, err := in.readChecked(t, s.checks()...)
			if err != nil {
				return err
			}
			patch, err := configpatch.Merge(source.Set, s.version.version, s.options()...)
			if err != nil {
				return err
			}
			return t.emit([]configpatch.Patch{patch}, dir, force)
		}),
	}
	in.register(cmd)
	s.register(cmd, "")
	cmd.Flags().Var(&mode, "mode", "merge: one patch, for a configuration that has none of these registries yet")
	cmd.Flags().Var(&once{value: &dir, what: "DIR"}, "out", "write files into this directory instead of printing")
	cmd.Flags().BoolVar(&force, "force", false, "let --out replace files that have other content")
	must(cmd.MarkFlagDirname("out"))
	complete(cmd, "mode", mode.allowed)
	return cmd
}

// emit prints one patch, or writes the patches into dir.
func (t *tool) emit(patches []configpatch.Patch, dir string, force bool) error {
	if dir != "" {
		files := make([]outFile, len(patches))
		for i, p := range patches {
			files[i] = outFile{p.Name(), p.Bytes()}
		}
		return writeFiles(dir, files, force)
	}
	if len(patches) != 1 {
		return errors.New("several patches need --out DIR")
	}
	t.result.Write(patches[0].Bytes())
	return nil
}
