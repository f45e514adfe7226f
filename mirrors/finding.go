package mirrors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Severity says how bad a finding is.
type Severity int

const (
	// SeverityError: a node would not do what the Set says.
	SeverityError Severity = iota + 1
	// SeverityWarning: a node does what the Set says, which is likely not what was meant.
	SeverityWarning
	// SeverityInfo: something to know about.
	SeverityInfo
)

// String returns "error", "warning" or "info".
func (s Severity) String() string {
	switch s {
	case SeverityError:
		return "error"
	case SeverityWarning:
		return "warning"
	case SeverityInfo:
		return "info"
	}
	return fmt.Sprintf("Severity(%d)", int(s))
}

// MarshalText writes what String returns.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is one thing that was found, with its place and what to do.
// It never holds a secret.
type Finding struct {
	Rule     string   `json:"rule"` // the rule's name, such as "endpoint-scheme"
	Severity Severity `json:"severity"`
	Path     string   `json:"path"`   // such as mirrors["ghcr.io"].endpoints[1]; empty for the whole input
	Line     int      `json:"line"`   // from 1; 0 when not known
	Column   int      `json:"column"` // from 1, in characters; 0 when not known
	Message  string   `json:"message"`
	Fix      string   `json:"fix"` // what is wanted or what to write instead; may be empty
}

// String returns "path: message (fix)".
func (f Finding) String() string {
	var b strings.Builder
	if f.Path != "" {
		b.WriteString(f.Path)
		b.WriteString(": ")
	}
	b.WriteString(f.Message)
	if f.Fix != "" {
		b.WriteString(" (")
		b.WriteString(f.Fix)
		b.WriteString(")")
	}
	return b.String()
}

// Findings are in the order of the input: by position where it is known, else by path.
type Findings []Finding

// sort orders by position; what has none keeps its order, at the beginning.
func (fs Findings) sort() {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// Err returns an [*Error] with the findings of severity error, nil when there is none.
func (fs Findings) Err() error {
	var bad Findings
	for _, f := range fs {
		if f.Severity == SeverityError {
			bad = append(bad, f)
		}
	}
	if bad == nil {
		return nil
	}
	return &Error{Findings: bad}
}

// Error is the error type of this package: all that is wrong, at once.
type Error struct {
	Findings Findings // at least one, each of severity error
	Err      error    // the cause, where another package reported one
}

// Error has a line for each finding.
func (e *Error) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
		if f.Line > 0 {
			lines[i] = fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f)
		}
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Join makes one error of several: all findings of all [*Error] values in the order of their position,
// each once. An error of another type makes a finding without a position. It is nil when all are.
func Join(errs ...error) error {
	var joined Error
	for _, err := range errs {
		if err == nil {
			continue
		}
		var e *Error
		if errors.As(err, &e) {
			joined.Findings = append(joined.Findings, e.Findings...)
			joined.Err = errors.Join(joined.Err, e.Err)
			continue
		}
		joined.Findings = append(joined.Findings, Finding{Rule: RuleSyntax, Severity: SeverityError, Message: err.Error()})
		joined.Err = errors.Join(joined.Err, err)
	}
	if joined.Findings == nil {
		return nil
	}
	joined.Findings.sort()
	joined.Findings = slices.CompactFunc(joined.Findings, func(a, b Finding) bool {
		return a.Rule == b.Rule && a.Line > 0 && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
	return &joined
}
