package mirrors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/distribution/reference"
	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// PullOrder is where a node looks for one image, in order, for both of its
// pullers. The JSON form has a key for each field.
type PullOrder struct {
	Image    string `json:"image"`
	Registry string `json:"registry"` // of the normalized reference: what is looked up in Mirrors

	// Containerd pulls the images of pods, static pods and the pause image.
	Containerd []Attempt `json:"containerd"`

	// ContainerdError is why containerd ignores its mirrors: the hosts files are
	// not written, or the registry's cannot be read. Containerd says what it
	// tries all the same. Only when its TLS files are bad it tries nothing.
	ContainerdError string `json:"containerdError"`

	// Machined pulls the installer, the kubelet and etcd.
	Machined []Attempt `json:"machined"`

	// MachinedError is why machined tries nothing at all.
	MachinedError string `json:"machinedError"`

	// Differs tells whether the pullers get different lists, use different
	// credentials or TLS settings, or only one of them meets an error, be it that
	// it cannot log in where it is asked to. Why says it in words.
	Differs bool   `json:"differs"`
	Why     string `json:"why"`
}

// Attempt is one base URL of the registry API that is tried.
type Attempt struct {
	URL      string `json:"url"`      // such as https://cache.example.com/v2
	Endpoint string `json:"endpoint"` // the endpoint as written, userinfo redacted; empty for the upstream
	Fallback bool   `json:"fallback"` // the upstream registry itself, which no endpoint names
	Auth     string `json:"auth"`     // the key of Config whose credentials are sent when asked for; empty where none are
	TLS      string `json:"tls"`      // the key of Config whose TLS settings are used, or empty

	// HTTPFallback tells that plain HTTP is tried when the server does not speak TLS.
	HTTPFallback bool `json:"httpFallback,omitempty"`
}

// PullOrder says where a node looks for an image and in which order, as Talos
// 1.13.9 with containerd 2.3.3 does. It describes what happens, also for a Set
// in which [Set.Check] finds errors. Of the options only [WithImageCache]
// matters.
//
// The reference is read as containerd reads it: "nginx" is
// docker.io/library/nginx:latest. The error is for one that is none.
func (s Set) PullOrder(image string, opts ...CheckOption) (PullOrder, error) {
	registry, err := registryOf(image)
	if err != nil {
		return PullOrder{}, err
	}
	return newNode(s, newFacts(opts)).pullOrder(image, registry), nil
}

// PullOrders is PullOrder for many images: the Set is looked at once. The error
// names every reference that is none.
func (s Set) PullOrders(images []string, opts ...CheckOption) ([]PullOrder, error) {
	registries, err := registriesOf(images)
	if err != nil {
		return nil, err
	}
	n := newNode(s, newFacts(opts))
	orders := make([]PullOrder, len(images))
	for i, image := range images {
		orders[i] = n.pullOrder(image, registries[i])
	}
	return orders, nil
}

// registryOf returns the registry of an image reference.
func registryOf(image string) (string, error) {
	ref, err := reference.ParseDockerRef(image)
	if err != nil {
		return "", &Error{Err: err, Findings: Findings{{Rule: RuleImageReference, Severity: SeverityError,
			Message: fmt.Sprintf("%q is not an image reference: %v", image, err),
			Fix:     "want one such as registry.k8s.io/pause:3.10"}}}
	}
	return reference.Domain(ref), nil
}

func registriesOf(images []string) ([]string, error) {
	registries := make([]string, len(images))
	errs := make([]error, len(images))
	for i, image := range images {
		registries[i], errs[i] = registryOf(image)
	}
	return registries, Join(errs...)
}

func (n *node) pullOrder(image, registry string) PullOrder {
	p := PullOrder{Image: image, Registry: registry}
	c, m := n.containerd(registry, nil), n.machined(registry, nil)
	p.Containerd, p.ContainerdError = c.attempts(), c.err
	p.Machined, p.MachinedError = m.attempts(), m.err
	p.Differs = n.differ(c, m) || differInLogin(c, m)
	if p.Differs {
		p.Why = strings.Join(n.why(registry, c, m), "; ")
	}
	return p
}

func (r route) attempts() []Attempt {
	as := make([]Attempt, len(r.hops))
	for i, h := range r.hops {
		as[i] = Attempt{URL: h.url(), Endpoint: redact.URL(h.endpoint), Fallback: h.fallback, Auth: h.auth, TLS: h.tls, HTTPFallback: h.httpFallback}
	}
	return as
}

// differ compares what the two pullers do. Two keys with the same settings are no difference.
func (n *node) differ(c, m route) bool {
	if (c.err == "") != (m.err == "") || len(c.hops) != len(m.hops) {
		return true
	}
	for i, a := range c.hops {
		b := m.hops[i]
		if a.scheme != b.scheme || a.host != b.host || a.path != b.path || a.httpFallback != b.httpFallback ||
			!n.sameTLS(a.tls, b.tls) || !n.sameAuth(a.auth, b.auth) {
			return true
		}
	}
	return false
}

// differInLogin reports whether one puller gives up on a host that asks for a
// login, and the other does not. [Set.Check] has rules for the credentials that do it.
func differInLogin(c, m route) bool {
	for i := range min(len(c.hops), len(m.hops)) {
		if (c.hops[i].authError == "") != (m.hops[i].authError == "") {
			return true
		}
	}
	return false
}

func (n *node) sameTLS(a, b string) bool {
	return a == b || a != "" && b != "" && HostConfig{TLS: n.set.Config[a].TLS}.Equal(HostConfig{TLS: n.set.Config[b].TLS})
}

func (n *node) sameAuth(a, b string) bool {
	return a == b || a != "" && b != "" && *n.set.Config[a].Auth == *n.set.Config[b].Auth
}

// why says why the pullers do different things. There is always a reason.
func (n *node) why(registry string, c, m route) []string {
	var why []string
	say := func(format string, args ...any) { why = append(why, fmt.Sprintf(format, args...)) }

	switch c.cause {
	case causeHosts:
		say("Talos cannot write containerd's hosts files, for any registry (%s): on a new node containerd goes to the upstream, on a running one it keeps the files it has", c.err)
	case causeDecode:
		say("containerd cannot read the hosts file of this registry (%s): it ignores every mirror in it and goes to the upstream, even with skipFallback", c.err)
	case causeTLS:
		say("containerd cannot use the TLS settings (%s) and does not pull at all", c.err)
	case causeTLSOnly:
		if _, ok := n.mirrors["*"]; ok {
			say(`config[%q] has TLS settings and the registry has no mirror of its own: containerd then does not use the "*" mirror for it, machined does`, c.dirKey)
		}
	case causeMirror:
		if c.dirKey != m.dirKey {
			say("containerd takes the mirrors of %q, machined those of %q", c.dirKey, m.dirKey)
		}
	}
	if m.err != "" {
		say("machined cannot use an endpoint (%s): it then tries none of them, not those before it either, and not the upstream", m.err)
	}
	if mir, ok := n.mirrors[m.dirKey]; ok && mir.skipFallback && len(mir.endpoints) == 0 {
		say("skipFallback without endpoints: machined has nowhere to go, containerd goes to the upstream")
	}
	if c.err == "" && m.err == "" && (c.dirKey == m.dirKey || len(why) == 0) {
		why = append(why, n.hopDifferences(registry, c, m)...)
	}
	if len(why) == 0 {
		say("the lists differ") // the cases above are meant to be all there are
	}
	return why
}

func (n *node) hopDifferences(registry string, c, m route) (why []string) {
	say := func(format string, args ...any) {
		if s := fmt.Sprintf(format, args...); !slices.Contains(why, s) {
			why = append(why, s)
		}
	}
	endpoints := n.mirrors[m.dirKey].endpoints
	for i, e := range endpoints {
		last := n.mirrors[m.dirKey].skipFallback && i == len(endpoints)-1
		switch {
		case last && c.cause == causeMirror && len(c.hops) > 0 && c.hops[len(c.hops)-1].fallback:
			say("%s has no host: containerd puts the upstream in its place, machined does not", quote(e.URL))
		case e.URL == "":
			say("an endpoint is empty: containerd and machined make different URLs of it, and both are useless")
		case !strings.HasPrefix(e.URL, "http"):
			say("%s does not begin with http: containerd puts https:// before it, machined takes it apart as it is", quote(e.URL))
		}
	}
	for i := range min(len(c.hops), len(m.hops)) {
		a, b := c.hops[i], m.hops[i]
		if a.endpoint != b.endpoint || a.host != b.host {
			continue
		}
		if a.scheme != b.scheme || a.httpFallback != b.httpFallback {
			if a.fallback {
				say("%s is this machine to containerd: it may use plain HTTP there, machined wants HTTPS", registry)
			} else {
				say("containerd tries HTTPS before HTTP for %s, since it has TLS settings", quote(a.endpoint))
			}
		}
		if !n.sameTLS(a.tls, b.tls) {
			switch {
			case a.fallback && registry == hubName && c.cause != causeMirror:
				say("for Docker Hub without a mirror containerd takes the TLS settings of docker.io, machined those of registry-1.docker.io")
			case a.fallback:
				say("containerd does not use the TLS settings of config[%q] for the fallback to a registry that has mirrors, machined does", b.tls)
			default:
				say("containerd takes the TLS settings of config[%q], machined those of config[%q]", a.tls, b.tls)
			}
		}
		switch {
		case a.authError == "" && b.authError != "":
			if has, _ := n.set.Config[b.authError].Auth.credentials(); has == sendsNothing {
				say("config[%q].auth has no credentials in it: where %s asks for a login, machined gives up on it and containerd goes on without one", b.authError, b.host)
			} else {
				say("config[%q].auth cannot be used: where %s asks for a login, machined gives up on it; containerd has other credentials or none for it", b.authError, b.host)
			}
		case a.authError != "" && b.authError == "":
			say("config[%q].auth cannot be used: where %s asks for a login, containerd gives up on it; machined has other credentials or none for it", a.authError, a.host)
		case !n.sameAuth(a.auth, b.auth):
			say("credentials under docker.io are those of registry-1.docker.io to containerd, and those of an endpoint with the host docker.io to machined")
		}
	}
	return why
}
