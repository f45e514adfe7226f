package mirrors

import (
	"fmt"
	"maps"
	"slices"
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

func configPlace(key, field string) Place { return Place{"config", key, field} }

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
