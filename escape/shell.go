package escape

import "fmt"

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

	// For Assign, which puts the piece into $( ): parentheses that it closes and
	// did not open, that it leaves open, and what cannot stand there.
	closes, opens int
	unfit         *Error
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
		if p.assigns && (joined.end.begins == no || joined.end.inWord) {
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
			joined.first = p.first
		}
		joined.assigns = joined.assigns || p.assigns && joined.end.begins == asBefore
		if p.first != 0 {
			joined.end = p.end.behind(joined.end)
		}
		joined.closes += max(0, p.closes-joined.opens)
		joined.opens = max(0, joined.opens-p.closes) + p.opens
		if joined.unfit == nil && p.unfit != nil {
			joined.unfit = under(path, []*Error{p.unfit})[0]
		}
	}
	return joined
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
