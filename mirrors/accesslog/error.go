package accesslog

import "fmt"

// Error says why a question is none, or why a log could not be read to its end.
type Error struct {
	Path   string // the argument, such as "image", or "log"
	Line   int    // the line of the log before which reading ended; 0 for an argument
	Reason string // what was found
	Fix    string // what is wanted; may be empty
	Err    error  // the cause; may be nil
}

// Error returns "path: line: reason (fix)".
func (e *Error) Error() string {
	s := e.Path + ": "
	if e.Line > 0 {
		s += fmt.Sprintf("line %d: ", e.Line)
	}
	s += e.Reason
	if e.Fix != "" {
		s += " (" + e.Fix + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
