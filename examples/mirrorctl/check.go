package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) checkCommand() *cobra.Command {
	var in input
	var v version
	var imageCache bool
	var output encoding
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
		RunE: t.do(func() error { return t.check(&in, v, imageCache, output) }),
	}
	in.register(cmd)
	cmd.Flags().Var(&v, "talos-version", "find also what this version of Talos does not know, such as v1.13")
	cmd.Flags().BoolVar(&imageCache, "image-cache", false, "the nodes have Talos's image cache enabled")
	completeVersions(cmd, "talos-version")
	output.register(cmd, "how the findings are printed")
	return cmd
}

func (t *tool) check(in *input, v version, imageCache bool, output encoding) error {
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

	if output.text() {
		printFindings(&t.result, t.colour, in.file, in.from.value, findings)
	} else if err := t.encode(output, map[string]mirrors.Findings{"findings": list(findings)}); err != nil {
		return err
	}
	if findings.Err() != nil {
		return &toldError{exitInput}
	}
	return nil
}
