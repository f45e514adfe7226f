package mirrors

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
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
// and lists them; it asks for nothing and leaves s as it is. Certain are:
//
//   - endpoint-syntax: white space around a URL goes;
//   - endpoint-canonical: the spelling of Talos, where the host stays the same;
//   - endpoint-duplicate: an endpoint goes that is there before, with the same overridePath;
//   - endpoint-path: overridePath: true where the path has /v2/ inside;
//   - registry-alias, registry-name: docker.io for its other names, lower case, no scheme;
//   - config-key: the host alone;
//   - config-unused: the spelling of the one endpoint that it can only mean, by case, :443 or brackets;
//   - hub-auth-key: the credentials move to registry-1.docker.io.
//
// A key stays when the new one is there already. A change that would bring a new
// error is not made. The options are those of [Set.Check], and the same Check of the
// result has no error that Check of s does not have.
func (s Set) Fix(opts ...CheckOption) (Set, []Fixed) {
	f := &fixer{set: s.DeepCopy(), opts: opts}
	before := errorCount(s.Check(opts...))
	// Each step is on its own, so that one that brings a new error can be left
	// out. What overridePaths does may make two endpoints equal.
	for _, step := range []func(*fixer){(*fixer).endpoints, (*fixer).overridePaths, (*fixer).endpoints, (*fixer).registries, (*fixer).configKeys, (*fixer).hubAuth} {
		set, fixed := f.set.DeepCopy(), slices.Clone(f.fixed)
		step(f)
		if len(f.fixed) == len(fixed) {
			continue
		}
		after := errorCount(f.set.Check(opts...))
		if moreErrors(before, after) {
			f.set, f.fixed = set, fixed
			continue
		}
		before = after
	}
	return f.set, f.fixed
}

type fixer struct {
	set   Set
	fixed []Fixed
	opts  []CheckOption
}

func errorCount(fs Findings) map[string]int {
	n := map[string]int{}
	for _, f := range fs {
		if f.Severity == SeverityError {
			n[f.Rule]++
		}
	}
	return n
}

func moreErrors(before, after map[string]int) bool {
	for rule, n := range after {
		if n > before[rule] {
			return true
		}
	}
	return false
}

func (f *fixer) did(rule string, p Place, format string, args ...any) {
	f.fixed = append(f.fixed, Fixed{Rule: rule, Path: p.String(), What: fmt.Sprintf(format, args...)})
}

func (f *fixer) endpoints() {
	for _, name := range slices.Sorted(maps.Keys(f.set.Mirrors)) {
		m := f.set.Mirrors[name]
		var kept []Endpoint
		seen := map[string]bool{} // by URL, to overridePath
		for i, e := range m.Endpoints {
			p := endpointPlace(name, i)
			if trimmed := strings.TrimSpace(e.URL); trimmed != e.URL && isEndpoint(trimmed) {
				f.did(RuleEndpointSyntax, p, "%s instead of %s", quote(trimmed), quote(e.URL))
				e.URL = trimmed
			}
			if u, _ := parseEndpoint(e.URL); u != nil {
				if c := canonical(e.URL, u); c != e.URL && sameHost(c, u) && strings.Contains(e.URL, u.Host) {
					f.did(RuleEndpointCanonical, p, "%s instead of %s", quote(c), quote(e.URL))
					e.URL = c
				}
			}
			if override, ok := seen[e.URL]; ok && override == e.OverridePath {
				f.did(RuleEndpointDuplicate, p, "%s is there before and goes", quote(e.URL))
				continue
			}
			seen[e.URL] = e.OverridePath
			kept = append(kept, e)
		}
		m.Endpoints = kept
		f.set.Mirrors[name] = m
	}
}

func isEndpoint(s string) bool {
	u, _ := parseEndpoint(s)
	return u != nil
}

func sameHost(text string, u *url.URL) bool {
	v, err := url.Parse(text)
	return err == nil && v.Host == u.Host
}

func (f *fixer) overridePaths() {
	facts := newFacts(f.opts)
	if facts.version.before(1, 3, 0) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(f.set.Mirrors)) {
		m := f.set.Mirrors[name]
		var wanted []int
		uniform := true // the legacy form has overridePath once for a mirror
		for i, e := range m.Endpoints {
			u, _ := parseEndpoint(e.URL)
			if u != nil && projectPath(e, u) {
				wanted = append(wanted, i)
			} else if !e.OverridePath {
				uniform = false
			}
		}
		if facts.inForm() == "legacy" && !uniform {
			continue
		}
		for _, i := range wanted {
			m.Endpoints[i].OverridePath = true
			f.did(RuleEndpointPath, endpointPlace(name, i), "overridePath: true for %s", quote(m.Endpoints[i].URL))
		}
	}
}

func (f *fixer) registries() {
	for _, name := range slices.Sorted(maps.Keys(f.set.Mirrors)) {
		rule, to := RuleRegistryName, name
		switch {
		case name == "*":
			continue
		case hubAlias(name) != name:
			rule, to = RuleRegistryAlias, hubName
		default:
			if scheme, rest, ok := strings.Cut(to, "://"); ok && redact.IsScheme(scheme) {
				to = strings.TrimSuffix(rest, "/")
			}
			to = hubAlias(strings.ToLower(to))
		}
		if to == name {
			continue
		}
		if reason, _ := badRegistryName(to); reason != "" {
			continue
		}
		if _, taken := f.set.Mirrors[to]; taken {
			continue
		}
		f.set.Mirrors[to] = f.set.Mirrors[name]
		delete(f.set.Mirrors, name)
		f.did(rule, mirrorPlace(name, ""), "the key is %q", to)
	}
}

func (f *fixer) configKeys() {
	c := newChecker(f.set, f.opts)
	c.run()
	for _, key := range slices.Sorted(maps.Keys(f.set.Config)) {
		if key == "*" || key == hubName {
			continue
		}
		rule, to := RuleConfigKey, key
		if reason, _ := c.badConfigKey(key); reason != "" {
			if to = configHost(key); to == "" {
				continue
			}
		} else if near := c.nearest(key); near != "" && near != key && sameServer(key, near, c.hosts[near]) && c.near[nearKey(key)].more == nil {
			if _, used := c.hosts[key]; used {
				continue
			}
			rule, to = RuleConfigUnused, near
		}
		if to == key {
			continue
		}
		if _, taken := f.set.Config[to]; taken {
			continue
		}
		f.set.Config[to] = f.set.Config[key]
		delete(f.set.Config, key)
		f.did(rule, configPlace(key, ""), "the key is %q", to)
	}
}

// sameServer reports whether a key and the host of an endpoint are spellings
// of one server: by case, brackets, or the default port.
func sameServer(key, host string, use hostUse) bool {
	if use.http && use.https {
		return strings.EqualFold(key, host)
	}
	port := ":443"
	if use.http {
		port = ":80"
	}
	plain := func(h string) string {
		return strings.Trim(strings.TrimSuffix(strings.ToLower(h), port), "[]")
	}
	return plain(key) == plain(host)
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

func (f *fixer) hubAuth() {
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
	to.Auth, from.Auth = from.Auth, nil
	f.set.Config[hubHost] = to
	if from.TLS == nil {
		delete(f.set.Config, hubName)
	} else {
		f.set.Config[hubName] = from
	}
	f.did(RuleHubAuthKey, configPlace(hubName, "auth"), "the credentials are under %q", hubHost)
}
