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
// Standard output is the result and nothing else; it is empty when the exit
// code is not 0, except that check prints what it found. Everything for a
// person goes to standard error. Exit codes: 0 done; 1 the input is wrong; 2
// the call is wrong; 3 convert would lose something.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	exitDone  = 0
	exitInput = 1 // the input is wrong
	exitCall  = 2 // the call is wrong
	exitLoss  = 3 // convert would lose something
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return newTool(stdin, stdout, stderr).run(args)
}

// newTool colours what goes to a terminal, unless NO_COLOR says otherwise.
func newTool(stdin io.Reader, stdout, stderr io.Writer) *tool {
	t := &tool{stdin: stdin, stdout: stdout, stderr: stderr}
	colours := os.Getenv("NO_COLOR") == ""
	t.colour = colours && isTerminal(stdout)
	t.person = isTerminal(stderr)
	t.personColour = colours && t.person
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

	colour       bool // the result goes to a terminal that wants colours
	person       bool // a person reads standard error
	personColour bool // in colours
	running      bool // the call was right: what fails from here on is the input
}

func (t *tool) run(args []string) int {
	root := t.command()
	root.SetArgs(args)
	root.SetOut(&t.result)
	root.SetErr(t.stderr)

	err := root.Execute()
	code := exitDone
	switch {
	case err == nil:
	case errors.Is(err, errFound): // the findings are the result
		code = exitInput
	case t.running && errors.Is(err, errLoss):
		t.report(err)
		return exitLoss
	case t.running && !errors.As(err, new(*callError)):
		t.report(err)
		return exitInput
	default:
		t.report(err)
		return exitCall
	}
	if _, err := t.stdout.Write(t.result.Bytes()); err != nil {
		t.report(fmt.Errorf("standard output: %w", err))
		return exitInput
	}
	return code
}

// callError is an error of the call that only the command itself can see.
type callError struct{ err error }

func (e *callError) Error() string { return e.err.Error() }
func (e *callError) Unwrap() error { return e.err }

func wrongCall(format string, args ...any) error {
	return &callError{fmt.Errorf(format, args...)}
}

// errFound ends check when it found an error: the findings are printed, there
// is nothing to add.
var errFound = errors.New("errors were found")

// errLoss ends convert when it would lose something.
var errLoss = errors.New("not all of it can be carried over (want --allow-loss to go on without)")

// command returns the root command.
func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "mirrorctl",
		Short: "Say once which registries a Talos node may pull from and how",
		Long: `mirrorctl reads which registries a Talos node may pull from and how, tells what
is wrong with it, and makes patches, scripts and Jobs of it.

The result goes to standard output and nothing else does. Exit codes: 0 done;
1 the input is wrong; 2 the call is wrong; 3 convert would lose something.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongCall("a command is missing; see 'mirrorctl --help'")
			}
			text := fmt.Sprintf("unknown command %q", args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				text += fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
			}
			return wrongCall("%s; see 'mirrorctl --help'", text)
		},
		// So that a misspelt command with flags is called that.
		FParseErrWhitelist:         cobra.FParseErrWhitelist{UnknownFlags: true},
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return wrongCall("%w; see '%s --help'", err, cmd.CommandPath())
	})
	root.AddCommand(
		t.checkCommand(), t.explainCommand(), t.rulesCommand(),
		t.patchCommand(), t.planCommand(), t.applyCommand(), t.readCommand(), t.migrateCommand(), t.convertCommand(),
		t.scriptCommand(), t.jobCommand(), t.escapeCommand(), t.helmHelperCommand(),
	)
	// The commands that cobra brings take anything, with exit code 0.
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print the help of a command",
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return wrongCall("unknown command %q; see 'mirrorctl --help'", strings.Join(args, " "))
			}
			return about.Help()
		},
	})
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = func(*cobra.Command, []string) error {
			return wrongCall("a shell is missing (want bash, zsh, fish or powershell)")
		}
	}
	return root
}

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
		printFindings(t.stderr, listed.file, listed.format, listed.findings)
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		fmt.Fprintf(t.stderr, "mirrorctl: %s\n", line)
	}
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
func printFindings(w io.Writer, file, format string, findings mirrors.Findings) {
	for _, f := range findings {
		file, f := located(file, format, f)
		fmt.Fprintf(w, "%s:%d:%d: %s: %s [%s]\n", shown(file), f.Line, f.Column, f.Severity, f, f.Rule)
	}
}

// shown is a file's name as it stands in a line of a message.
func shown(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
