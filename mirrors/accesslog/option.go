package accesslog

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// DefaultIgnored returns the user agents that are left out: the probes of
// Kubernetes and load balancers, the tools of people who look or warm a cache, and
// the prober of this library. Each is the beginning of a user agent.
func DefaultIgnored() []string {
	return []string{
		"kube-probe/", "GoogleHC/", "ELB-HealthChecker/", "Prometheus/", "Blackbox Exporter/",
		"mirrorpatch-probe", "curl/", "Wget/",
		"crane/", "go-containerregistry/", "skopeo/", "regclient/", "oras/", "oras-cli/",
	}
}

// Option changes what a question is about.
type Option func(*question) error

// Ignore leaves out user agents that begin so, instead of [DefaultIgnored]; upper and
// lower case are the same. Without a beginning nobody is left out.
func Ignore(beginnings ...string) Option {
	return func(q *question) error {
		q.ignored = beginnings
		return checkBeginnings("ignore", beginnings)
	}
}

// Agents leaves out all user agents but those that begin so, such as containerd/, and
// of these the ignored ones.
func Agents(beginnings ...string) Option {
	return func(q *question) error {
		if q.only = beginnings; len(beginnings) == 0 {
			return &Error{Path: "agents", Reason: "there is none", Fix: "want a name such as containerd/"}
		}
		return checkBeginnings("agents", beginnings)
	}
}

func checkBeginnings(path string, beginnings []string) error {
	for _, b := range beginnings {
		if b == "" {
			return &Error{Path: path, Reason: `the beginning "" is that of every user agent`, Fix: "want a name such as curl/"}
		}
	}
	return nil
}

// From asks about one client: an address such as 192.0.2.7, or a prefix such as
// 192.0.2.0/24. What the mirror sees may be the address of a proxy; distribution's
// own lines have what X-Forwarded-For says, which a client may choose.
func From(client string) Option {
	return func(q *question) error {
		prefix, err := netip.ParsePrefix(client)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(client); err == nil {
				addr = addr.Unmap().WithZone("")
				prefix = netip.PrefixFrom(addr, addr.BitLen())
			}
		}
		if err != nil {
			return &Error{Path: "from", Reason: fmt.Sprintf("%q is no client", client), Fix: "want an address or a prefix such as 192.0.2.0/24", Err: err}
		}
		if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
		}
		q.from, q.fromText = prefix.Masked(), client
		return nil
	}
}

// Since counts requests from t on only.
func Since(t time.Time) Option {
	return func(q *question) error { q.since = t; return nil }
}

// Until counts requests up to t only.
func Until(t time.Time) Option {
	return func(q *question) error { q.until = t; return nil }
}

// UnderPath says that the mirror has the image under a path of its own: that of the
// endpoint's URL, /v2/proxy/ghcr or /repository/ghcr.
func UnderPath(path string) Option {
	return func(q *question) error {
		p := strings.Trim(path, "/")
		p = strings.TrimPrefix(p, "v2/")
		if p == "v2" {
			p = ""
		}
		if p != "" && !isPath([]byte(p)) {
			return &Error{Path: "path", Reason: fmt.Sprintf("%q is no path", path), Fix: "want the path of the endpoint's URL, such as /v2/proxy/ghcr"}
		}
		q.under = p
		return nil
	}
}
