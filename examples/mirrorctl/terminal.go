package main

import (
	"os"
	"strings"
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

// The colours of a terminal (ECMA-48, SGR).
const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint returns text in a colour where on says so. What could change the
// terminal itself is shown as ?.
func paint(on bool, colour, text string) string {
	text = strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '?'
		}
		return r
	}, text)
	if !on {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}
