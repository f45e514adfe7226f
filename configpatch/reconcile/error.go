package reconcile

import (
	"fmt"
	"strings"
)

// Error is one thing that is wrong with a [Template] or a [Job]. The functions
// of this package report all problems at once: what they return is made by
// [errors.Join], each part of it is an *Error. No text of an Error holds a
// value: not of an environment variable, a patch or a skeleton.
type Error struct {
	Path   string // such as inputs["TALOS_CA"].from.key
	Line   int    // of the patch, the skeleton or the text at Path, from 1; 0 when there is none
	Offset int    // in bytes from 0; 0 also when there is a Line alone, or none
	Reason string // what was found
	Fix    string // what is wanted; may be empty
	Err    error  // the cause, where another package reported one
}

// Error returns "path: line 3: offset 57: reason (fix)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path)
		b.WriteString(": ")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Offset > 0 {
		fmt.Fprintf(&b, "offset %d: ", e.Offset)
	}
	b.WriteString(e.Reason)
	if e.Err != nil {
		if e.Reason != "" {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	if e.Fix != "" {
		b.WriteString(" (")
		b.WriteString(e.Fix)
		b.WriteString(")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// problems collects what is wrong, in the order of the input.
type problems []error

func (p *problems) add(path, fix, format string, args ...any) {
	*p = append(*p, &Error{Path: path, Reason: fmt.Sprintf(format, args...), Fix: fix})
}
