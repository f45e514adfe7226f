package mirrors

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a password, a token or a private key. However it is printed, fmt's
// verbs and log/slog included, it is redacted: "[redacted]", or "" when empty.
//
// Encoding is storage, not printing: MarshalJSON and MarshalYAML write the
// value, and so does what [Set] is encoded to. The zero value is no secret.
type Secret struct{ value string }

// NewSecret makes a Secret of a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value. Its name is what a review looks for.
func (s Secret) Reveal() string { return s.value }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.value == "" }

// String returns "[redacted]", or "" when there is no value.
func (s Secret) String() string {
	if s.value == "" {
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
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

// UnmarshalJSON reads a JSON string.
func (s *Secret) UnmarshalJSON(data []byte) error {
	var v string
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("secret: want a string") // the cause would quote the data
	}
	s.value = v
	return nil
}

// MarshalYAML encodes the value itself.
func (s Secret) MarshalYAML() (any, error) { return s.value, nil }
