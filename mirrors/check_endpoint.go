package mirrors

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

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

func (c *checker) endpoint(name string, i int, e endpoint) {
	at := func() Place { return endpointPlace(name, i) }
	if len(e.problems) > 0 {
		c.explained[name] = true
		for _, p := range e.problems {
			c.mirrorProblem(p.rule, SeverityError, at(), p.message, p.fix)
		}
		return
	}
	if strings.Contains(e.u.Host, "%") {
		// Both take the host as net/url decodes it, and put it as it then is into the URL of a request.
		c.explained[name] = true
		c.mirrorProblem(RuleEndpointSyntax, SeverityError, at(),
			"the IPv6 address has a zone, which no puller can ask: both write the % of it without its escape", "want an address without a zone")
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
