package escape

import (
	"fmt"
	"strings"
)

// Shell is source text of a POSIX shell script that is safe by construction:
// only constants ([Lit]) and encoders ([Word], [Heredoc], [Assign], …) make
// it. Between two pieces the shell's lexer is always in its plain state, so
// that the bytes of one piece never change what another one means.
//
// What cannot be carried is kept in the value and reported by [Heredoc],
// [Assign] and [Program]; there is no way to lose it. The zero value is the
// empty piece.
type Shell struct {
	segments []segment
	errs     []*Error

	// For the seams between pieces. first is the first byte that counts, line
	// continuations aside; 0 is none.
	first   byte
	end     seam
	assigns bool // begins with an assignment
}

// seam is what a piece's end does to the first byte of the next one.
type seam struct {
	inWord  bool // a # here would be part of a word
	less    bool // a < here would make <<
	bracket bool // a ( here would make ((
}

type segmentKind int

const (
	source   segmentKind = iota // text as it is
	document                    // text that holds a here-document
	use                         // no text: variable is expanded after this point
	assigned                    // variable has got its value: its check stands here
)

type segment struct {
	kind     segmentKind
	text     string
	variable Variable
	yaml     bool // use: the value as a YAML scalar is expanded
}

// Join puts pieces one behind the other, with nothing between them.
func Join(parts ...Shell) Shell {
	var joined Shell
	for i, p := range parts {
		if p.assigns && len(joined.segments) > 0 && !joined.beginsCommand() {
			p.errs = append(p.errs[:len(p.errs):len(p.errs)], &Error{Place: "assign", Offset: -1, Reason: "an Assign that does not begin a command", Fix: "begin a line with it"})
		}
		path := fmt.Sprintf("parts[%d]", i)
		joined.errs = append(joined.errs, under(path, p.errs)...)
		if len(p.segments) == 0 {
			continue
		}
		if e := joined.end.clash(p.first); e != nil {
			e.Path = path
			joined.errs = append(joined.errs, e)
		}
		joined.segments = append(joined.segments, p.segments...)
		if joined.first == 0 {
			joined.assigns = p.assigns
			joined.first = p.first
		}
		if p.first != 0 {
			joined.end = p.end
		}
	}
	return joined
}

// clash says what is wrong with a piece that begins with first behind this end.
func (s seam) clash(first byte) *Error {
	switch {
	case first == '#' && s.inWord:
		return &Error{Place: "literal", Offset: 0, Reason: "a # at its start is no comment here, since the piece before it ends in a word",
			Fix: "begin the literal with a newline or a blank"}
	case first == '<' && s.less:
		return &Error{Place: "literal", Offset: 0, Reason: "makes << with the piece before it", Fix: "use Heredoc"}
	case first == '(' && s.inWord:
		return &Error{Place: "literal", Offset: 0, Reason: "a ( at its start becomes part of the word before it", Fix: "put a blank between them, or write f() in one literal"}
	case first == '(' && s.bracket:
		return &Error{Place: "literal", Offset: 0, Reason: "makes (( with the piece before it, which is arithmetic in some shells", Fix: "put a blank between them"}
	}
	return nil
}

// beginsCommand tells whether a command can begin behind the piece.
func (s Shell) beginsCommand() bool {
	last := s.segments[len(s.segments)-1].text
	if last == "" {
		return true // the mark behind an Assign
	}
	last = strings.TrimRight(last, " \t")
	if last == "" || strings.IndexByte("\n;&|({", last[len(last)-1]) >= 0 {
		return true
	}
	for _, word := range []string{"then", "do", "else", "elif", "if", "while", "until", "!"} {
		if rest, ok := strings.CutSuffix(last, word); ok && (rest == "" || strings.IndexByte(" \t\n;&|(", rest[len(rest)-1]) >= 0) {
			return true
		}
	}
	return strings.HasSuffix(last, ")") // a pattern of case
}

// failed returns a piece that carries an error.
func failed(e *Error) Shell { return Shell{errs: []*Error{e}} }

// holds tells whether a segment of this kind is in the piece.
func (s Shell) holds(k segmentKind) bool {
	for _, seg := range s.segments {
		if seg.kind == k {
			return true
		}
	}
	return false
}

// lastByte is the last byte of the piece's text, blanks aside, or 0.
func (s Shell) lastByte() byte {
	for i := len(s.segments) - 1; i >= 0; i-- {
		text := s.segments[i].text
		for j := len(text) - 1; j >= 0; j-- {
			if text[j] != ' ' && text[j] != '\t' {
				return text[j]
			}
		}
	}
	return 0
}
