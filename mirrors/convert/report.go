package convert

import (
	"fmt"
	"strings"
)

// Report is what a conversion has to tell besides its result.
type Report struct {
	// Entries are what was not carried over, changed its meaning or needs a
	// decision, in the order of the input. Where there is none, nothing was lost.
	Entries []Entry `json:"entries"`

	// Ignored are the paths of keys that have nothing to do with registries,
	// each once, in the order of the input. They are no loss.
	Ignored []string `json:"ignored"`
}

// Lossless reports whether all of the input was carried over and means the same.
func (r Report) Lossless() bool { return len(r.Entries) == 0 }

// String has a line for each entry, and one for what was ignored.
func (r Report) String() string {
	var lines []string
	for _, e := range r.Entries {
		lines = append(lines, e.String())
	}
	if len(r.Ignored) > 0 {
		lines = append(lines, "ignored: "+strings.Join(r.Ignored, ", "))
	}
	return strings.Join(lines, "\n")
}

// Kind says what became of a part of the input.
type Kind int

const (
	// Loss: it was not carried over.
	Loss Kind = iota + 1
	// Changed: it was carried over, and does not mean quite the same there.
	Changed
	// Decision: it was carried over in one of several ways; a person has to
	// say whether that is the right one.
	Decision
)

// String returns "loss", "changed" or "decision".
func (k Kind) String() string {
	switch k {
	case Loss:
		return "loss"
	case Changed:
		return "changed"
	case Decision:
		return "decision"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// MarshalText writes what String returns.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Entry is one thing that a conversion has to tell. It never holds a secret.
type Entry struct {
	Kind Kind `json:"kind"`

	// File is the name of the file where the input has several (a certs.d
	// directory, drop-ins), relative to its folder; else empty.
	File string `json:"file,omitempty"`

	// Path is where it is: in the input of a reader, such as
	// configs["m.example.com"].tls.ca_file, or in the Set of a writer, such as
	// mirrors["ghcr.io"].skipFallback.
	Path string `json:"path"`

	Line   int    `json:"line"`   // from 1; 0 when not known
	Column int    `json:"column"` // from 1, in bytes; 0 when not known
	Reason string `json:"reason"` // why the other side does not say it
	Fix    string `json:"fix"`    // what to do; empty when there is nothing to do
}

// String returns "FILE: line L, column C: kind: path: reason (fix)", without
// the parts that are not known.
func (e Entry) String() string {
	var b strings.Builder
	if e.File != "" {
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	fmt.Fprintf(&b, "%s: ", e.Kind)
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	b.WriteString(e.Reason)
	if e.Fix != "" {
		fmt.Fprintf(&b, " (%s)", e.Fix)
	}
	return b.String()
}
