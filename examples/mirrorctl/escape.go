package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

func (t *tool) escapeCommand() *cobra.Command {
	place := choice{allowed: []string{"word", "heredoc", "heredoc-quoted", "kubelet", "yaml", "helm"}}
	var addNewline bool
	cmd := &cobra.Command{
		Use:   "escape --place PLACE",
		Short: "Encode standard input for the place where it is to stand",
		Long: `Escape reads any bytes from standard input and prints them encoded for one place:

  word            one word of a shell command, in single quotes
  heredoc         a whole command, cat <<DELIMITER, with the text as its body
  heredoc-quoted  the same with a quoted delimiter, which leaves the text as it is
  kubelet         one string of a container's command or args
  yaml            a double-quoted YAML scalar
  helm            text of a Helm template, outside of any action

What a place cannot carry is an error that names the byte. A heredoc's body
is empty or ends in a newline: other text is refused, unless --add-newline adds
one. What heredoc prints is for a script that begins with LC_ALL=C and export LC_ALL,
as every script of script and job does: in a locale such as GBK, bash and ksh93
take a byte of the text together with the escape behind it.
The other places print no newline of their own.`,
		Example: `  printf %s "$name" | mirrorctl escape --place word
  mirrorctl escape --place heredoc < patch.yaml > apply.sh`,
		Args: cobra.NoArgs,
		RunE: t.do(func() error { return t.escape(place.value, addNewline) }),
	}
	cmd.Flags().Var(&place, "place", strings.Join(place.allowed, ", ")+" (required)")
	cmd.Flags().BoolVar(&addNewline, "add-newline", false, "heredoc, heredoc-quoted: end the text with a newline where it has none")
	must(cmd.MarkFlagRequired("place"))
	complete(cmd, "place", place.allowed)
	return cmd
}

func (t *tool) escape(place string, addNewline bool) error {
	heredoc := strings.HasPrefix(place, "heredoc")
	if addNewline && !heredoc {
		return wrongCall("--add-newline is for the places heredoc and heredoc-quoted, not for %s", place)
	}
	data, err := io.ReadAll(t.stdin)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	if addNewline && len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, '\n')
	}
	text := string(data)
	if heredoc && text != "" && !strings.HasSuffix(text, "\n") {
		return errors.New("standard input: no newline at its end, as the body of a heredoc has (want --add-newline, or another place)")
	}

	var out string
	switch place {
	case "word":
		out, err = source(escape.Word(text))
		out = strings.TrimSuffix(out, "\n") // a script ends in one; the word ends in a quote
	case "heredoc":
		var command escape.Shell
		if command, err = escape.Heredoc(escape.Lit("cat"), escape.Text(text)); err == nil {
			out, err = source(command)
		}
	case "heredoc-quoted":
		var command escape.Shell
		if command, err = escape.HeredocQuoted(escape.Lit("cat"), text); err == nil {
			out, err = source(command)
		}
	case "kubelet":
		out, err = escape.KubeletArg(text)
	case "yaml":
		out, err = escape.YAML(text)
	case "helm":
		out, err = escape.Helm(text)
	}
	if err != nil {
		// The remedies of the library are its functions; here they are places.
		return errors.New("standard input: " + libraryPath.ReplaceAllString(placesFor.Replace(err.Error()), ""))
	}
	t.put([]byte(out))
	return nil
}

// libraryPath is where the library says in which of its arguments a text stood; here there is one text.
var libraryPath = regexp.MustCompile(`(?m)^(cmd|body|parts)(\[\d+\])?: `)

var placesFor = strings.NewReplacer("use HeredocQuoted or Word", "want --place heredoc-quoted or --place word")

// source returns the text of a piece: what a script of it has beyond one of nothing.
func source(piece escape.Shell) (string, error) {
	empty, err := escape.Program()
	if err != nil {
		return "", err
	}
	script, err := escape.Program(piece)
	if err != nil {
		return "", err
	}
	return strings.TrimPrefix(script.String(), empty.String()), nil
}
