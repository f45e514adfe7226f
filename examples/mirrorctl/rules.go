package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (t *tool) rulesCommand() *cobra.Command {
	var output encoding
	cmd := &cobra.Command{
		Use:   "rules [RULE…]",
		Short: "Print what check looks for",
		Long: `Rules prints a table of the rules that check knows. With names of rules it
prints each with the reason, an example and what to write instead.`,
		Example: `  mirrorctl rules
  mirrorctl rules endpoint-path
  mirrorctl rules -o json`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, r := range append(mirrors.Rules(), fileRules...) {
				names = append(names, r.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.do(func() error { return t.rules(args, output) })(cmd, args)
		},
	}
	output.register(cmd, "how the rules are printed, with all that is known of them in JSON and YAML")
	return cmd
}

func (t *tool) rules(names []string, output encoding) error {
	rules := append(mirrors.Rules(), fileRules...)
	if len(names) == 0 && output.text() {
		width := 0
		for _, r := range rules {
			width = max(width, len(r.Name))
		}
		t.row(width, "RULE", "SEVERITY", "FINDS")
		for _, r := range rules {
			t.row(width, r.Name, r.Severity, r.Finds)
		}
		return nil
	}
	byName := map[string]mirrors.Rule{}
	for _, r := range rules {
		byName[r.Name] = r
	}
	if len(names) > 0 {
		rules = nil
	}
	for _, name := range names {
		r, ok := byName[name]
		if !ok {
			return wrongCall("unknown rule %q (want one that 'mirrorctl rules' lists)", name)
		}
		rules = append(rules, r)
	}
	if !output.text() {
		return t.encode(output, map[string][]mirrors.Rule{"rules": rules})
	}
	for i, r := range rules {
		if i > 0 {
			t.result.WriteByte('\n')
		}
		fmt.Fprintf(&t.result, "%s (%s)\n", paint(t.colour, bold, r.Name), r.Severity)
		for _, part := range [][2]string{{"finds:", r.Finds}, {"because:", r.Reason}, {"fix:", r.Fix}} {
			lines := wrapped(part[1], lineWidth-11)
			fmt.Fprintf(&t.result, "  %-8s %s\n", part[0], strings.Join(lines, "\n"+strings.Repeat(" ", 11)))
		}
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

// lineWidth is what a line of rules has at most, where words allow it.
const lineWidth = 100

// row prints a row of the table, whose second and third column are wrapped.
func (t *tool) row(width int, name, severity, finds string) {
	const severityWidth = 20
	left := wrapped(severity, severityWidth)
	right := wrapped(finds, lineWidth-width-severityWidth-4)
	for i := range max(len(left), len(right)) {
		cell := func(lines []string) string {
			if i < len(lines) {
				return lines[i]
			}
			return ""
		}
		line := fmt.Sprintf("%-*s  %-*s  %s", width, name, severityWidth, cell(left), cell(right))
		fmt.Fprintln(&t.result, strings.TrimRight(line, " "))
		name = ""
	}
}

// wrapped breaks text into lines of at most width characters between words.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// indented puts four spaces before each line, and ends in a newline.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		b.WriteString("    " + line)
	}
	return b.String()
}
