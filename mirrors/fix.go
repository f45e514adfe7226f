package mirrors

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// Fixed is one change that [Set.Fix] made.
type Fixed struct {
	Rule string `json:"rule"`
	Path string `json:"path"` // as it was before
	What string `json:"what"`
}

// String returns "path: what [rule]".
func (f Fixed) String() string { return f.Path + ": " + f.What + " [" + f.Rule + "]" }

// Fix returns a copy of the Set with the changes made whose outcome is certain,
// and lists them; it asks for nothing and leaves s as it is. Each change answers a
// finding of [Set.Check]. Certain are:
//
//   - endpoint-syntax: white space around a URL goes;
//   - endpoint-canonical: the spelling of Talos, where the host stays the same;
//   - endpoint-duplicate: an endpoint goes that is there before, with the same overridePath;
//   - endpoint-path: overridePath: true where the path has /v2/ inside;
//   - registry-alias, registry-name: docker.io for its other names, lower case, no scheme;
//   - config-key: the host alone;
//   - config-unused: the spelling of the one server that it can only mean, by case, :443 or brackets;
//   - hub-auth-key: the credentials move to registry-1.docker.io.
//
// A key stays when the new one is there already. A change that would bring an error
// to a place that does not have it yet is not made; the others are. The options are
// those of [Set.Check], and the same Check of the result has no error, by rule and
// place, that Check of s does not have.
func (s Set) Fix(opts ...CheckOption) (Set, []Fixed) {
	f := newFixer(s, opts)
	// One change may bring out what another rule finds: a key that is renamed, its settings.
	for range maxPasses {
		if !f.pass() {
			break
		}
	}
	return f.set, f.fixed
}

// maxPasses is more than the rules have steps that follow from each other.
const maxPasses = 20

// fixer is a Set on its way, with what its places were called in the beginning.
type fixer struct {
	set   Set
	fixed []Fixed
	opts  []CheckOption
	facts facts

	mirrors map[string]string // key of mirrors to that of the beginning, where it is another
	config  map[string]string // the same of config
	hubAuth bool              // the credentials of registry-1.docker.io were under docker.io
	indexes map[string][]int  // key of mirrors to the indexes of the beginning, where endpoints are gone
}

func newFixer(s Set, opts []CheckOption) *fixer {
	return &fixer{set: s.DeepCopy(), opts: opts, facts: newFacts(opts),
		mirrors: map[string]string{}, config: map[string]string{}, indexes: map[string][]int{}}
}

func (f *fixer) clone() *fixer {
	g := *f
	g.set, g.fixed = f.set.DeepCopy(), slices.Clone(f.fixed)
	g.mirrors, g.config, g.indexes = maps.Clone(f.mirrors), maps.Clone(f.config), maps.Clone(f.indexes)
	return &g
}

// A change is made to a fixer; it reports nothing when there is nothing to do (any more).
type change func(*fixer)

// pass makes the changes of the first step that has any, and reports whether it did.
func (f *fixer) pass() bool {
	c := newChecker(f.set, f.opts)
	found := c.run()
	before := f.errors(found)
	for _, step := range []func(*checker, []finding) []change{f.repeatChanges, f.endpointChanges, f.mirrorChanges, f.configChanges} {
		n := len(f.fixed)
		f.try(step(c, found), before)
		if len(f.fixed) > n {
			return true
		}
	}
	return false
}

// try makes those of the changes that bring no new error: all together, or when
// they do, half of them and then the other half.
func (f *fixer) try(changes []change, before map[placedRule]int) {
	if len(changes) == 0 {
		return
	}
	g := f.clone()
	for _, do := range changes {
		do(g)
	}
	if len(g.fixed) == len(f.fixed) {
		return
	}
	if !moreErrors(before, g.errors(newChecker(g.set, g.opts).run())) {
		*f = *g
		return
	}
	if half := len(changes) / 2; half > 0 {
		f.try(changes[:half], before)
		f.try(changes[half:], before)
	}
}

// placedRule is a rule at a place.
type placedRule struct {
	rule  string
	place Place
}

// errors counts the findings of severity error by the places of the beginning.
func (f *fixer) errors(found []finding) map[placedRule]int {
	n := map[placedRule]int{}
	for _, x := range found {
		if x.Severity == SeverityError {
			n[placedRule{x.Rule, f.origin(x.place)}]++
		}
	}
	return n
}

func moreErrors(before, after map[placedRule]int) bool {
	for at, n := range after {
		if n > before[at] {
			return true
		}
	}
	return false
}

// origin is what a place was called in the beginning.
func (f *fixer) origin(p Place) Place {
	switch p.Section {
	case "mirrors":
		if i, ok := endpointIndex(p.Field); ok {
			_, rest, _ := strings.Cut(p.Field, "]")
			p.Field = "endpoints[" + strconv.Itoa(f.index(p.Key, i)) + "]" + rest
		}
		if key, ok := f.mirrors[p.Key]; ok {
			p.Key = key
		}
	case "config":
		if f.hubAuth && p.Key == hubHost && strings.HasPrefix(p.Field, "auth") {
			p.Key = hubName
		}
		if key, ok := f.config[p.Key]; ok {
			p.Key = key
		}
	}
	return p
}

// index is that of an endpoint in the beginning.
func (f *fixer) index(name string, i int) int {
	if is, ok := f.indexes[name]; ok {
		return is[i]
	}
	return i
}

// at is where an endpoint is now that had an index in the beginning, if it is still there.
func (f *fixer) at(name string, origin int) (int, bool) {
	if is, ok := f.indexes[name]; ok {
		return slices.BinarySearch(is, origin)
	}
	return origin, true
}

// endpointIndex is the i of "endpoints[i]" and of what is below.
func endpointIndex(field string) (int, bool) {
	rest, ok := strings.CutPrefix(field, "endpoints[")
	if !ok {
		return 0, false
	}
	digits, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	return i, err == nil
}

func (f *fixer) did(rule string, p Place, format string, args ...any) {
	f.fixed = append(f.fixed, Fixed{Rule: rule, Path: f.origin(p).String(), What: fmt.Sprintf(format, args...)})
}

// repeatChanges are the endpoints that are there before.
func (f *fixer) repeatChanges(_ *checker, found []finding) (changes []change) {
	for _, x := range found {
		if i, ok := endpointIndex(x.place.Field); ok && x.Rule == RuleEndpointDuplicate {
			name, e := x.place.Key, f.set.Mirrors[x.place.Key].Endpoints[i]
			changes = append(changes, func(g *fixer) { g.removeRepeated(x.Rule, name, e) })
		}
	}
	return changes
}

// endpointChanges are those of single endpoints; in the legacy form overridePath
// is one for a mirror.
func (f *fixer) endpointChanges(_ *checker, found []finding) (changes []change) {
	together := map[string]bool{}
	for _, x := range found {
		name := x.place.Key
		i, ok := endpointIndex(x.place.Field)
		if x.place.Section != "mirrors" || !ok {
			continue
		}
		e, origin := f.set.Mirrors[name].Endpoints[i], f.index(name, i)
		switch x.Rule {
		case RuleEndpointSyntax:
			if to := strings.TrimSpace(e.URL); to != e.URL && isEndpoint(to) {
				if c, ok := respelled(to); ok {
					to = c
				}
				changes = append(changes, func(g *fixer) { g.respell(x.Rule, name, origin, to) })
			}
		case RuleEndpointCanonical:
			if to, ok := respelled(e.URL); ok {
				changes = append(changes, func(g *fixer) { g.respell(x.Rule, name, origin, to) })
			}
		case RuleEndpointPath:
			origins := []int{origin}
			if f.facts.inForm() == "legacy" {
				if together[name] {
					continue
				}
				together[name] = true
				if origins = f.projectPaths(name); origins == nil {
					continue
				}
			}
			if f.facts.version.before(1, 3, 0) {
				continue
			}
			changes = append(changes, func(g *fixer) { g.overridePaths(name, origins) })
		}
	}
	return changes
}

// respelled is a URL as Talos writes it, where the host stays the same.
func respelled(raw string) (string, bool) {
	u, _ := parseEndpoint(raw)
	if u == nil {
		return "", false
	}
	c := canonical(raw, u)
	return c, c != raw && sameHost(c, u) && strings.Contains(raw, u.Host)
}

// projectPaths are the endpoints of a mirror that want overridePath; nil when
// the mirror has others that must not have it.
func (f *fixer) projectPaths(name string) (origins []int) {
	for i, e := range f.set.Mirrors[name].Endpoints {
		if u, _ := parseEndpoint(e.URL); u != nil && projectPath(e, u) {
			origins = append(origins, f.index(name, i))
		} else if !e.OverridePath {
			return nil
		}
	}
	return origins
}

func (f *fixer) respell(rule, name string, origin int, to string) {
	i, ok := f.at(name, origin)
	if !ok {
		return
	}
	e := &f.set.Mirrors[name].Endpoints[i]
	f.did(rule, endpointPlace(name, i), "%s instead of %s", quote(to), quote(e.URL))
	e.URL = to
	f.removeRepeated(rule, name, *e)
}

func (f *fixer) overridePaths(name string, origins []int) {
	for _, origin := range origins {
		i, ok := f.at(name, origin)
		if !ok {
			continue
		}
		e := &f.set.Mirrors[name].Endpoints[i]
		e.OverridePath = true
		f.did(RuleEndpointPath, endpointPlace(name, i), "overridePath: true for %s", quote(e.URL))
		f.removeRepeated(RuleEndpointPath, name, *e)
	}
}

// removeRepeated leaves the first of the endpoints that are equal to e.
func (f *fixer) removeRepeated(rule, name string, e Endpoint) {
	m := f.set.Mirrors[name]
	var kept []Endpoint
	var indexes []int
	seen := false
	for i, x := range m.Endpoints {
		if x == e {
			if seen {
				f.did(rule, endpointPlace(name, i), "%s is there before and goes", quote(e.URL))
				continue
			}
			seen = true
		}
		kept = append(kept, x)
		indexes = append(indexes, f.index(name, i))
	}
	if len(kept) == len(m.Endpoints) {
		return
	}
	m.Endpoints = kept
	f.set.Mirrors[name], f.indexes[name] = m, indexes
}

func isEndpoint(s string) bool {
	u, _ := parseEndpoint(s)
	return u != nil
}

func sameHost(text string, u *url.URL) bool {
	v, err := url.Parse(text)
	return err == nil && v.Host == u.Host
}

// mirrorChanges are the keys of mirrors.
func (f *fixer) mirrorChanges(_ *checker, found []finding) (changes []change) {
	for _, x := range found {
		if x.Rule != RuleRegistryName && x.Rule != RuleRegistryAlias || x.place.Section != "mirrors" {
			continue
		}
		name := x.place.Key
		to := name
		if scheme, rest, ok := strings.Cut(to, "://"); ok && redact.IsScheme(scheme) {
			to = strings.TrimSuffix(rest, "/")
		}
		to = hubAlias(strings.ToLower(to))
		if reason, _ := badRegistryName(to); reason != "" || to == name {
			continue
		}
		changes = append(changes, func(g *fixer) {
			if _, taken := g.set.Mirrors[to]; taken {
				return
			}
			g.did(x.Rule, mirrorPlace(name, ""), "the key is %q", to)
			g.mirrors[to] = g.origin(mirrorPlace(name, "")).Key
			if is, ok := g.indexes[name]; ok {
				g.indexes[to] = is
			}
			g.set.Mirrors[to] = g.set.Mirrors[name]
			delete(g.set.Mirrors, name)
		})
	}
	return changes
}

// configChanges are the keys of config.
func (f *fixer) configChanges(c *checker, found []finding) (changes []change) {
	for _, x := range found {
		if x.place.Section != "config" {
			continue
		}
		key, to := x.place.Key, ""
		switch x.Rule {
		case RuleConfigKey:
			to = configHost(key)
		case RuleConfigUnused:
			to = c.sameServer(key)
		case RuleHubAuthKey:
			changes = append(changes, (*fixer).moveHubAuth)
		}
		if to == "" || to == key {
			continue
		}
		changes = append(changes, func(g *fixer) {
			if _, taken := g.set.Config[to]; taken {
				return
			}
			g.did(x.Rule, configPlace(key, ""), "the key is %q", to)
			g.config[to] = g.origin(configPlace(key, "")).Key
			g.set.Config[to] = g.set.Config[key]
			delete(g.set.Config, key)
		})
	}
	return changes
}

// configHost is the host in a key that is a URL, or has a path; empty when there is none.
func configHost(key string) string {
	host := key
	if scheme, rest, ok := strings.Cut(key, "://"); ok {
		if !redact.IsScheme(scheme) {
			return ""
		}
		host = rest
	}
	host, _, _ = strings.Cut(host, "/")
	if hubAlias(host) == hubName {
		return hubHost
	}
	if strings.ContainsAny(host, "@?#") || badAuthority(host) != nil {
		return ""
	}
	return host
}

func (f *fixer) moveHubAuth() {
	from, to := f.set.Config[hubName], f.set.Config[hubHost]
	if !from.Auth.usable() || to.Auth != nil {
		return
	}
	for _, m := range f.set.Mirrors {
		for _, e := range m.Endpoints {
			if u, _ := parseEndpoint(e.URL); u != nil && u.Host == hubName {
				return // an endpoint with that very host, which machined gives the credentials
			}
		}
	}
	f.did(RuleHubAuthKey, configPlace(hubName, "auth"), "the credentials are under %q", hubHost)
	to.Auth, from.Auth = from.Auth, nil
	f.set.Config[hubHost], f.hubAuth = to, true
	if from.TLS == nil {
		delete(f.set.Config, hubName)
	} else {
		f.set.Config[hubName] = from
	}
}
