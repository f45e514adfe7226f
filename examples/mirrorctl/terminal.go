package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isTerminal tells whether w is a terminal: a character device other than the
// null device.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

var colourWords = []string{"auto", "always", "never"}

// chooseColours decides by one of colourWords. With auto there are colours on a
// terminal, unless NO_COLOR is set and not empty or TERM is dumb.
func (t *tool) chooseColours(word string) {
	auto := word == "auto" && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	t.colour = word == "always" || auto && t.terminal
	t.personColour = word == "always" || auto && t.person
}

// colourFlag is the flag --color, which takes effect at once: also for what is
// wrong with the rest of the call.
type colourFlag struct {
	choice
	t *tool
}

func (c *colourFlag) Type() string { return "WHEN" }

func (c *colourFlag) Set(s string) error {
	if err := c.choice.Set(s); err != nil {
		return err
	}
	c.t.chooseColours(s)
	return nil
}

// The colours of a terminal (ECMA-48, SGR).
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint returns text, made visible, in a colour where on says so.
func paint(on bool, colour, text string) string {
	text = visible(text)
	if !on || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// visibleLine is visible for a text that is one line.
func visibleLine(text string) string {
	return strings.ReplaceAll(visible(text), "\n", `\n`)
}

// visible returns text with the escapes of Go for what is not printable, which
// might change the terminal or the order of what is read: control characters
// but newline and tab, formatting characters, and bytes that are not UTF-8.
func visible(text string) string {
	hidden := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) && r != '\n' && r != '\t' }
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r != utf8.RuneError && hidden(r):
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteString(text[:size])
		}
		text = text[size:]
	}
	return b.String()
}
