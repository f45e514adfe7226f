package mirrors

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"unique"
)

// Secret is a password, a token or a private key. However it is printed, fmt's
// verbs and log/slog included, it is redacted: "[redacted]", or "" when empty.
//
// Encoding is storage, not printing: MarshalJSON and MarshalYAML write the
// value, and so does what [Set] is encoded to. The zero value is no secret, and
// equal secrets compare equal with ==.
type Secret struct {
	// A handle is a pointer. fmt ignores Format where it reports a wrong verb
	// ("%s" of a struct with a pointer in it), and would print a string then.
	handle unique.Handle[string]
}

// NewSecret makes a Secret of a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{unique.Make(value)}
}

// Reveal returns the value. Its name is what a review looks for.
func (s Secret) Reveal() string {
	if s.IsZero() {
		return ""
	}
	return s.handle.Value()
}

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s == Secret{} }

// String returns "[redacted]", or "" when there is no value.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return "[redacted]"
}

// GoString is String in quotes.
func (s Secret) GoString() string { return fmt.Sprintf("%q", s.String()) }

// Format redacts for every verb and flag.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		io.WriteString(f, s.GoString())
		return
	}
	io.WriteString(f, s.String())
}

// LogValue redacts for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalJSON encodes the value itself.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.Reveal()) }

// UnmarshalJSON reads a JSON string.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var v string
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("secret: want a string") // the cause would quote the data
	}
	*s = NewSecret(v)
	return nil
}

// MarshalYAML encodes the value itself.
func (s Secret) MarshalYAML() (any, error) { return s.Reveal(), nil }
