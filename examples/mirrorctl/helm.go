package main

import (
	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

func (t *tool) helmHelperCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "helm-helper",
		Short: "Print definitions for a chart's _helpers.tpl",
		Long: `Helm-helper prints two definitions for a chart that builds a script out of
values: mirrorpatch.heredoc prints a whole here-document, mirrorpatch.command a
finished script as a string of a container's command.`,
		Example: `  mirrorctl helm-helper > templates/_mirrorpatch.tpl`,
		Args:    cobra.NoArgs,
		RunE: t.do(func() error {
			t.put([]byte(escape.HelmHelper()))
			return nil
		}),
	}
}
