package mirrors

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// Secret is a password, a token or a private key. However it is printed, fmt's
// verbs and log/slog included, it is redacted: "[redacted]", or "" when empty.
//
// In memory the value is masked with a pad of this process. That is no
// encryption: it is for what prints by reflection and calls no method, such as fmt
// on unexported fields or the difference that a failed test shows.
//
// Encoding is storage, not printing: MarshalJSON and MarshalYAML write the
// value, and so does what [Set] is encoded to. The zero value is no secret, and
// equal secrets are equal to == and to reflect.DeepEqual.
type Secret struct{ masked string }

var maskSeed = func() (seed [32]byte) {
	rand.Read(seed[:])
	return seed
}()

// mask turns a value into what is stored, and back.
func mask(s string) string {
	if s == "" {
		return ""
	}
	b := make([]byte, len(s))
	mathrand.NewChaCha8(maskSeed).Read(b)
	for i := range b {
		b[i] ^= s[i]
	}
	return string(b)
}

// NewSecret makes a Secret of a value.
func NewSecret(value string) Secret { return Secret{mask(value)} }

// Reveal returns the value. Its name is what a review looks for.
func (s Secret) Reveal() string { return mask(s.masked) }

// IsZero reports whether there is no value.
func (s Secret) IsZero() bool { return s.masked == "" }

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

// LogValue redacts for log/slog, whose JSON handler would encode the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Types without the methods, or fmt and slog would ask for them again.
type (
	plainEndpoint Endpoint
	loggedSet     Set
	loggedMirror  Mirror
	loggedHost    HostConfig
	loggedAuth    Auth
	loggedTLS     TLS
	loggedID      ClientIdentity
)

// LogValue redacts the secrets, and the userinfo of each URL.
func (s Set) LogValue() slog.Value { return slog.AnyValue(loggedSet(s.redacted())) }

// Format prints an endpoint as fmt does, with the userinfo of the URL redacted.
func (e Endpoint) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), plainEndpoint(e.redacted()))
}

// LogValue redacts the userinfo of the URL.
func (e Endpoint) LogValue() slog.Value { return slog.AnyValue(plainEndpoint(e.redacted())) }

// LogValue redacts the userinfo of each URL.
func (m Mirror) LogValue() slog.Value { return slog.AnyValue(loggedMirror(m.redacted())) }

// LogValue redacts the secrets.
func (c HostConfig) LogValue() slog.Value { return slog.AnyValue(loggedHost(c.redacted())) }

// LogValue redacts the secrets.
func (a Auth) LogValue() slog.Value { return slog.AnyValue(loggedAuth(a.redacted())) }

// LogValue redacts the private key.
func (t TLS) LogValue() slog.Value { return slog.AnyValue(loggedTLS(t.redacted())) }

// LogValue redacts the private key.
func (i ClientIdentity) LogValue() slog.Value { return slog.AnyValue(loggedID(i.redacted())) }

// LogValue is that of the Set.
func (s *Source) LogValue() slog.Value {
	if s == nil {
		return slog.AnyValue(nil)
	}
	return s.Set.LogValue()
}

func (s Secret) redacted() Secret { return NewSecret(s.String()) }

func (s Set) redacted() Set {
	var r Set
	if s.Mirrors != nil {
		r.Mirrors = make(map[string]Mirror, len(s.Mirrors))
		for name, m := range s.Mirrors {
			r.Mirrors[redact.URL(name)] = m.redacted()
		}
	}
	if s.Config != nil {
		r.Config = make(map[string]HostConfig, len(s.Config))
		for key, c := range s.Config {
			r.Config[redact.URL(key)] = c.redacted()
		}
	}
	return r
}

func (m Mirror) redacted() Mirror {
	m = m.DeepCopy()
	for i, e := range m.Endpoints {
		m.Endpoints[i] = e.redacted()
	}
	return m
}

func (e Endpoint) redacted() Endpoint {
	e.URL = redact.URL(e.URL)
	return e
}

func (c HostConfig) redacted() HostConfig {
	if c.Auth != nil {
		a := c.Auth.redacted()
		c.Auth = &a
	}
	if c.TLS != nil {
		t := c.TLS.redacted()
		c.TLS = &t
	}
	return c
}

func (a Auth) redacted() Auth {
	a.Password, a.Auth, a.IdentityToken = a.Password.redacted(), a.Auth.redacted(), a.IdentityToken.redacted()
	return a
}

func (t TLS) redacted() TLS {
	if t.ClientIdentity != nil {
		i := t.ClientIdentity.redacted()
		t.ClientIdentity = &i
	}
	return t
}

func (i ClientIdentity) redacted() ClientIdentity {
	i.Key = i.Key.redacted()
	return i
}
