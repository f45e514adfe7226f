package mirrors

import (
	"fmt"
	"net/netip"
	"strings"
)

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
			fmt.Sprintf("an endpoint is http://%s: machined refuses TLS settings for it, and then tries no endpoint of that mirror and not the upstream", key),
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
