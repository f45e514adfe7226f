package mirrors

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// CheckOption tells [Set.Check] more about the nodes.
type CheckOption func(*checker)

// finding is a Finding before its place becomes a path and a position.
type finding struct {
	Finding
	place Place
}

type checker struct {
	set   Set
	found []finding
	names []string // the keys of set.Mirrors, sorted

	version    talosVersion
	imageCache bool
	form       string
	now        time.Time
}

func newChecker(set Set, opts []CheckOption) *checker {
	c := &checker{set: set}
	for _, o := range opts {
		o(c)
	}
	return c
}

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

func (c *checker) report(rule string, severity Severity, p Place, message, fix string) {
	c.found = append(c.found, finding{Finding{Rule: rule, Severity: severity, Message: message, Fix: fix}, p})
}

func (c *checker) run() []finding {
	c.names = slices.Sorted(maps.Keys(c.set.Mirrors))
	for _, name := range c.names {
		c.mirror(name, c.set.Mirrors[name])
	}
	return c.found
}

func endpointPlace(mirror string, i int) Place {
	return Place{Section: "mirrors", Key: mirror, Field: fmt.Sprintf("endpoints[%d]", i)}
}

func (c *checker) mirror(name string, m Mirror) {
	for i, e := range m.Endpoints {
		_, problems, _ := parseEndpoint(e.URL)
		for _, p := range problems {
			c.report(p.rule, SeverityError, endpointPlace(name, i), p.message, p.fix)
		}
	}
	c.duplicates(name, m)
}

// duplicates reports each URL that is there before, and URLs that only look different.
func (c *checker) duplicates(name string, m Mirror) {
	if len(m.Endpoints) < 2 {
		return
	}
	exact := make(map[string]int, len(m.Endpoints))
	loose := make(map[string]int, len(m.Endpoints))
	for i, e := range m.Endpoints {
		if first, ok := exact[e.URL]; ok {
			c.report("endpoint-duplicate", SeverityError, endpointPlace(name, i),
				fmt.Sprintf("%s is endpoints[%d] as well; containerd then ignores every mirror of this registry", quote(e.URL), first),
				"want each URL once")
			continue
		}
		exact[e.URL] = i
		key := looseURL(e.URL)
		if first, ok := loose[key]; ok {
			c.report("endpoint-duplicate", SeverityWarning, endpointPlace(name, i),
				fmt.Sprintf("%s is the same place as endpoints[%d], %s", quote(e.URL), first, quote(m.Endpoints[first].URL)),
				"want each place once")
			continue
		}
		loose[key] = i
	}
}

// looseURL is a URL without the difference of a trailing slash and of case in scheme and host.
func looseURL(raw string) string {
	scheme, rest, _ := strings.Cut(raw, "://")
	host, path := rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	return strings.ToLower(scheme) + "://" + strings.ToLower(host) + strings.TrimRight(path, "/")
}

// localRules are those that judge one value by itself, and so hold for a Set that was read in part.
var localRules = map[string]bool{
	"endpoint-syntax": true, "endpoint-scheme": true, "endpoint-userinfo": true, "endpoint-query": true,
	"endpoint-duplicate": true,
}

// talosVersion is a release of Talos; zero is any.
type talosVersion struct{ major, minor, patch int }

func (v talosVersion) compare(o talosVersion) int {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch))
}
