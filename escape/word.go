package escape

import "strings"

// Word is s as one word of a command, in single quotes, whatever s holds. An
// empty s is the empty word, never nothing.
//
// It carries every byte but NUL, which no shell can hold; a NUL is an error
// that the piece carries. The shell takes the word as data. A word that begins
// with - is an option where the command takes options: write -- before it.
//
// A command that evaluates its arguments still does, and runs what a word of
// untrusted text says. These are eval, trap, sh -c, ., alias, let and [[ -eq ]]
// everywhere, and in one shell or another every builtin that takes a number or
// a variable's name, whose subscript or arithmetic is evaluated: test and [ with
// -eq, -ne, -lt, -le, -gt, -ge, -t and -v; shift, exit, return, break, continue,
// ulimit and printf %d; unset, read, getopts, export, readonly, local, typeset,
// declare and printf -v; an assignment to a variable that holds a number:
// OPTIND, RANDOM, SECONDS, COLUMNS, LINES, TMOUT, HISTSIZE; and $((NAME)) where
// NAME holds the text. Give them a value only behind a case that lets nothing
// but digits or a name through, or a [Variable] of a form such as [Port].
//
// Single quotes are right in every locale; double quotes are not (bash 5.2 and
// ksh93u+m in a Shift-JIS or GBK locale). Nothing is left bare because it looks
// harmless: zsh 5.9 expands =ls, yash 2.52 splits at U+3000.
func Word(s string) Shell {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return failed(nul("word", i))
	}
	return Shell{
		segments: []segment{{kind: source, text: string(AppendWord(make([]byte, 0, len(s)+2), s))}},
		first:    '\'',
		end:      seam{inWord: true, name: true, begins: no, last: 'w'},
	}
}

// AppendWord appends what [Word] writes to dst. It does not look for NUL: a
// caller who cannot rule it out uses [Word].
func AppendWord(dst []byte, s string) []byte { return word.append(dst, s) }

// A single quote ends the quoting; one behind a backslash stands between.
var word = newReplacing("'", '\'', `'\''`)

// nul is the error for a NUL at offset i.
func nul(place string, i int) *Error {
	reason := "byte 0x00 cannot stand in a shell script"
	switch place {
	case "kubelet":
		reason = "byte 0x00 cannot stand in an argument or an environment variable"
	case "yaml", "helm":
		reason = "byte 0x00 is no text"
	}
	return &Error{Place: place, Offset: i, Reason: reason, Fix: "remove it, or carry the data as base64"}
}
