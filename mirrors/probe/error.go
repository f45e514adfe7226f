package probe

// Error says why a node cannot use an endpoint, or why that is not known.
// It holds no secret.
type Error struct {
	Path   string // the base URL, or the place in the Set, such as config["m.internal"].tls.ca
	Reason string // what was found
	Fix    string // what is wanted; may be empty
	Err    error  // the cause, such as context.DeadlineExceeded; may be nil
}

// Error returns "path: reason (fix)".
func (e *Error) Error() string {
	s := e.Reason
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Fix != "" {
		s += " (" + e.Fix + ")"
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
