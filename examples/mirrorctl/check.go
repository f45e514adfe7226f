package main

import (
	"encoding/json"
	"errors"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) checkCommand() *cobra.Command {
	var in input
	var v version
	var imageCache bool
	output := choice{value: "text", allowed: []string{"text", "json"}}
	cmd := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Tell what is wrong with a file, all of it, with place and remedy",
		Long: `Check reads a file and prints what it finds, one line each:

  FILE:LINE:COL: severity: path: what is wrong (what is wanted) [rule]

The exit code is 1 when one of them is an error. Line and column are 0 where
there is no place to point at.`,
		Example: `  mirrorctl check -f registries.yaml
  mirrorctl check --from cozystack -f values.yaml --talos-version v1.12
  mirrorctl check -f registries.yaml -o json`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error { return t.check(&in, v, imageCache, output.value) }),
	}
	in.register(cmd)
	cmd.Flags().Var(&v, "talos-version", "find also what this version of Talos does not know, such as v1.13")
	cmd.Flags().BoolVar(&imageCache, "image-cache", false, "the nodes have Talos's image cache enabled")
	cmd.Flags().VarP(&output, "output", "o", "text or json")
	complete(cmd, "output", output.allowed)
	return cmd
}

func (t *tool) check(in *input, v version, imageCache bool, output string) error {
	var opts []mirrors.CheckOption
	if v.text != "" {
		opts = append(opts, mirrors.ForTalos(v.text))
	}
	if imageCache {
		opts = append(opts, mirrors.WithImageCache())
	}

	var findings mirrors.Findings
	source, err := in.readTold(t)
	var wrong *findingsError
	switch {
	case errors.As(err, &wrong):
		findings = wrong.findings
	case err != nil:
		return err
	case in.judge != nil:
		findings = in.judge(opts...)
	default:
		findings = source.Check(opts...)
	}

	if output == "json" {
		if findings == nil {
			findings = mirrors.Findings{} // [], not null
		}
		enc := json.NewEncoder(&t.result)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		if err := enc.Encode(map[string]mirrors.Findings{"findings": findings}); err != nil {
			return err
		}
	} else {
		printFindings(&t.result, in.file, in.from.value, findings)
	}
	if findings.Err() != nil {
		return errFound
	}
	return nil
}
