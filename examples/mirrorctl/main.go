// Command mirrorctl is the library seen from a terminal: what a Talos node may
// pull from, checked, turned into patches and carried into a cluster.
//
//	go run ./examples/mirrorctl check -f registries.yaml
//	go run ./examples/mirrorctl job --from cozystack -f values.yaml
//
// It holds no logic of its own: it reads flags and files, calls the packages
// mirrors, configpatch, configpatch/reconcile and escape, and prints. A wrapper
// around talosctl would do it the same way.
//
// Standard output is the result and nothing else. It is empty when the exit
// code is not 0, except that check, probe and served print what they found, and
// convert -o json what would be lost. Everything for a person goes to standard error.
// The exit codes:
//
//	0    done
//	1    the input is wrong, or the result could not be written
//	2    the call is wrong
//	3    convert would lose something
//	4    probe, served: the answer is not known
//	5    probe, served: the answer is no
//	130  probe was interrupted (143 by SIGTERM)
//	141  whoever read standard output is gone (a shell's code for SIGPIPE)
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	exitDone    = 0
	exitInput   = 1 // the input is wrong, or the result could not be written
	exitCall    = 2 // the call is wrong
	exitLoss    = 3 // convert would lose something
	exitUnknown = 4 // the question has no answer
	exitNo      = 5 // the answer is no
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newTool(stdin, stdout, stderr).run(args)
}

// newTool decides where there are colours as --color=auto does.
func newTool(stdin io.Reader, stdout, stderr io.Writer) *tool {
	t := &tool{stdin: stdin, stdout: stdout, stderr: stderr, terminal: isTerminal(stdout), person: isTerminal(stderr)}
	t.chooseColours("auto")
	return t
}

// tool is what the commands share: where they read, where the result goes, and
// where they talk to a person.
type tool struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	// The result is kept until the command is done, so that a command that
	// fails half way prints nothing.
	result bytes.Buffer
	data   bool // the result is not a text for a person: nothing in it was made visible

	terminal     bool // the result goes to a terminal
	colour       bool // in colours
	person       bool // a person reads standard error
	personColour bool // in colours
	running      bool // the call was right: what fails from here on is the input
}

func (t *tool) run(args []string) int {
	root := t.command(args)
	err := root.Execute()
	code := exitDone
	var told *toldError
	switch {
	case err == nil:
	case errors.As(err, &told): // the result says it
		code = told.code
	case t.running && !errors.As(err, new(*callError)):
		t.report(err)
		if errors.Is(err, errLoss) {
			return exitLoss
		}
		return exitInput
	default:
		t.report(err)
		return exitCall
	}
	if t.terminal && t.data && !bytes.Equal(t.result.Bytes(), []byte(visible(t.result.String()))) {
		t.report(errors.New("the result has characters that change a terminal, and standard output is one (want it in a file or a pipe)"))
		return exitCall
	}
	if _, err := t.stdout.Write(t.result.Bytes()); err != nil {
		// When the reader is gone, Go ends the process by SIGPIPE before this, also
		// where that signal was ignored when it began.
		t.report(fmt.Errorf("standard output: %w", err))
		return exitInput
	}
	return code
}

// put makes data the result, byte for byte.
func (t *tool) put(data []byte) {
	t.result.Write(data)
	t.data = true
}

// toldError ends a command whose result says what is wrong: there is nothing to add.
type toldError struct{ code int }

func (e *toldError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// callError is an error of the call that only the command itself can see.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

func wrongCall(format string, args ...any) error {
	return &callError{fmt.Errorf(format, args...)}
}

// errLoss ends convert when it would lose something.
var errLoss = errors.New("not all of it can be carried over (want --allow-loss to go on without)")

// The groups of commands in the help.
var groups = []*cobra.Group{
	{ID: "inspect", Title: "Inspect:"},
	{ID: "patch", Title: "Patch and convert:"},
	{ID: "cluster", Title: "Apply in a cluster:"},
	{ID: "text", Title: "Text for scripts and charts:"},
	{ID: "about", Title: "About mirrorctl:"},
}

// command returns the root command for a call with these arguments.
func (t *tool) command(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "mirrorctl COMMAND",
		Short: "Say once which registries a Talos node may pull from and how",
		Long: `mirrorctl reads which registries a Talos node may pull from and how, tells what
is wrong with it, and makes patches, scripts and Jobs of it.`,
		Example: `  mirrorctl check -f registries.yaml
  mirrorctl explain -f registries.yaml nginx
  mirrorctl patch -f registries.yaml --talos-version v1.13`,
		Version: programVersion(),
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			cmd.SetOut(t.stderr)
			if err := cmd.Help(); err != nil {
				return err
			}
			return wrongCall("a command is missing")
		},
		ValidArgsFunction:          cobra.NoFileCompletions,
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetArgs(args)
	root.SetOut(&t.result)
	root.SetErr(t.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root {
			// A misspelt command with flags is called that.
			for _, arg := range args {
				if !strings.HasPrefix(arg, "-") && !slices.Contains(colourWords, arg) {
					return unknownCommand(root, arg)
				}
			}
		}
		return wrongCall("%w; see '%s --help'", err, cmd.CommandPath())
	})
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(usage)
	root.PersistentFlags().Var(&colourFlag{choice{value: "auto", allowed: colourWords}, t}, "color", "colours: auto, always or never")
	complete(root, "color", colourWords)

	root.AddGroup(groups...)
	add := func(group string, commands ...*cobra.Command) {
		for _, cmd := range commands {
			cmd.GroupID = group
			if cmd.ValidArgsFunction == nil {
				cmd.ValidArgsFunction = cobra.NoFileCompletions
			}
		}
		root.AddCommand(commands...)
	}
	add("inspect", t.checkCommand(), t.explainCommand(), t.probeCommand(), t.servedCommand(), t.readCommand(), t.rulesCommand())
	add("patch", t.patchCommand(), t.planCommand(), t.applyCommand(), t.migrateCommand(), t.convertCommand())
	add("cluster", t.scriptCommand(), t.jobCommand())
	add("text", t.escapeCommand(), t.helmHelperCommand(), t.schemaCommand())

	// The commands that cobra brings take anything, with exit code 0.
	root.SetHelpCommand(&cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "  mirrorctl help check",
		Args:    cobra.MaximumNArgs(1),
		GroupID: "about",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, strings.Join(args, " "))
			}
			return about.Help()
		},
	})
	t.describeCompletion(root)
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q", name)
	if near := root.SuggestionsFor(name); len(near) > 0 {
		text += fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
	}
	return wrongCall("%s; see 'mirrorctl --help'", text)
}

// usage is cobra's, with a word for every part that a command of this tool has.
const usage = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} {{if .HasParent}}SHELL{{else}}COMMAND{{end}}{{else}}{{.UseLine}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
{{- $commands := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}
{{- if and .HasAvailableSubCommands (not .Groups)}}

Shells:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}
{{- if .Flags.HasAvailableFlags}}

Flags:
{{.Flags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if not .HasParent}}

Exit codes: 0 done; 1 wrong input, or no way to write the result; 2 wrong call;
3 convert would lose something; 4, 5 probe, served: not known, no; 130, 143
probe was interrupted; 141 whoever read standard output is gone.{{end}}
{{- if .HasAvailableSubCommands}}

'{{.CommandPath}} {{if .HasParent}}SHELL{{else}}COMMAND{{end}} --help' says more about one.{{end}}
`

// do makes a RunE of a command's work. Before it, every error is one of the call.
func (t *tool) do(work func() error) func(*cobra.Command, []string) error {
	return func(*cobra.Command, []string) error {
		t.running = true
		return work()
	}
}

// report writes an error for a person, one line for each problem.
func (t *tool) report(err error) {
	var listed *findingsError
	if errors.As(err, &listed) {
		t.warn(listed.file, listed.format, listed.findings)
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		t.say("mirrorctl: %s", line)
	}
}

// say writes a line for a person.
func (t *tool) say(format string, args ...any) {
	fmt.Fprintln(t.stderr, visibleLine(fmt.Sprintf(format, args...)))
}

// warn writes findings for a person.
func (t *tool) warn(file, format string, findings mirrors.Findings) {
	printFindings(t.stderr, t.personColour, file, format, findings)
}

// findingsError is an input with mistakes that have places in a file.
type findingsError struct {
	file, format string
	findings     mirrors.Findings
}

func (e *findingsError) Error() string {
	return fmt.Sprintf("%s: %d findings", e.file, len(e.findings))
}

// printFindings writes a line for each: FILE:LINE:COL: severity: path: message (fix) [rule].
func printFindings(w io.Writer, colour bool, file, format string, findings mirrors.Findings) {
	for _, f := range findings {
		file, f := located(file, format, f)
		severity := f.Severity.String()
		switch f.Severity {
		case mirrors.SeverityError:
			severity = paint(colour, red, severity)
		case mirrors.SeverityWarning:
			severity = paint(colour, yellow, severity)
		}
		fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n", shown(file), f.Line, f.Column, severity, visibleLine(f.String()), f.Rule)
	}
}

// shown is a file's name as it stands in a line of a message.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
