package probe

import (
	"fmt"
	"time"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Answer says whether an endpoint serves the registry API.
type Answer int

const (
	// Unknown: the question could not be asked, or the answer says nothing.
	Unknown Answer = iota
	// Yes: it serves the registry API.
	Yes
	// No: something answers there, and it is not the registry API.
	No
)

// String returns "unknown", "yes" or "no".
func (a Answer) String() string {
	switch a {
	case Unknown:
		return "unknown"
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return fmt.Sprintf("Answer(%d)", int(a))
}

// MarshalText writes what String returns.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Login says how the question of who asks went.
type Login int

const (
	// LoginUnasked: the endpoint asked for no login.
	LoginUnasked Login = iota
	// LoginAnonymous: the token service lets everybody in, without credentials.
	LoginAnonymous
	// LoginAccepted: it took the credentials of the Set.
	LoginAccepted
	// LoginRefused: it refused the credentials of the Set.
	LoginRefused
	// LoginMissing: it wants credentials, and the Set has none that a node would
	// give it. Behind a token service there may still be public images.
	LoginMissing
	// LoginUnknown: the login could not be tried to its end.
	LoginUnknown
)

var loginNames = [...]string{"unasked", "anonymous", "accepted", "refused", "missing", "unknown"}

// String returns "unasked", "anonymous", "accepted", "refused", "missing" or "unknown".
func (l Login) String() string {
	if l >= 0 && int(l) < len(loginNames) {
		return loginNames[l]
	}
	return fmt.Sprintf("Login(%d)", int(l))
}

// MarshalText writes what String returns.
func (l Login) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Result is what one question brought. It holds no secret.
type Result struct {
	// Endpoint is what was asked about; userinfo and query of its URL, which a
	// node does not use, are redacted.
	Endpoint mirrors.Endpoint `json:"endpoint"`

	// URL is the base URL of the API, with a slash at its end; empty when the
	// endpoint's URL cannot be used.
	URL string `json:"url"`

	// Key is the config key whose credentials and TLS settings apply.
	Key string `json:"key"`

	Answer Answer `json:"answer"`
	Login  Login  `json:"login"`

	// Reason says in words why the answer is what it is. It is never empty.
	Reason string `json:"reason"`

	// Took is the time from the question to the answer, without the time it
	// waited for its turn; nanoseconds in JSON. For a kept answer it is the time
	// that it took once.
	Took time.Duration `json:"took"`

	// Cached is true when the answer was kept from an earlier question.
	Cached bool `json:"cached"`

	// Err is an *Error, or nil when a node can use the endpoint: the answer is
	// yes, and the login, if any, went well.
	Err error `json:"-"`
}

// String returns "answer: URL: reason".
func (r Result) String() string {
	url := r.URL
	if url == "" {
		url = r.Endpoint.URL
	}
	return fmt.Sprintf("%s: %s: %s", r.Answer, url, r.Reason)
}

// keep is the rule of the cache, stated in the package's doc.
func (r Result) keep() bool { return r.Answer != Unknown && r.Login != LoginUnknown }
