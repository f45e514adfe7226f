package mirrors

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Check finds what a node would not do, or would do otherwise than was likely
// meant. It looks at everything, and changes nothing; [Rules] lists what it
// knows. The findings have no lines; those of [Source.Check] have.
func (s Set) Check(opts ...CheckOption) Findings {
	found := newChecker(s, opts).run()
	fs := make(Findings, len(found))
	for i, f := range found {
		fs[i] = f.Finding
		fs[i].Path = f.place.String()
	}
	return fs
}

// finding is a Finding before its place becomes a path and a position.
type finding struct {
	Finding
	place Place
}

type checker struct {
	facts
	set  Set
	node *node

	mirrorFindings, configFindings []finding

	hosts map[string]hostUse // of endpoints, as written
	near  nearHosts

	// explained has the registries for which a rule already says that the
	// pullers differ.
	explained map[string]bool
	first     map[string]string   // wholeRegistry of an endpoint to the first key of mirrors that has it
	shared    map[string][]string // the same for those that several have
	keys      []string            // of config, sorted
}

// hostUse is how endpoints use one host.
type hostUse struct{ http, https bool }

func newChecker(set Set, opts []CheckOption) *checker {
	return &checker{
		set:       set,
		facts:     newFacts(opts),
		hosts:     make(map[string]hostUse),
		explained: make(map[string]bool),
		first:     make(map[string]string),
		shared:    make(map[string][]string),
	}
}

func (c *checker) run() []finding {
	if c.badVersion != nil {
		c.mirrorProblem(RuleVersionFeature, SeverityError, Place{}, c.badVersion.Error(), "want a version such as v1.13.9")
	}
	if len(c.set.Mirrors) == 0 && len(c.set.Config) == 0 {
		c.mirrorProblem(RuleEmptySet, SeverityWarning, Place{}, "there is nothing in it: every node pulls from the upstream", "want mirrors or config")
	}
	c.node = newNode(c.set, c.facts)
	c.keys = slices.Sorted(maps.Keys(c.set.Config))
	c.versions()
	for _, name := range c.node.names {
		if _, ok := c.set.Mirrors[name]; ok {
			c.index(name)
		}
	}
	if c.imageCache {
		c.hosts[imageCacheHost] = hostUse{http: true}
	}
	// What config says about a mirror's registry has to be known when the
	// mirror is judged, and the other way round: so config comes first and is
	// put behind.
	for _, key := range c.keys {
		c.config(key, c.set.Config[key])
	}
	for _, name := range c.node.names {
		if m, ok := c.set.Mirrors[name]; ok {
			c.mirror(name, m)
		}
	}
	c.pullers()
	return append(c.mirrorFindings, c.configFindings...)
}

func (c *checker) mirrorProblem(rule string, severity Severity, p Place, message, fix string) {
	c.mirrorFindings = append(c.mirrorFindings, finding{Finding{Rule: rule, Severity: severity, Message: message, Fix: fix}, p})
}

func (c *checker) configProblem(rule string, severity Severity, p Place, message, fix string) {
	c.configFindings = append(c.configFindings, finding{Finding{Rule: rule, Severity: severity, Message: message, Fix: fix}, p})
}

func mirrorPlace(name, field string) Place { return Place{"mirrors", name, field} }
func configPlace(key, field string) Place  { return Place{"config", key, field} }

// endpoints of the user, without the image cache's.
func (c *checker) endpoints(name string) []endpoint {
	es := c.node.mirrors[name].endpoints
	return es[len(es)-len(c.set.Mirrors[name].Endpoints):]
}

func (c *checker) index(name string) {
	for _, e := range c.endpoints(name) {
		if len(e.problems) > 0 {
			continue
		}
		use := c.hosts[e.u.Host]
		if e.u.Scheme == "http" {
			use.http = true
		} else {
			use.https = true
		}
		c.hosts[e.u.Host] = use
		if noPath(e.u.Path) && e.u.Host != defaultHost(name) {
			at := wholeRegistry(e)
			switch first, ok := c.first[at]; {
			case !ok:
				c.first[at] = name
			case first == name:
			default:
				names := c.shared[at]
				if names == nil {
					names = []string{first}
				}
				if names[len(names)-1] != name {
					c.shared[at] = append(names, name)
				}
			}
		}
	}
}

// noPath reports whether the URL is that of a whole registry.
func noPath(p string) bool { return p == "" || p == "/" || p == "/v2" || p == "/v2/" }

// wholeRegistry is the same for all spellings of a URL without a path.
func wholeRegistry(e endpoint) string {
	if e.u.Path == "" && !strings.HasSuffix(e.URL, ":443") && !strings.HasSuffix(e.URL, ":80") {
		return strings.ToLower(e.URL) // mostly itself
	}
	standard := ":443"
	if e.u.Scheme == "http" {
		standard = ":80"
	}
	return e.u.Scheme + "://" + strings.TrimSuffix(strings.ToLower(e.u.Host), standard)
}

// hostname cuts the port off, and leaves an IPv6 address without brackets alone.
func hostname(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.IndexByte(host, ']') > i || host[0] != '[' && strings.IndexByte(host, ':') != i {
		return host
	}
	return host[:i]
}

func (c *checker) versions() {
	form := c.inForm()
	if form != "" && form != "legacy" && form != "documents" {
		c.mirrorProblem(RuleVersionFeature, SeverityError, Place{}, fmt.Sprintf("unknown form %q", form), "want legacy or documents")
	}
	if c.version.before(1, 3, 0) {
		c.mirrorProblem(RuleVersionFeature, SeverityError, Place{},
			fmt.Sprintf("Talos %s is too old: its patches and its hosts files follow other rules", c.version), "want Talos 1.3 or later")
	}
	if form == "documents" && c.version.before(1, 12, 0) {
		c.mirrorProblem(RuleVersionFeature, SeverityError, Place{},
			fmt.Sprintf("Talos %s does not know the document form", c.version), "want Talos 1.12.0 or later, or the legacy form")
	}
}

func (c *checker) mirror(name string, m Mirror) {
	c.registryName(name)
	es := c.endpoints(name)
	tooOld := func(field, what string, major, minor int, since string) {
		if c.version.before(major, minor, 0) {
			c.mirrorProblem(RuleVersionFeature, SeverityError, mirrorPlace(name, field),
				fmt.Sprintf("Talos %s does not know %s", c.version, what), "want Talos "+since+" or later")
		}
	}
	if name == "*" {
		tooOld("", `the mirror "*"`, 1, 4, "1.4")
	}
	mixed := -1
	for i, e := range es {
		c.endpoint(name, i, e)
		if e.OverridePath {
			if c.version.before(1, 3, 0) {
				tooOld(fmt.Sprintf("endpoints[%d].overridePath", i), "overridePath", 1, 3, "1.3")
			}
		}
		if len(e.problems) == 0 && strings.HasPrefix(e.u.Host, "[") && c.version.before(1, 8, 0) {
			tooOld(fmt.Sprintf("endpoints[%d]", i), "endpoints with an IPv6 address (its containerd cannot read them)", 1, 8, "1.8")
		}
		if mixed < 0 && e.OverridePath != es[0].OverridePath {
			mixed = i
		}
	}
	c.duplicates(name, m)
	if mixed >= 0 && c.inForm() == "legacy" {
		c.mirrorProblem(RuleLegacyOverride, SeverityError, mirrorPlace(name, fmt.Sprintf("endpoints[%d].overridePath", mixed)),
			fmt.Sprintf("overridePath is %t here and %t at endpoints[0]; the legacy form has it once for a mirror", es[mixed].OverridePath, es[0].OverridePath),
			"want the same for all endpoints of a mirror, or the document form (Talos 1.12.2 and later)")
	}
	if m.SkipFallback {
		tooOld("skipFallback", "skipFallback", 1, 9, "1.9")
		if len(es) == 0 {
			if c.imageCache {
				c.mirrorProblem(RuleSkipFallbackAlone, SeverityInfo, mirrorPlace(name, "skipFallback"),
					"skipFallback and no endpoint: only images of the image cache can be pulled", "")
			} else {
				c.explained[name] = true
				c.mirrorProblem(RuleSkipFallbackAlone, SeverityError, mirrorPlace(name, "skipFallback"),
					"skipFallback and no endpoint: machined refuses to pull, containerd goes to the upstream",
					"want an endpoint, or no skipFallback; it makes sense with the image cache only")
			}
		}
	} else {
		c.fallbackTLS(name, es)
	}
}

// registryName judges a key of mirrors.
func (c *checker) registryName(name string) {
	p := mirrorPlace(name, "")
	switch name {
	case "*":
		return
	case "index.docker.io", hubHost, "hub.docker.com":
		c.explained[name] = true
		c.mirrorProblem(RuleRegistryAlias, SeverityError, p,
			aliasReason(name),
			fmt.Sprintf("want the key %q", hubName))
		return
	}
	if reason, fix := badRegistryName(name); reason != "" {
		c.explained[name] = true
		c.mirrorProblem(RuleRegistryName, SeverityError, p, reason, fix)
	}
}

// aliasReason says what containerd and machined make of a name of Docker Hub: of
// the others a reference's index.docker.io alone is taken for docker.io.
func aliasReason(name string) string {
	switch name {
	case "index.docker.io":
		return fmt.Sprintf("images of Docker Hub have the registry %q, also where their reference says index.docker.io: this mirror is never used", hubName)
	case hubHost:
		return fmt.Sprintf("images of Docker Hub have the registry %q: this mirror is used only where a reference itself says %s", hubName, hubHost)
	}
	return fmt.Sprintf("images of Docker Hub have the registry %q, and %s serves none", hubName, name)
}

// badRegistryName says why no image reference has this registry.
func badRegistryName(name string) (reason, fix string) {
	const want = "want host or host:port, such as ghcr.io"
	switch {
	case name == "":
		return "the name of the registry is empty", `want host or host:port, such as ghcr.io, or "*"`
	case strings.Contains(name, "@"):
		return "a registry has no credentials, and no @", want // what stands before the @ may be a password
	case strings.Contains(name, "://"):
		_, rest, _ := strings.Cut(name, "://")
		host, _, _ := strings.Cut(rest, "/")
		if r, _ := badRegistryName(host); r == "" {
			return "a registry has no scheme", fmt.Sprintf("want the key %q", hubAlias(host))
		}
		return "a registry has no scheme", want
	case strings.Contains(name, "/"):
		host, _, _ := strings.Cut(name, "/")
		fix = want
		if r, _ := badRegistryName(host); r == "" {
			fix = fmt.Sprintf("want the key %q; a mirror is for a whole registry", hubAlias(host))
		}
		return "a registry has no path", fix
	case strings.Contains(name, "*"):
		return "a pattern matches nothing: keys are literal", `want each registry by its name, or "*" alone for all that have no mirror of their own`
	case strings.ToLower(name) != name:
		if r, _ := badRegistryName(strings.ToLower(name)); r != "" {
			return "a registry is spelled in lower case in image references", want
		}
		return "a registry is spelled in lower case in image references", fmt.Sprintf("want the key %q", strings.ToLower(name))
	}
	host, port := name, ""
	if h := hostname(name); h != name {
		host, port = h, name[len(h)+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Sprintf("%s is not a port", quote(port)), "want a number from 1 to 65535"
		}
	}
	if strings.HasPrefix(host, "[") {
		ip, err := netip.ParseAddr(strings.TrimSuffix(host[1:], "]"))
		if err != nil || !strings.HasSuffix(host, "]") || !ip.Is6() || ip.Zone() != "" || ip.Is4In6() && strings.Contains(host, ".") {
			return fmt.Sprintf("%s is not an IPv6 address in brackets", quote(host)), want
		}
		return "", ""
	}
	if strings.Count(host, ":") > 0 {
		if _, err := netip.ParseAddr(host); err == nil {
			return "an IPv6 address without brackets", fmt.Sprintf("want the key %q", "["+host+"]")
		}
		return "several colons", want
	}
	start := 0
	for i := 0; i <= len(host); i++ {
		if i < len(host) && host[i] != '.' {
			b := host[i]
			if (b < 'a' || b > 'z') && (b < '0' || b > '9') && b != '-' {
				r := []rune(host[i:])[0]
				return fmt.Sprintf("%q is no character of a registry's name", string(r)), want
			}
			continue
		}
		if label := host[start:i]; label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Sprintf("%s is not a host", quote(host)), want
		}
		start = i + 1
	}
	if port == "" && host != "localhost" && !strings.Contains(host, ".") {
		return fmt.Sprintf("an image reference takes %q for a part of a Docker Hub name: it has no dot and no port", name), want
	}
	return "", ""
}

// hubAlias is the registry that a name of Docker Hub stands for.
func hubAlias(host string) string {
	switch host {
	case "index.docker.io", hubHost, "hub.docker.com":
		return hubName
	}
	return host
}

func (c *checker) endpoint(name string, i int, e endpoint) {
	at := func() Place { return endpointPlace(name, i) }
	if len(e.problems) > 0 {
		c.explained[name] = true
		for _, p := range e.problems {
			c.mirrorProblem(p.rule, SeverityError, at(), p.message, p.fix)
		}
		return
	}
	if s := canonical(e.URL, e.u); s != e.URL {
		severity, consequence := SeverityWarning, "is not spelled as Talos's documents would have it"
		if c.inForm() == "documents" {
			severity, consequence = SeverityError, "is written otherwise by Talos"
		} else if !strings.HasPrefix(e.URL, "http") {
			consequence = "has a scheme that containerd does not recognize: it puts https:// before it"
		}
		c.explained[name] = true // in document form Talos corrects it, in legacy form containerd does not see a scheme in HTTPS
		c.mirrorProblem(RuleEndpointCanonical, severity, at(), quote(e.URL)+" "+consequence, "want "+strconv.Quote(s))
	}
	c.path(e, at)
	if !noPath(e.u.Path) {
		// a project, or a repository, of its own
	} else if u := c.shared[wholeRegistry(e)]; len(u) > 1 && u[1] == name || name == "*" && c.first[wholeRegistry(e)] == name {
		fix := "want one endpoint for each upstream, by port or path; or a cache that heeds ?ns=, which both pullers send"
		if name == "*" {
			c.mirrorProblem(RuleSharedEndpoint, SeverityWarning, at(),
				fmt.Sprintf("%s stands in for every registry: a plain pull-through cache knows one upstream only", quote(e.URL)), fix)
		} else {
			c.mirrorProblem(RuleSharedEndpoint, SeverityWarning, at(),
				fmt.Sprintf("%s stands in for several registries (%s): a plain pull-through cache knows one upstream only", quote(e.URL), someNames(u)), fix)
		}
	}
	if why := nodeLocal(e.u.Hostname()); why != "" {
		c.mirrorProblem(RuleNodeUnreachable, SeverityInfo, at(), fmt.Sprintf("%q %s", e.u.Hostname(), why), "")
	}
}

func someNames(names []string) string {
	const most = 4
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = quote(n)
	}
	return strings.Join(quoted, ", ") + more
}

// nodeLocal says why a node may not reach a host that a pod does.
func nodeLocal(host string) string {
	h := strings.TrimSuffix(strings.ToLower(host), ".")
	if h == "localhost" || strings.HasSuffix(h, ".localhost") {
		return "is the node itself: something has to listen there before anything is pulled"
	}
	if ip, err := netip.ParseAddr(h); err == nil {
		if ip.Unmap().IsLoopback() {
			return "is the node itself: something has to listen there before anything is pulled"
		}
		return ""
	}
	if strings.HasSuffix(h, ".svc") || strings.HasSuffix(h, ".cluster.local") || strings.Contains(h, ".svc.") {
		return "is a name of the cluster's DNS, which a node does not ask: its own resolver has to know the name"
	}
	return ""
}

// canonical is the URL as Talos 1.13.9 writes it into a document.
func canonical(raw string, u *url.URL) string {
	for i := range len(raw) {
		b := raw[i]
		if 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '/' || b == '.' || b == ':' || b == '-' || b == '_' || b == '[' || b == ']' ||
			i >= 5 && 'A' <= b && b <= 'Z' {
			continue
		}
		return u.String()
	}
	return raw
}

// path judges the path of an endpoint against its overridePath.
func (c *checker) path(e endpoint, at func() Place) {
	p := e.u.Path
	if p != "" {
		p = path.Clean(p)
	}
	switch {
	case projectPath(e.Endpoint, e.u):
		c.mirrorProblem(RuleEndpointPath, SeverityError, at(),
			fmt.Sprintf("without overridePath the node asks for %q", apiPath(e.u.Path, false)), "want overridePath: true")
	case e.OverridePath && (p == "" || p == "/"):
		c.mirrorProblem(RuleOverridePath, SeverityError, overridePlace(at()),
			"overridePath and no path: the node asks for the root of the server, where no registry answers", "want no overridePath, or a path such as /v2/project")
	case e.OverridePath && !strings.Contains(p+"/", "/v2/"):
		c.mirrorProblem(RuleOverridePath, SeverityError, overridePlace(at()),
			fmt.Sprintf("overridePath and the path %q without a v2 in it: the node asks there for the registry API", p),
			fmt.Sprintf("want the path %q, or no overridePath", "/v2"+p))
	}
}

// projectPath reports whether /v2 is appended to a path that has it inside.
func projectPath(e Endpoint, u *url.URL) bool {
	if e.OverridePath || u.Path == "" {
		return false
	}
	p := path.Clean(u.Path)
	return !strings.HasSuffix(p, "/v2") && strings.Contains(p, "/v2/")
}

func endpointPlace(mirror string, i int) Place {
	return mirrorPlace(mirror, "endpoints["+strconv.Itoa(i)+"]")
}

func overridePlace(p Place) Place {
	p.Field += ".overridePath"
	return p
}

// duplicates reports each URL that is there before, and URLs that only look different.
func (c *checker) duplicates(name string, m Mirror) {
	es := m.Endpoints
	if len(es) < 2 {
		return
	}
	if len(es) == 2 && es[0].URL != es[1].URL && looseURL(es[0].URL) != looseURL(es[1].URL) {
		return // the common case needs no maps
	}
	exact := make(map[string]int, len(es))
	loose := make(map[string]int, len(es))
	for i, e := range es {
		at := func() Place { return endpointPlace(name, i) }
		if e.URL == "" {
			continue // it has a finding of its own
		}
		if first, ok := exact[e.URL]; ok {
			c.explained[name] = true
			what := "containerd then ignores every mirror of this registry"
			if m.SkipFallback && i == len(es)-1 && len(exact) == i && first >= 0 {
				what = "it is tried twice" // the last one is no table of the hosts file
			}
			c.mirrorProblem(RuleEndpointDuplicate, SeverityError, at(),
				fmt.Sprintf("%s is endpoints[%d] as well; %s", quote(e.URL), first, what), "want each URL once")
			continue
		}
		exact[e.URL] = i
		key := looseURL(e.URL)
		if first, ok := loose[key]; ok {
			c.mirrorProblem(RuleEndpointDuplicate, SeverityWarning, at(),
				fmt.Sprintf("%s is the same place as endpoints[%d], %s", quote(e.URL), first, quote(es[first].URL)),
				"want each place once")
			continue
		}
		loose[key] = i
	}
}

// looseURL is a URL without the difference of a trailing slash and of case in scheme and host.
func looseURL(raw string) string {
	host := len(raw)
	if i := strings.Index(raw, "://"); i >= 0 {
		if j := strings.IndexByte(raw[i+3:], '/'); j >= 0 {
			host = i + 3 + j
		}
	}
	return strings.ToLower(raw[:host]) + strings.TrimRight(raw[host:], "/")
}

// fallbackTLS reports an upstream whose TLS settings containerd does not apply.
func (c *checker) fallbackTLS(name string, es []endpoint) {
	host := defaultHost(name)
	if name == "*" || !c.set.Config[host].TLS.says() {
		return
	}
	for _, e := range es {
		if len(e.problems) == 0 && e.u.Host == host {
			return
		}
	}
	c.explained[name] = true
	c.mirrorProblem(RuleFallbackTLS, SeverityWarning, mirrorPlace(name, ""),
		fmt.Sprintf("containerd does not apply the TLS settings of config[%q] when it falls back to %s; machined does", host, host),
		fmt.Sprintf("want %q as the last endpoint, and skipFallback: true", "https://"+host))
}

// config judges one host's settings.
func (c *checker) config(key string, h HostConfig) {
	c.configKey(key, h)
	if a := h.Auth; a != nil {
		c.auth(key, a)
	}
	t := h.TLS
	if t == nil {
		return
	}
	if c.hosts[key].http {
		c.configProblem(RuleTLSOnHttp, SeverityError, configPlace(key, "tls"),
			fmt.Sprintf("an endpoint is http://%s: machined refuses TLS settings for it and pulls nothing from that mirror on", key),
			fmt.Sprintf("want https://%s as the endpoint, or no tls", key))
	}
	c.tls(key, t)
	if c.version.known() && c.inForm() == "documents" && t.ClientIdentity == nil &&
		!c.version.before(1, 12, 0) && c.version.before(1, 12, 2) {
		c.configProblem(RuleVersionFeature, SeverityError, configPlace(key, "tls"),
			fmt.Sprintf("Talos %s panics on a RegistryTLSConfig without clientIdentity", c.version), "want Talos 1.12.2 or later, or the legacy form")
	}
}

func (c *checker) configKey(key string, h HostConfig) {
	p := configPlace(key, "")
	if key == "*" {
		if h.TLS != nil {
			c.configProblem(RuleTLSWildcard, SeverityError, configPlace(key, "tls"),
				`TLS settings for "*" are not supported: Talos then writes no hosts files for containerd, for any registry, or ignores them`,
				"want a key for each host")
		}
		if h.Auth != nil || h.TLS == nil {
			c.configProblem(RuleAuthWildcard, SeverityError, configPlace(key, "auth"),
				`credentials for "*" are never used: keys are literal`, "want a key for each host")
		}
		return
	}
	if reason, fix := c.badConfigKey(key); reason != "" {
		c.configProblem(RuleConfigKey, SeverityError, p, reason, fix)
		return
	}
	hub := c.set.Mirrors[hubName]
	_, asEndpoint := c.hosts[hubName]
	if key == hubName && h.Auth.usable() && (asEndpoint || !hub.SkipFallback || len(hub.Endpoints) == 0) {
		if c.set.Config[hubHost].Auth == nil { // with it, be it empty, containerd does not use these
			c.explained[hubName], c.explained["*"] = true, true
			message := fmt.Sprintf("containerd uses these credentials for Docker Hub, machined does not: to it the host is %q", hubHost)
			if c.version.before(1, 9, 6) {
				message = fmt.Sprintf("before Talos 1.9.6 neither puller uses these credentials for Docker Hub: to both the host is %q", hubHost)
			}
			c.configProblem(RuleHubAuthKey, SeverityWarning, configPlace(key, "auth"), message,
				fmt.Sprintf("want the key %q, which works for both", hubHost))
		}
		if !h.TLS.says() {
			return
		}
	}
	if _, used := c.hosts[key]; !used {
		c.unused(key, h)
		c.bypassed(key, h)
	}
}

func (c *checker) badConfigKey(key string) (reason, fix string) {
	if key == "" {
		return "the name of the host is empty", "want the host of an endpoint"
	}
	host := key
	switch {
	case strings.Contains(key, "://"):
		_, host, _ = strings.Cut(key, "://")
		host, _, _ = strings.Cut(host, "/")
		reason = "a key of config has no scheme: it is the host of an endpoint"
	case strings.ContainsAny(key, "/"):
		host, _, _ = strings.Cut(key, "/")
		reason = "a key of config has no path: it is the host of an endpoint"
	case strings.ContainsAny(key, "@?#") || badCharacter(key) != nil:
		return "this is not a host", "want the host of an endpoint, with its port, such as cache.example.com:5000"
	default:
		return "", ""
	}
	if hubAlias(host) == hubName {
		host = hubHost
	}
	if badAuthority(host) != nil || strings.Contains(key, "@") {
		return reason, "want the host of an endpoint, with its port, such as cache.example.com:5000"
	}
	return reason, fmt.Sprintf("want %q", host)
}

// unused reports a key that no endpoint has and that is no registry which is
// pulled from directly. Whether a registry is, only the images know; what
// looks like an endpoint's host and is not spelled the same is taken for a mistake.
func (c *checker) unused(key string, h HostConfig) {
	p := configPlace(key, "")
	what := "no endpoint has this host"
	if key != hubHost && key != hubName && hubAlias(key) == hubName {
		c.configProblem(RuleConfigUnused, SeverityWarning, p, "neither puller asks this host for images of Docker Hub", fmt.Sprintf("want the key %q", hubHost))
		return
	}
	registry := key
	if key == hubHost {
		registry = hubName
	}
	m, mirrored := c.set.Mirrors[registry]
	all, wildcard := c.set.Mirrors["*"]
	if near := c.nearest(key); near != "" && near != key && !(mirrored && !m.SkipFallback) {
		if own, ok := c.set.Config[near]; !ok || own.Auth == nil && h.Auth != nil || own.TLS == nil && h.TLS != nil {
			message, fix := what+", spelled this way", fmt.Sprintf("want %q, as the endpoint's URL has it", near)
			if _, ok := c.hosts[near]; !ok {
				message, fix = "no node asks a host that is spelled this way", fmt.Sprintf("want %q, the host of the registry", near)
			}
			c.configProblem(RuleConfigUnused, SeverityWarning, p, message, fix)
			return
		}
	}
	fix := "want the host of an endpoint, exactly as its URL has it"
	if mirrored && len(m.Endpoints) > 0 {
		if e := c.endpoints(registry)[0]; len(e.problems) == 0 {
			fix = fmt.Sprintf("want the host of the endpoint, %q", e.u.Host)
		}
	}
	switch {
	case mirrored && m.SkipFallback && len(m.Endpoints) > 0:
		c.configProblem(RuleConfigUnused, SeverityWarning, p,
			"no endpoint has this host, and skipFallback keeps the node from this registry itself", fix)
	case key == hubName && mirrored && h.TLS.says():
		c.configProblem(RuleConfigUnused, SeverityWarning, p,
			"TLS settings under docker.io are not used: the registry has mirrors, and the host of its upstream is registry-1.docker.io", fix)
	case !mirrored && wildcard && all.SkipFallback && len(all.Endpoints) > 0 && !h.TLS.says():
		c.configProblem(RuleConfigUnused, SeverityWarning, p,
			`no endpoint has this host, and skipFallback of "*" keeps the node from this registry itself`, fix)
	default:
		if reason, _ := badRegistryName(key); reason != "" {
			if _, err := netip.ParseAddr(key); err == nil && strings.Contains(key, ":") {
				fix = fmt.Sprintf("want %q", "["+key+"]")
			}
			c.configProblem(RuleConfigUnused, SeverityWarning, p, what+", and it is no registry that an image can name: "+reason, fix)
		}
	}
}

// bypassed reports a host that has a hosts directory of its own, and so is not sent to "*".
func (c *checker) bypassed(key string, h HostConfig) {
	if _, wildcard := c.node.mirrors["*"]; !wildcard || !h.TLS.says() {
		return
	}
	if _, ok := c.node.tlsOnly[hostDirectory(key)]; !ok {
		return
	}
	if reason, _ := badRegistryName(key); reason != "" || key == hubHost {
		return
	}
	c.explained[key] = true
	what := `the "*" mirror`
	if _, ok := c.set.Mirrors["*"]; !ok {
		what = "the image cache"
	}
	c.configProblem(RuleWildcardBypassed, SeverityWarning, configPlace(key, "tls"),
		fmt.Sprintf("a host with TLS settings and no mirror of its own: containerd goes to it directly, past %s; machined does not", what),
		fmt.Sprintf("want mirrors[%q] with the endpoints that it should have", key))
}

func (c *checker) auth(key string, a *Auth) {
	p := configPlace(key, "auth")
	switch {
	case !a.usable() && a.Password.IsZero():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "no credentials: machined refuses to pull, containerd pulls without any",
			"want username and password, identityToken or auth; or no auth at all")
	case !a.usable():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "a password without username", "want both")
	case a.Username != "" && a.Password.IsZero() && a.Auth.IsZero() && a.IdentityToken.IsZero():
		c.configProblem(RuleAuthIncomplete, SeverityError, p, "a username without password: no puller sends it", "want both")
	}
	var have []string
	for _, f := range []struct {
		name string
		is   bool
	}{{"username", a.Username != ""}, {"auth", !a.Auth.IsZero()}, {"identityToken", !a.IdentityToken.IsZero()}} {
		if f.is {
			have = append(have, f.name)
		}
	}
	if len(have) > 1 {
		c.configProblem(RuleAuthConflict, SeverityError, p, strings.Join(have, " beside ")+": Talos refuses it in documents, and uses one of them in the legacy form",
			"want one of username and password, identityToken, auth")
	} else if len(have) == 1 && have[0] != "username" && !a.Password.IsZero() {
		c.configProblem(RuleAuthConflict, SeverityError, p, "password beside "+have[0]+": the password is not used", "want one of username and password, identityToken, auth")
	}
	password := a.Password.Reveal()
	if !a.Auth.IsZero() {
		user, pass, ok := "", "", false
		b, err := base64.StdEncoding.DecodeString(a.Auth.Reveal())
		if err == nil {
			user, pass, ok = strings.Cut(string(b), ":")
		}
		if !ok || user == "" || pass == "" {
			c.configProblem(RuleAuthEncoding, SeverityError, configPlace(key, "auth.auth"), `not base64 of "user:password"`,
				`want what "printf %s user:password | base64" prints, or username and password`)
		} else if isPlaceholder(user) || isPlaceholder(pass) {
			c.placeholder(key, "auth.auth")
		}
	}
	if isPlaceholder(a.Username) {
		c.placeholder(key, "auth.username")
	}
	if isPlaceholder(password) {
		c.placeholder(key, "auth.password")
	}
	if isPlaceholder(a.IdentityToken.Reveal()) {
		c.placeholder(key, "auth.identityToken")
	}
	if a.usable() && c.hosts[key].http {
		if ip, err := netip.ParseAddr(strings.Trim(hostname(key), "[]")); hostname(key) != "localhost" && (err != nil || !ip.IsLoopback()) {
			c.configProblem(RuleHttpCredentials, SeverityWarning, p, fmt.Sprintf("an endpoint is http://%s: the credentials cross the network as they are", key),
				fmt.Sprintf("want https://%s as the endpoint", key))
		}
	}
}

func (c *checker) placeholder(key, field string) {
	c.configProblem(RulePlaceholderSecret, SeverityWarning, configPlace(key, field), "this looks like a placeholder, not like the value", "want the value itself")
}

var placeholderPunctuation = strings.NewReplacer("-", "", "_", "", " ", "")

// isPlaceholder recognizes what templates and examples have in place of a secret.
func isPlaceholder(s string) bool {
	if s == "" {
		return false
	}
	l := strings.ToLower(s)
	switch placeholderPunctuation.Replace(l) {
	case "changeme", "changeit", "replaceme", "todo", "redacted", "placeholder", "yourpassword", "yourusername", "yourtoken":
		return true
	}
	between := func(open, end string) bool {
		return strings.HasPrefix(s, open) && strings.HasSuffix(s, end) && len(s) > len(open)+len(end)
	}
	if between("<", ">") || between("${", "}") || between("{{", "}}") || between("[", "]") && l == "[redacted]" {
		return true
	}
	return len(s) >= 3 && (strings.Trim(l, "x") == "" || strings.Trim(s, "*") == "" || strings.Trim(s, ".") == "")
}

func (c *checker) tls(key string, t *TLS) {
	if t.InsecureSkipVerify {
		c.configProblem(RuleInsecureSkipVerify, SeverityWarning, configPlace(key, "tls.insecureSkipVerify"),
			"the certificate is not verified: whoever is in between can hand out any image", "want ca with the certificate of the host's CA")
	}
	if t.CA != "" {
		certs, reason := certificates(string(t.CA))
		if reason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.ca"), reason, "want certificates as PEM, or base64 of that")
		} else {
			c.validity(configPlace(key, "tls.ca"), certs, true)
		}
	}
	id := t.ClientIdentity
	if id == nil {
		return
	}
	p := configPlace(key, "tls.clientIdentity")
	if id.Certificate == "" || id.Key.IsZero() {
		what := "crt and key are both missing"
		if id.Certificate != "" {
			what = "crt without key"
		} else if !id.Key.IsZero() {
			what = "key without crt"
		}
		c.configProblem(RuleClientIdentity, SeverityError, p, what, "want both, or no clientIdentity")
	}
	var certs []*x509.Certificate
	reason, keyReason := "", ""
	if id.Certificate != "" {
		if certs, reason = certificates(string(id.Certificate)); reason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.clientIdentity.crt"), reason, "want certificates as PEM, or base64 of that")
		} else {
			c.validity(configPlace(key, "tls.clientIdentity.crt"), certs[:1], false)
		}
	}
	if !id.Key.IsZero() {
		if keyReason = badKey(id.Key.Reveal()); keyReason != "" {
			c.configProblem(RulePEMInvalid, SeverityError, configPlace(key, "tls.clientIdentity.key"), keyReason, "want an unencrypted private key as PEM, or base64 of that")
		}
	}
	if id.Certificate == "" || id.Key.IsZero() || reason != "" || keyReason != "" {
		return
	}
	if _, err := tls.X509KeyPair([]byte(id.Certificate), []byte(id.Key.Reveal())); err != nil {
		c.configProblem(RuleClientIdentity, SeverityError, p, "key and certificate do not belong together", "want the key that crt was made for")
	}
}

// certificates reads the certificates of a PEM text. The reason holds nothing of the text.
func certificates(text string) (certs []*x509.Certificate, reason string) {
	rest := []byte(text)
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type != "CERTIFICATE" {
			return nil, "PEM of another kind: " + pemKind(b.Type)
		}
		cert, err := x509.ParseCertificate(b.Bytes)
		if err != nil {
			return nil, "a certificate that does not parse"
		}
		certs = append(certs, cert)
	}
	switch {
	case certs == nil && isPEM(text):
		return nil, "damaged PEM"
	case certs == nil:
		return nil, "not PEM"
	case isPEM(string(rest)):
		return nil, "damaged PEM after the first certificates"
	}
	return certs, ""
}

// pemKind names a kind of PEM; what it does not know may be anything, and is not shown.
func pemKind(t string) string {
	switch t {
	case "CERTIFICATE REQUEST", "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "PUBLIC KEY",
		"X509 CRL", "TRUSTED CERTIFICATE", "CERTIFICATE", "OPENSSH PRIVATE KEY", "EC PARAMETERS", "PKCS7":
		return strconv.Quote(t)
	}
	return "not a certificate"
}

func badKey(text string) string {
	rest := []byte(text)
	seen := ""
	for {
		var b *pem.Block
		if b, rest = pem.Decode(rest); b == nil {
			break
		}
		if b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != "" {
			return "an encrypted private key"
		}
		if b.Type != "PRIVATE KEY" && !strings.HasSuffix(b.Type, " PRIVATE KEY") {
			seen = b.Type
			continue
		}
		if _, err := x509.ParsePKCS8PrivateKey(b.Bytes); err == nil {
			return ""
		}
		if _, err := x509.ParsePKCS1PrivateKey(b.Bytes); err == nil {
			return ""
		}
		if _, err := x509.ParseECPrivateKey(b.Bytes); err == nil {
			return ""
		}
		return "a private key that does not parse"
	}
	switch {
	case seen != "":
		return "PEM of another kind: " + pemKind(seen)
	case isPEM(text):
		return "damaged PEM"
	}
	return "not PEM"
}

// validity reports certificates of which none is valid. One that is old beside
// one that is not is how a CA is replaced.
func (c *checker) validity(p Place, certs []*x509.Certificate, bundle bool) {
	var message string
	for _, cert := range certs {
		switch {
		case c.now.After(cert.NotAfter):
			message = "the certificate expired on " + cert.NotAfter.UTC().Format("2006-01-02")
		case c.now.Before(cert.NotBefore):
			message = "the certificate is not valid before " + cert.NotBefore.UTC().Format("2006-01-02")
		default:
			return
		}
	}
	if bundle && len(certs) > 1 {
		message = "none of the certificates is valid; of the last, " + message
	}
	c.configProblem(RuleCertificateExpired, SeverityWarning, p, message, "want a certificate that is valid now")
}

// pullers compares what the two pullers do, for each registry that the Set names.
func (c *checker) pullers() {
	if c.node.hostsError != "" {
		return // another rule says so, and it holds for every registry
	}
	var hops [2][]hop
	judge := func(registry string, p Place) {
		if c.explained[registry] {
			return
		}
		cd := c.node.containerd(registry, hops[0])
		m := c.node.machined(registry, hops[1])
		hops = [2][]hop{cd.hops, m.hops} // used again
		if cd.rule != "" || m.rule != "" || !c.node.differ(cd, m) {
			return // an error has a rule of its own
		}
		fix := ""
		if registry == hubName && len(c.set.Mirrors[hubName].Endpoints) == 0 {
			fix = "want the same settings under docker.io and registry-1.docker.io"
		}
		f := finding{Finding{Rule: RulePullerDiffers, Severity: SeverityWarning,
			Message: "containerd and machined do not do the same: " + strings.Join(c.node.why(registry, cd, m), "; "), Fix: fix}, p}
		if p.Section == "config" {
			c.configFindings = append(c.configFindings, f)
		} else {
			c.mirrorFindings = append(c.mirrorFindings, f)
		}
	}
	for _, name := range c.node.names {
		if _, ok := c.set.Mirrors[name]; ok && name != "*" {
			judge(name, mirrorPlace(name, ""))
		}
	}
	for _, key := range c.keys {
		if _, mirrored := c.set.Mirrors[key]; mirrored {
			continue
		}
		if key == hubHost {
			key = hubName
			if _, both := c.set.Config[hubName]; both || c.set.Mirrors[hubName].Endpoints != nil {
				continue
			}
			judge(hubName, configPlace(hubHost, ""))
			continue
		}
		if _, endpoint := c.hosts[key]; endpoint || isLocalhost(key) {
			continue // images seldom name the host of an endpoint, or the node itself
		}
		if reason, _ := badRegistryName(key); reason == "" {
			judge(key, configPlace(key, ""))
		}
	}
}

// localRules are those that judge one value by itself, and so hold for a Set
// that was read in part.
var localRules = map[string]bool{
	RuleEndpointSyntax: true, RuleEndpointScheme: true, RuleEndpointUserinfo: true, RuleEndpointQuery: true,
	RuleEndpointDuplicate: true, RuleRegistryName: true, RuleRegistryAlias: true, RuleConfigKey: true,
	RuleTLSWildcard: true, RuleAuthWildcard: true, RuleAuthEncoding: true, RulePEMInvalid: true,
}
