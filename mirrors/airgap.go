package mirrors

import "strings"

const (
	// LeakNoMirror is the Rule of a Leak where neither the registry nor "*" has a mirror.
	LeakNoMirror = "no-mirror"
	// LeakFallback is the Rule of a Leak where the mirror has no skipFallback.
	LeakFallback = "fallback"
)

// Leak is a way of a node to something that no endpoint names.
type Leak struct {
	Image    string `json:"image"`
	Registry string `json:"registry"`
	Puller   string `json:"puller"` // "containerd" or "machined"
	URL      string `json:"url"`    // the base URL that is asked

	// Rule is what opens the way: LeakNoMirror, LeakFallback, or the rule of
	// Set.Check that finds the mistake behind it, such as endpoint-duplicate,
	// skip-fallback-alone or wildcard-bypassed.
	Rule   string `json:"rule"`
	Reason string `json:"reason"` // in words
}

// AirGapped lists every way on which a node that pulls one of the images asks a
// host that is not the host of an endpoint, for both pullers. With none, the Set holds the
// images inside the configured endpoints; whether those have the images, or redirect,
// it does not say. The loopback interface is no way out. The error names each
// reference that is none. Of the options only [WithImageCache] matters.
func (s Set) AirGapped(images []string, opts ...CheckOption) ([]Leak, error) {
	registries, err := registriesOf(images)
	if err != nil {
		return nil, err
	}
	n := newNode(s, newFacts(opts))
	inside := map[string]bool{}
	for _, m := range n.mirrors {
		for _, e := range m.endpoints {
			if e.u != nil && e.u.Host != "" {
				inside[e.u.Host] = true
			}
		}
	}
	var leaks []Leak
	for i, image := range images {
		registry := registries[i]
		for _, p := range []struct {
			name string
			r    route
		}{{"containerd", n.containerd(registry, nil)}, {"machined", n.machined(registry, nil)}} {
			for _, h := range p.r.hops {
				if !h.fallback || inside[h.host] || isLocalhost(h.host) {
					continue
				}
				rule, reason := n.leak(registry, p.r)
				leaks = append(leaks, Leak{Image: image, Registry: registry, Puller: p.name, URL: h.url(), Rule: rule, Reason: reason})
			}
		}
	}
	return leaks, nil
}

// leak says why a route has the upstream in it.
func (n *node) leak(registry string, r route) (rule, reason string) {
	if r.err != "" {
		return r.rule, n.why(registry, r, route{dirKey: r.dirKey})[0]
	}
	switch r.cause {
	case causeTLSOnly:
		if _, ok := n.mirrors["*"]; ok {
			return RuleWildcardBypassed, n.why(registry, r, route{dirKey: r.dirKey})[0]
		}
	case causeMirror:
		m := n.mirrors[r.dirKey]
		if m.skipFallback && len(m.endpoints) == 0 {
			return RuleSkipFallbackAlone, "skipFallback has no effect on containerd without an endpoint"
		}
		if m.skipFallback {
			return RuleEndpointScheme, "containerd finds no host in the last endpoint and puts the upstream in its place"
		}
		if _, ok := n.set.Mirrors[r.dirKey]; !ok {
			return LeakFallback, "there is only the image cache before the registry, and no mirror with skipFallback"
		}
		return LeakFallback, "the mirror " + quote(r.dirKey) + " has no skipFallback"
	}
	if near, ok := n.misnamed()[strings.ToLower(registry)]; ok {
		return near.rule, "the mirror " + quote(near.name) + " is not used for " + registry
	}
	return LeakNoMirror, "no mirror has the key " + quote(registry) + `, and there is no "*"`
}

// misnamed is a key of mirrors that is not the registry it is meant for.
type misnamed struct{ name, rule string }

// misnamed returns the first of them for each registry, which is in lower case.
func (n *node) misnamed() map[string]misnamed {
	if n.meant != nil {
		return n.meant
	}
	n.meant = make(map[string]misnamed)
	add := func(registry, name, rule string) {
		registry = strings.ToLower(registry)
		if _, ok := n.meant[registry]; !ok {
			n.meant[registry] = misnamed{name, rule}
		}
	}
	for _, name := range n.names {
		if to := hubAlias(name); to != name {
			add(to, name, RuleRegistryAlias)
			continue
		}
		if i := strings.LastIndex(name, "://"); i >= 0 {
			add(name[i+len("://"):], name, RuleRegistryName)
		}
		add(name, name, RuleRegistryName)
	}
	return n.meant
}
