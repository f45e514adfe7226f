package configpatch

import (
	"errors"
	"fmt"
	"strings"
)

// Error is the error type of this package: one problem. Where there are
// several, errors.Join holds one *Error for each. It never holds a secret.
type Error struct {
	Path   string // what it is about, such as mirrors["ghcr.io"].endpoints[1]; empty for the whole input
	Line   int    // line of the configuration, from 1; 0 when not known
	Reason string // what was found; may be empty when Err says it
	Fix    string // what is wanted; may be empty
	Err    error  // the cause, such as a *mirrors.Error with every finding; may be nil
}

// Error returns "path: reason: cause (want fix)".
func (e *Error) Error() string {
	var parts []string
	if e.Line > 0 {
		parts = append(parts, fmt.Sprintf("line %d", e.Line))
	}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	text := strings.Join(parts, ": ")
	if e.Fix != "" {
		text += " (want " + e.Fix + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// problems collects errors in the order in which they are found.
type problems []error

func (p *problems) add(path, fix, format string, args ...any) {
	*p = append(*p, &Error{Path: path, Reason: fmt.Sprintf(format, args...), Fix: fix})
}

// err returns nil, the one problem, or all of them joined.
func (p problems) err() error {
	if len(p) == 1 {
		return p[0]
	}
	return errors.Join(p...)
}
