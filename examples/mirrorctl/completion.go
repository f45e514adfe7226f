package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"
)

// newestMinor is the newest minor version of Talos 1 that configpatch speaks of.
const newestMinor = 14

// completing: a shell asks how its line goes on. Cobra then reads the flags twice.
var completing = len(os.Args) > 1 && (os.Args[1] == cobra.ShellCompRequestCmd || os.Args[1] == cobra.ShellCompNoDescRequestCmd)

// describeCompletion is the command that cobra brings, with examples, and with
// an error where no shell is named.
func (t *tool) describeCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	must(err)
	completion.Short = "Print a script for a shell that completes commands and flags"
	completion.Long = `Completion prints a script that makes a shell complete the commands, flags and
their values. How to load it, 'mirrorctl completion SHELL --help' says. That of
bash needs the package bash-completion.`
	completion.Example = `  mirrorctl completion bash > mirrorctl.bash
  mirrorctl completion zsh > _mirrorctl`
	completion.GroupID = "about"
	completion.RunE = func(*cobra.Command, []string) error {
		return wrongCall("a shell is missing (want bash, zsh, fish or powershell)")
	}
	for _, shell := range completion.Commands() {
		shell.Short = "Print the script for " + shell.Name()
		shell.Long = howToLoad[shell.Name()]
		shell.Example = fmt.Sprintf("  mirrorctl completion %s > completion.%s", shell.Name(), shell.Name())
	}
}

// howToLoad says of each shell how it takes the script.
var howToLoad = map[string]string{
	"bash": `Bash prints the script for bash. It needs the functions of the package
bash-completion. For this shell alone:

  source <(mirrorctl completion bash)

For every new one, write it to
~/.local/share/bash-completion/completions/mirrorctl.`,
	"zsh": `Zsh prints the script for zsh. For this shell alone, after compinit:

  source <(mirrorctl completion zsh)

For every new one, write it to a file _mirrorctl in a directory of $fpath.`,
	"fish": `Fish prints the script for fish. For this shell alone:

  mirrorctl completion fish | source

For every new one, write it to ~/.config/fish/completions/mirrorctl.fish.`,
	"powershell": `PowerShell prints the script for PowerShell. For this shell alone:

  mirrorctl completion powershell | Out-String | Invoke-Expression

For every new one, put that line into the file that $PROFILE names.`,
}

// completeVersions offers the minor versions of Talos that the library knows,
// the newest first.
func completeVersions(cmd *cobra.Command, flag string) {
	var words []string
	for minor := 3; minor <= newestMinor; minor++ {
		words = append(words, fmt.Sprintf("v1.%d", minor))
	}
	slices.Reverse(words)
	must(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveKeepOrder)))
}

// completeFiles offers files with these endings for the first argument.
func completeFiles(endings ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return endings, cobra.ShellCompDirectiveFilterFileExt
	}
}
