package escape

import (
	"fmt"
	"strings"
)

// misplaced names each input of form Any that is not a whole scalar of the
// YAML text.
func misplaced(text string, uses []inputUse) []*Error {
	// A line's end to YAML 1.1 and not to YAML 1.2, or the other way round.
	for i, c := range text {
		if c == 0x85 || c == 0x2028 || c == 0x2029 || c == '\r' && !strings.HasPrefix(text[i+1:], "\n") {
			return []*Error{{Place: "skeleton", Offset: i, Reason: fmt.Sprintf("%U beside an input of form Any, which some YAML readers take for the end of a line", c), Fix: "write it as an escape in double quotes, or end lines with a newline"}}
		}
	}
	r := yamlReader{text: text, parent: -1}
	for _, u := range uses {
		r.readTo(u.start)
		reason := r.input(u)
		if reason != "" {
			r.errs = append(r.errs, r.misplace(u, reason))
		}
		r.i = u.end
	}
	r.readTo(len(text))
	return r.errs
}

// yamlReader follows YAML as far as one must to know where a scalar begins and
// ends. What is not YAML it takes for something, and YAML's own readers refuse.
type yamlReader struct {
	text string
	i    int
	line int // where the line begins

	state   scalarState
	quote   byte // within a quoted scalar: its quote
	comment bool
	flow    int   // how many [ and { are open
	token   int   // the column in which the last scalar began
	parent  int   // the column of the key or dash that the next scalar belongs to
	blocks  []int // for each literal block that is open: the column of its parent
	begun   bool  // token is that of an anchor or a tag before the scalar
	opened  bool  // nothing but the start of a literal block was read

	last *inputUse // the input of form Any that the scalar which just ended is
	errs []*Error
}

type scalarState int

const (
	expected scalarState = iota // a scalar can begin here
	bare                        // within a scalar without quotes
	ended                       // behind a scalar with quotes, or behind ] or }
)

// input says what is wrong with the place of u, and goes behind it.
func (r *yamlReader) input(u inputUse) (reason string) {
	r.startLine()
	if u.form != Any {
		if r.quote == 0 && !r.comment {
			r.content(u.start)
		}
		return ""
	}
	switch {
	case r.comment: // it is one line there too
		return ""
	case r.quote != 0:
		return "stands within quotes"
	case r.opened:
		return "is all the text of a block"
	case r.state != expected:
		r.last = nil
		return "stands beside other text"
	}
	r.begin(u.start)
	r.state = ended
	r.last = &u
	return ""
}

func (r *yamlReader) misplace(u inputUse, reason string) *Error {
	return &Error{Place: "skeleton", Name: u.name, Offset: u.start, Reason: "an input of form Any that " + reason,
		Fix: "make it the whole of a value, without quotes, or use a narrower form"}
}

// begin is the start of a scalar at i.
func (r *yamlReader) begin(i int) {
	if !r.begun {
		r.token = i - r.line
	}
	r.begun = false
}

// blankAt tells whether a blank, a line's end or the text's end is at i.
func (r *yamlReader) blankAt(i int) bool {
	return i >= len(r.text) || strings.IndexByte(" \t\r\n", r.text[i]) >= 0
}

// startLine does what belongs to the start of a line, when i is there.
func (r *yamlReader) startLine() {
	if r.i > 0 && r.text[r.i-1] != '\n' {
		return
	}
	r.comment, r.begun, r.line = false, false, r.i
	rest := r.text[r.i:]
	indent := len(rest) - len(strings.TrimLeft(rest, " "))
	if r.blankAt(r.i + indent) {
		return
	}
	for n := len(r.blocks); n > 0 && indent <= r.blocks[n-1]; n = len(r.blocks) {
		r.parent, r.blocks = r.blocks[n-1], r.blocks[:n-1]
		r.state, r.quote, r.flow, r.opened, r.last = expected, 0, 0, false, nil
	}
	if (strings.HasPrefix(rest, "---") || strings.HasPrefix(rest, "...")) && r.blankAt(r.i+3) {
		r.state, r.quote, r.flow, r.parent, r.last = expected, 0, 0, -1, nil
		r.i += 3
		return
	}
	// A line that is indented deeper goes on with the scalar.
	if r.quote == 0 && r.flow == 0 && indent <= r.parent {
		r.state, r.last = expected, nil
	}
}

// content is for a byte, or an input, at i that is text of a scalar.
func (r *yamlReader) content(i int) {
	if r.last != nil {
		r.errs = append(r.errs, r.misplace(*r.last, "stands beside other text"))
		r.last = nil
	}
	if r.state == expected {
		r.begin(i)
	}
	r.state, r.opened = bare, false
}

// next is what an indicator does: a scalar can begin behind it.
func (r *yamlReader) next() { r.state, r.last, r.opened = expected, nil, false }

// readTo reads on to end.
func (r *yamlReader) readTo(end int) {
	for r.i < end {
		r.startLine()
		if r.i >= end {
			return
		}
		i := r.i
		c := r.text[i]
		r.i++
		switch {
		case c == '\n' || r.comment:
		case r.quote == '"' && c == '\\':
			r.i++
		case r.quote == '\'' && c == '\'' && i+1 < len(r.text) && r.text[i+1] == '\'':
			r.i++
		case r.quote != 0:
			if c == r.quote {
				r.quote, r.state = 0, ended
			}
		case c == ' ' || c == '\t' || c == '\r':
		case c == '#' && (i == 0 || r.blankAt(i-1)):
			r.comment = true
			if r.state == bare {
				r.state = ended
			}
		case r.flow > 0 && c == ',':
			r.next()
		case r.flow > 0 && (c == ']' || c == '}'):
			r.next()
			r.flow, r.state = r.flow-1, ended
		case c == ':' && (r.blankAt(i+1) || r.flow > 0 && (r.state == ended || strings.IndexByte(",[]{}", r.text[i+1]) >= 0)):
			if r.flow == 0 {
				r.parent = i - r.line
				if r.state != expected || r.begun {
					r.parent = r.token
				}
			}
			r.next()
		case r.state != expected:
			r.content(i)
		case (c == '-' && r.flow == 0 || c == '?') && r.blankAt(i+1):
			if r.flow == 0 {
				r.parent = i - r.line
			}
			r.next()
		case c == '[' || c == '{':
			r.begin(i)
			r.next()
			r.flow++
		case c == '"' || c == '\'':
			r.begin(i)
			r.quote, r.opened = c, false
		case c == '&' || c == '!':
			r.begin(i)
			r.begun = true
			for r.i < end && !r.blankAt(r.i) {
				r.i++
			}
			if !r.blankAt(r.i) {
				r.state = bare // an input is a part of it
			}
		case (c == '|' || c == '>') && r.flow == 0 && r.blockHeader():
			r.blocks = append(r.blocks, r.parent)
			r.opened, r.comment = true, true // nothing but a comment stands behind it
		default:
			r.content(i)
		}
	}
}

// blockHeader tells whether the line goes on as one that begins a block does.
func (r *yamlReader) blockHeader() bool {
	line, _, _ := strings.Cut(r.text[r.i:], "\n")
	rest := strings.TrimLeft(line, "-+0123456789")
	return strings.TrimSpace(rest) == "" || (rest[0] == ' ' || rest[0] == '\t') && strings.HasPrefix(strings.TrimLeft(rest, " \t"), "#")
}
