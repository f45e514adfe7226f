package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) rulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rules [RULE…]",
		Short: "Print what check looks for",
		Long: `Rules prints a table of the rules that check knows. With names of rules it
prints each with the reason, an example and what to write instead.`,
		Example: `  mirrorctl rules
  mirrorctl rules endpoint-path`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, r := range append(mirrors.Rules(), fileRules...) {
				names = append(names, r.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.do(func() error { return t.rules(args) })(cmd, args)
		},
	}
}

func (t *tool) rules(names []string) error {
	rules := append(mirrors.Rules(), fileRules...)
	if len(names) == 0 {
		w := tabwriter.NewWriter(&t.result, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "RULE\tSEVERITY\tFINDS")
		for _, r := range rules {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.Name, r.Severity, r.Finds)
		}
		return w.Flush()
	}
	byName := map[string]mirrors.Rule{}
	for _, r := range rules {
		byName[r.Name] = r
	}
	for i, name := range names {
		r, ok := byName[name]
		if !ok {
			return wrongCall("unknown rule %q (want one that 'mirrorctl rules' lists)", name)
		}
		if i > 0 {
			t.result.WriteByte('\n')
		}
		fmt.Fprintf(&t.result, "%s (%s)\n  finds:   %s\n", paint(t.colour, bold, r.Name), r.Severity, r.Finds)
		fmt.Fprintf(&t.result, "  because: %s\n  fix:     %s\n", r.Reason, r.Fix)
		if r.Bad != "" {
			fmt.Fprintf(&t.result, "  found in")
			if r.When != "" {
				fmt.Fprintf(&t.result, " (%s)", r.When)
			}
			fmt.Fprintf(&t.result, ":\n%s", indented(r.Bad))
		}
		if r.Good != "" {
			fmt.Fprintf(&t.result, "  write instead:\n%s", indented(r.Good))
		}
	}
	return nil
}

// indented puts four spaces before each line, and ends in a newline.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}
