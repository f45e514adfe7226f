package mirrors

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

const (
	hubName = "docker.io"            // Docker Hub in image references
	hubHost = "registry-1.docker.io" // the host that serves it

	// imageCacheURL is what Talos puts before every mirror when its image cache is ready.
	imageCacheURL  = "http://" + imageCacheHost
	imageCacheHost = "127.0.0.1:3172"

	wildcardDirectory = "_default"
)

// node is what Talos makes of a Set: the view of machined and the hosts
// directories of containerd. Its rules are those of Talos 1.13.9 and
// containerd 2.3.3, which are much alike and not the same.
type node struct {
	set     Set
	names   []string          // the keys of mirrors, sorted
	mirrors map[string]mirror // by registry, image cache included

	directories map[string]string    // of containerd: name to key of mirrors
	tlsOnly     map[string]string    // of containerd: name to key of config
	criAuth     map[string]string    // of containerd: endpoint host to key of config
	loadErrors  map[string]loadError // by key of config
	hostsError  string               // why Talos writes no directories at all
	hostsRule   string

	meant map[string]misnamed // see misnamed; made when it is asked for
}

type mirror struct {
	endpoints    []endpoint
	skipFallback bool
}

// endpoint is an [Endpoint] as net/url takes it apart.
type endpoint struct {
	Endpoint
	u        *url.URL // nil when it does not parse
	err      error
	problems []problem
}

func newNode(s Set, f facts) *node {
	n := &node{
		set:         s,
		mirrors:     make(map[string]mirror, len(s.Mirrors)+1),
		directories: make(map[string]string, len(s.Mirrors)+1),
		tlsOnly:     map[string]string{},
		criAuth:     make(map[string]string, len(s.Config)),
	}
	for name, m := range s.Mirrors {
		n.mirrors[name] = newMirror(m, f.imageCache)
	}
	if _, ok := n.mirrors["*"]; !ok && f.imageCache {
		n.mirrors["*"] = newMirror(Mirror{}, true)
	}
	n.names = slices.Sorted(maps.Keys(n.mirrors))

	for _, name := range n.names {
		n.directories[hostDirectory(name)] = name
		for _, e := range n.mirrors[name].endpoints {
			if e.err != nil && n.hostsError == "" {
				n.hostsError = fmt.Sprintf("error parsing endpoint {%s %%!q(bool=%t)} for host %s: %v", quote(e.URL), e.OverridePath, quote(name), e.err)
				n.hostsRule = RuleEndpointSyntax
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Config)) {
		c := s.Config[key]
		if c.Auth != nil {
			n.criAuth[defaultHost(key)] = key // of docker.io and registry-1.docker.io the later one
		}
		if e := c.TLS.load(); e.any() {
			if n.loadErrors == nil {
				n.loadErrors = map[string]loadError{}
			}
			n.loadErrors[key] = e
		}
		dir := hostDirectory(key)
		if _, ok := n.directories[dir]; ok || !c.TLS.says() {
			continue
		}
		if key == "*" {
			if n.hostsError == "" {
				n.hostsError, n.hostsRule = "wildcard host TLS configuration is not supported", RuleTLSWildcard
			}
			continue
		}
		n.tlsOnly[dir] = key
	}
	return n
}

func newMirror(m Mirror, imageCache bool) mirror {
	r := mirror{skipFallback: m.SkipFallback, endpoints: make([]endpoint, 0, len(m.Endpoints)+1)}
	if imageCache {
		r.endpoints = append(r.endpoints, newEndpoint(Endpoint{URL: imageCacheURL}))
	}
	for _, e := range m.Endpoints {
		r.endpoints = append(r.endpoints, newEndpoint(e))
	}
	return r
}

func newEndpoint(e Endpoint) endpoint {
	u, problems := parseEndpoint(e.URL)
	r := endpoint{Endpoint: e, u: u, problems: problems}
	if u == nil {
		r.u, r.err = parseURL(e.URL)
	}
	return r
}

// parseURL is url.Parse with an error that holds no userinfo.
func parseURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err == nil {
		return u, nil
	}
	if e, ok := err.(*url.Error); ok {
		reason := e.Err.Error()
		if strings.Contains(raw, "@") {
			// The reason may quote a part of the userinfo.
			reason = "the URL does not parse"
		}
		return nil, fmt.Errorf("%s %s: %s", e.Op, quote(raw), reason)
	}
	return nil, fmt.Errorf("the URL does not parse")
}

// defaultHost is the host that serves a registry.
func defaultHost(registry string) string {
	if registry == hubName {
		return hubHost
	}
	return registry
}

// hostDirectory is the name of a registry's directory, the same for Talos,
// which writes it, and containerd, which looks for it.
func hostDirectory(host string) string {
	if host == "*" {
		return wildcardDirectory
	}
	if i := strings.LastIndexByte(host, ':'); i > 0 {
		return host[:i] + "_" + host[i+1:] + "_"
	}
	return host
}

// sending is what a puller does with credentials when it is asked for a login.
type sending int

const (
	sendsNothing sending = iota // as where there are no credentials
	sendsAuth
	sendsError // gives up on this host
)

// credentials are taken as both pullers take them (Talos 1.13.9's PrepareAuth,
// the CRI plugin's ParseAuth in containerd 2.3.3): username, else identityToken,
// else auth. With none of the three containerd goes on anonymously, machined
// gives up. A username without a password is not sent.
func (a *Auth) credentials() (containerd, machined sending) {
	both := func(s sending) (_, _ sending) { return s, s }
	switch {
	case a == nil:
		return both(sendsNothing)
	case a.Username != "":
		if a.Password.IsZero() {
			return both(sendsNothing)
		}
	case !a.IdentityToken.IsZero():
	case !a.Auth.IsZero():
		plain, err := base64.StdEncoding.DecodeString(a.Auth.Reveal())
		_, password, ok := strings.Cut(string(plain), ":")
		if err != nil || !ok {
			return both(sendsError)
		}
		if strings.Trim(password, "\x00") == "" {
			return both(sendsNothing)
		}
	default:
		return sendsNothing, sendsError
	}
	return both(sendsAuth)
}

// usable reports whether there is something that is meant to be credentials.
func (a *Auth) usable() bool {
	return a != nil && (a.Username != "" || !a.Auth.IsZero() || !a.IdentityToken.IsZero())
}

// says reports whether there is any setting.
func (t *TLS) says() bool {
	return t != nil && (t.CA != "" || t.ClientIdentity != nil || t.InsecureSkipVerify)
}

// cause is what a route came from.
type cause int

const (
	causeNone    cause = iota // neither mirror nor TLS settings: the upstream
	causeMirror               // dirKey is the key of Mirrors
	causeTLSOnly              // dirKey is the key of Config
	causeHosts
	causeDecode
	causeTLS
)

// route is the list of one puller.
type route struct {
	hops   []hop
	err    string
	cause  cause
	dirKey string
	rule   string // behind the error
}

type hop struct {
	scheme, host, path string
	endpoint           string
	fallback           bool
	auth, tls          string
	authError          string // the key of config whose credentials cannot be used
	hasTLS             bool   // the key of tls may be ""
	httpFallback       bool
}

func (h hop) url() string { return h.scheme + "://" + h.host + h.path }

// apiPath is the path under which both pullers look for the API.
func apiPath(p string, override bool) string {
	if p == "" {
		if override {
			return ""
		}
		return "/v2"
	}
	p = path.Clean(p)
	if !override && !strings.HasSuffix(p, "/v2") {
		p += "/v2"
	}
	return p
}

// machined is what Talos's own puller tries. It writes to hops, which may be nil.
func (n *node) machined(registry string, hops []hop) route {
	r := route{cause: causeNone}
	m, ok := n.mirrors[registry]
	if ok {
		r.cause, r.dirKey = causeMirror, registry
	} else if m, ok = n.mirrors["*"]; ok {
		r.cause, r.dirKey = causeMirror, "*"
	}
	fail := func(rule, format string, args ...any) route {
		return route{err: fmt.Sprintf(format, args...), cause: r.cause, dirKey: r.dirKey, rule: rule}
	}
	r.hops = slices.Grow(hops[:0], len(m.endpoints)+1)
	for _, e := range m.endpoints {
		if e.u == nil {
			return fail(RuleEndpointSyntax, "error parsing endpoint %s for host %q: %v", quote(e.URL), registry, e.err)
		}
		t := n.set.Config[e.u.Host].TLS
		if t != nil && e.u.Scheme != "https" {
			return fail(RuleTLSOnHttp, "TLS config specified for non-HTTPS registry: %q", e.u.Host)
		}
		if err := n.loadErrors[e.u.Host].identity; err != nil {
			return fail(RuleClientIdentity, "error preparing TLS config for %q: error parsing client identity: %v", e.u.Host, err)
		}
		r.hops = append(r.hops, n.machinedHop(e.u.Scheme, e.u.Host, apiPath(e.u.Path, e.OverridePath), e.URL))
	}
	if !m.skipFallback {
		host := defaultHost(registry)
		if err := n.loadErrors[host].identity; err != nil {
			return fail(RuleClientIdentity, "error preparing TLS config for %q: error parsing client identity: %v", host, err)
		}
		h := n.machinedHop("https", host, "/v2", "")
		h.fallback = true
		r.hops = append(r.hops, h)
	}
	return r
}

func (n *node) machinedHop(scheme, host, path, endpoint string) hop {
	h := hop{scheme: scheme, host: host, path: path, endpoint: endpoint}
	c := n.set.Config[host]
	if c.TLS.says() {
		h.tls = host
	}
	switch _, does := c.Auth.credentials(); does {
	case sendsAuth:
		h.auth = host
	case sendsError:
		h.authError = host
	}
	return h
}

// criLogin sets what containerd does when the host asks for a login.
func (n *node) criLogin(h *hop) {
	key, ok := n.criAuth[h.host]
	if !ok {
		return
	}
	switch does, _ := n.set.Config[key].Auth.credentials(); does {
	case sendsAuth:
		h.auth = key
	case sendsError:
		h.authError = key
	}
}

// containerd is what the CRI plugin tries. It writes to hops, which may be nil.
func (n *node) containerd(registry string, hops []hop) route {
	if n.hostsError != "" {
		return route{hops: []hop{n.upstream(registry)}, err: n.hostsError, cause: causeHosts, rule: n.hostsRule}
	}
	for _, dir := range [...]string{hostDirectory(registry), registry, wildcardDirectory} {
		if key, ok := n.directories[dir]; ok {
			return n.hostsFile(registry, key, hops)
		}
		if key, ok := n.tlsOnly[dir]; ok {
			return n.tlsFile(registry, key)
		}
	}
	return route{hops: []hop{n.upstream(registry)}, cause: causeNone}
}

// upstream is what containerd tries without any configuration.
func (n *node) upstream(registry string) hop {
	h := hop{scheme: "https", host: defaultHost(registry), path: "/v2", fallback: true}
	if isLocalhost(registry) {
		_, port, _ := net.SplitHostPort(registry)
		switch port {
		case "", "443":
		case "80":
			h.scheme = "http"
		default:
			h.httpFallback = true
		}
	}
	n.criLogin(&h)
	return h
}

func isLocalhost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// hostsFile is the hosts.toml of a mirror. A table for each endpoint comes first;
// with skipFallback the last endpoint is the root entry instead, which
// otherwise is the upstream.
func (n *node) hostsFile(registry, key string, hops []hop) route {
	m := n.mirrors[key]
	r := route{cause: causeMirror, dirKey: key}
	tables := m.endpoints
	var root *endpoint
	if m.skipFallback && len(tables) > 0 {
		root = &tables[len(tables)-1]
		tables = tables[:len(tables)-1]
	}
	decodeFails := func(rule, message string) route {
		// What is left are the certificates that lie in the directory. A CA
		// that does not load ends the pull.
		for _, e := range m.endpoints {
			if n.loadErrors[e.u.Host].ca {
				return route{err: fmt.Sprintf("unable to load CA cert of %q", e.u.Host), cause: causeTLS, dirKey: key, rule: RulePEMInvalid}
			}
		}
		return route{hops: []hop{n.upstream(registry)}, err: message, cause: causeDecode, dirKey: key, rule: rule}
	}
	if url, ok := repeatedURL(tables); ok {
		return decodeFails(RuleEndpointDuplicate, fmt.Sprintf("toml: table %s already exists", redact.URL(url)))
	}
	r.hops = slices.Grow(hops[:0], len(tables)+1)
	for i, e := range tables {
		if e.URL == "" && i == 0 {
			continue // an empty table name is not seen when it is the first
		}
		h, err := n.containerdHop(e)
		if err != nil {
			return decodeFails(RuleEndpointSyntax, err.Error())
		}
		r.hops = append(r.hops, h)
	}
	if root != nil && root.URL != "" {
		h, err := n.containerdHop(*root)
		if err != nil {
			return decodeFails(RuleEndpointSyntax, err.Error())
		}
		r.hops = append(r.hops, h)
	}
	switch last := len(r.hops) - 1; {
	case root == nil || root.URL == "":
		r.hops = append(r.hops, n.upstream(registry))
	case r.hops[last].host == "":
		// containerd fills in the upstream and keeps the entry's TLS settings.
		up := n.upstream(registry)
		up.tls, up.hasTLS = r.hops[last].tls, r.hops[last].hasTLS
		r.hops[last] = up
	}
	for _, h := range r.hops {
		if e := n.loadErrors[h.tls]; h.hasTLS && e.any() {
			return route{err: fmt.Sprintf("config[%s].tls: %s", quote(h.tls), e.containerd()), cause: causeTLS, dirKey: key, rule: e.rule()}
		}
	}
	return r
}

// repeatedURL returns the first URL that is there before.
func repeatedURL(es []endpoint) (string, bool) {
	if len(es) <= 8 {
		for i, e := range es {
			for _, earlier := range es[:i] {
				if earlier.URL == e.URL {
					return e.URL, true
				}
			}
		}
		return "", false
	}
	seen := make(map[string]bool, len(es))
	for _, e := range es {
		if seen[e.URL] {
			return e.URL, true
		}
		seen[e.URL] = true
	}
	return "", false
}

// containerdHop is one table of a hosts.toml.
func (n *node) containerdHop(e endpoint) (hop, error) {
	h := hop{endpoint: e.URL}
	u := e.u
	if e.URL != "" {
		if !strings.HasPrefix(e.URL, "http") {
			var err error
			if u, err = parseURL("https://" + e.URL); err != nil {
				return h, fmt.Errorf("unable to parse server %s: %v", quote("https://"+e.URL), err)
			}
		}
		h.scheme, h.host, h.path = u.Scheme, u.Host, apiPath(u.Path, e.OverridePath)
	}
	// Talos looks for TLS settings under the host as it parses the URL itself.
	if n.set.Config[e.u.Host].TLS.says() {
		h.tls, h.hasTLS = e.u.Host, true
		if h.scheme == "http" {
			if _, port, _ := net.SplitHostPort(h.host); port != "80" {
				h.scheme, h.httpFallback = "https", true
			}
		}
	}
	n.criLogin(&h)
	return h, nil
}

// tlsFile is the hosts.toml of a host that has TLS settings and no mirror.
func (n *node) tlsFile(registry, key string) route {
	r := route{cause: causeTLSOnly, dirKey: key}
	u, err := parseURL("https://" + defaultHost(key))
	if err != nil {
		r.hops, r.err, r.cause, r.rule = []hop{n.upstream(registry)}, err.Error(), causeDecode, RuleConfigKey
		return r
	}
	if e := n.loadErrors[key]; e.any() {
		r.err, r.cause, r.rule = fmt.Sprintf("config[%s].tls: %s", quote(key), e.containerd()), causeTLS, e.rule()
		return r
	}
	h := hop{scheme: "https", host: u.Host, path: apiPath(u.Path, false), fallback: true, tls: key}
	n.criLogin(&h)
	r.hops = []hop{h}
	return r
}

// loadError is what is wrong with TLS settings when a node loads them.
type loadError struct {
	ca       bool  // containerd then ends the pull; machined trusts no CA
	identity error // both end the pull. It holds nothing of the key
}

func (e loadError) any() bool { return e.ca || e.identity != nil }

func (e loadError) rule() string {
	if e.ca {
		return RulePEMInvalid
	}
	return RuleClientIdentity
}

func (e loadError) containerd() string {
	if e.ca {
		return "unable to load CA cert"
	}
	return "failed to load X509 key pair: " + e.identity.Error()
}

func (t *TLS) load() (e loadError) {
	if t == nil {
		return e
	}
	e.ca = t.CA != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(t.CA))
	if id := t.ClientIdentity; id != nil {
		_, e.identity = tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key.Reveal()))
	}
	return e
}
