package escape

import (
	"errors"
	"fmt"
	"strings"
)

// Error is one thing that cannot be carried, or one mistake in how a script is
// put together. It never holds the bytes of a value: a value may be a secret.
//
// A function that finds several returns them together; errors.As finds the
// first, and the text has one line for each.
type Error struct {
	Path   string // where in the call: "parts[1].body[2]"; empty at the top
	Place  string // where the text was to stand: "word", "heredoc", "literal", "assign", "live", "skeleton", "program", "kubelet", "yaml", "helm"
	Name   string // the live variable or the input that it is about, or empty
	Offset int    // the byte in the caller's string, counted from 0; -1, not 0, when there is none
	Reason string // what is wrong
	Fix    string // what to do instead
	Err    error  // the cause, or nil
}

// Error is the path, the place, the name, the offset, the reason and the fix,
// as far as there are any.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Place)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	b.WriteString(": ")
	if e.Offset >= 0 {
		fmt.Fprintf(&b, "byte %d: ", e.Offset)
	}
	b.WriteString(e.Reason)
	if e.Fix != "" {
		b.WriteString(" (" + e.Fix + ")")
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// under returns the errors with their paths moved below path.
func under(path string, errs []*Error) []*Error {
	moved := make([]*Error, len(errs))
	for i, e := range errs {
		c := *e
		if c.Path == "" {
			c.Path = path
		} else {
			c.Path = path + "." + c.Path
		}
		moved[i] = &c
	}
	return moved
}

// together makes one error of several, and nil of none.
func together(errs []*Error) error {
	if len(errs) == 0 {
		return nil
	}
	if len(errs) == 1 {
		return errs[0]
	}
	list := make([]error, len(errs))
	for i, e := range errs {
		list[i] = e
	}
	return errors.Join(list...)
}
