package mirrors

import "strings"

// nearHosts are the hosts that nodes ask by what a key of config may have
// instead: another case, no brackets, the default port or none.
type nearHosts struct {
	servers map[server]nearHost // by each spelling of the same server
	ports   map[string]nearHost // by name alone, those with a port of their own
}

// server is a host without case and brackets; the port is empty where none is written.
type server struct{ name, port string }

// nearHost is the first host of those that have one key.
type nearHost struct {
	host    string
	several bool // there are others
	http    bool // one of them is asked by plain HTTP
}

func newServer(host string) server {
	name := hostname(host)
	return server{strings.ToLower(strings.Trim(name, "[]")), strings.TrimPrefix(host[len(name):], ":")}
}

func (n nearHosts) add(host, scheme string) {
	own, standard := newServer(host), "443"
	if scheme == "http" {
		standard = "80"
	}
	addHost(n.servers, own, host, scheme)
	switch own.port {
	case "":
		addHost(n.servers, server{own.name, standard}, host, scheme)
	case standard:
		addHost(n.servers, server{own.name, ""}, host, scheme)
	default:
		addHost(n.ports, own.name, host, scheme)
	}
}

func addHost[K comparable](m map[K]nearHost, key K, host, scheme string) {
	h, ok := m[key]
	if !ok {
		h.host = host
	}
	h.several = h.several || h.host != host
	h.http = h.http || scheme == "http"
	m[key] = h
}

// nearHosts is made when the first key asks for it: most Sets have none that does.
func (c *checker) nearHosts() nearHosts {
	if c.near.servers != nil {
		return c.near
	}
	c.near = nearHosts{servers: make(map[server]nearHost), ports: make(map[string]nearHost)}
	for _, name := range c.node.names {
		m, ok := c.set.Mirrors[name]
		if !ok {
			continue
		}
		for _, e := range c.endpoints(name) {
			if len(e.problems) == 0 {
				c.near.add(e.u.Host, e.u.Scheme)
			}
		}
		if reason, _ := badRegistryName(name); reason == "" && name != "*" && !m.SkipFallback {
			c.near.add(defaultHost(name), "https")
		}
	}
	c.near.add(hubHost, "https")
	addHost(c.near.servers, server{hubName, "443"}, hubHost, "https")
	return c.near
}

// nearest returns the host that a key is likely meant to be, or "": one that is
// the same server, or, for a key without a port, one with a port. Two ports are
// two servers. What is asked by plain HTTP on a port of its own is likely a
// cache beside a registry.
func (c *checker) nearest(key string) string {
	near, s := c.nearHosts(), newServer(key)
	if h, ok := near.servers[s]; ok {
		return h.host
	}
	if h, ok := near.ports[s.name]; ok && s.port == "" {
		if reason, _ := badRegistryName(key); !h.http || reason != "" {
			return h.host
		}
	}
	return ""
}

// sameServer returns the one host that is another spelling of a key, or "".
func (c *checker) sameServer(key string) string {
	h, ok := c.nearHosts().servers[newServer(key)]
	if !ok || h.several {
		return ""
	}
	if use := c.hosts[h.host]; use.http && use.https && !strings.EqualFold(key, h.host) {
		return ""
	}
	return h.host
}
