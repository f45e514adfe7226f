package probe

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// A target is where a node's requests for an endpoint go.
type target struct {
	scheme, key string // key is the URL's host as written
	path        string // begins with a slash and ends with none, unless it is "/"
	override    bool
}

// newTarget follows the rule for paths that machined (Talos 1.13.9) and
// containerd (2.4.2) share. Both take scheme, host and path alone.
func newTarget(e mirrors.Endpoint) (target, *Error) {
	shown := redact.URL(e.URL)
	bad := func(reason, fix string) (target, *Error) {
		return target{}, &Error{Path: shown, Reason: reason, Fix: fix}
	}
	const want = "want an absolute URL such as https://mirror.example.com:5000"
	u, err := url.Parse(e.URL)
	if err != nil {
		// The parser's own words can quote a password.
		return bad("not a URL", want)
	}
	// containerd compares the beginning of the text, so HTTPS:// is not https:// to it.
	if !strings.HasPrefix(e.URL, "http://") && !strings.HasPrefix(e.URL, "https://") {
		if u.Scheme == "" || u.Host == "" {
			return bad("not an absolute URL", want)
		}
		scheme, _, _ := strings.Cut(e.URL, ":")
		return bad(fmt.Sprintf("unsupported scheme %q", scheme), "want http or https")
	}
	if u.Hostname() == "" {
		return bad("no host", want)
	}
	if !validPort(u) {
		if strings.Contains(e.URL, "@") {
			return bad("invalid port", want) // it may be the beginning of a password
		}
		return bad(fmt.Sprintf("invalid port %q", u.Port()), "want 1 to 65535")
	}

	t := target{scheme: u.Scheme, key: u.Host, path: u.Path, override: e.OverridePath}
	if t.path != "" {
		t.path = path.Clean(t.path)
	}
	if !strings.HasSuffix(t.path, "/v2") && !t.override {
		t.path += "/v2"
	}
	t.path = path.Join("/", t.path)
	// A node puts the decoded path into the text of its request.
	if _, err := url.Parse(t.base()); err != nil {
		return bad("a path that is no URL's once its escapes are decoded", "want a path without escapes")
	}
	return t, nil
}

// base is the base URL with a slash at its end.
func (t target) base() string { return t.at(t.path) }

func (t target) at(p string) string {
	return t.scheme + "://" + t.key + strings.TrimSuffix(p, "/") + "/"
}

// root returns the URL up to the first segment v2, for an endpoint with
// overridePath that goes on below it.
func (t target) root() (string, bool) {
	before, after, found := strings.Cut(t.path+"/", "/v2/")
	if !t.override || !found || after == "" {
		return "", false
	}
	return t.at(before + "/v2"), true
}

// wantsOverride reports whether the node appended /v2 below a segment v2.
func (t target) wantsOverride() bool {
	return !t.override && strings.Contains(strings.TrimSuffix(t.path, "/v2")+"/", "/v2/")
}

// origin is what credentials are given to.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }

func validPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

func redactEndpoint(e mirrors.Endpoint) mirrors.Endpoint {
	e.URL = redact.URL(e.URL)
	return e
}
