package configpatch

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// checkSet returns all that keeps a Set from becoming a patch: what is wrong
// with it in itself, and what the version or the form cannot say.
func checkSet(set mirrors.Set, v Version, o options) error {
	var p problems
	if err := findings(set, o).Err(); err != nil {
		p = append(p, &Error{Err: err})
	}
	checkText(&p, set, o.form)
	checkExpressible(&p, set, v, o.form)
	return p.err()
}

// findings are what package mirrors says, and for documents the URLs that do
// not come back from them as they were written: Talos re-encodes a document's
// URL through net/url.
func findings(set mirrors.Set, o options) mirrors.Findings {
	fs := set.Check(o.checkOptions()...)
	if o.form != Documents {
		return fs
	}
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		for i, e := range set.Mirrors[name].Endpoints {
			u, err := url.Parse(e.URL)
			if err != nil || u.User != nil || u.String() == e.URL {
				continue // the endpoint rules report what is no URL, and userinfo
			}
			path := fmt.Sprintf("mirrors[%q].endpoints[%d]", name, i)
			if slices.ContainsFunc(fs, func(f mirrors.Finding) bool {
				return f.Rule == "endpoint-canonical" && strings.HasPrefix(f.Path, path)
			}) {
				continue
			}
			fs = append(fs, mirrors.Finding{
				Rule: "endpoint-canonical", Severity: mirrors.SeverityError, Path: path,
				Message: fmt.Sprintf("%q is not how a registry document spells this URL", e.URL),
				Fix:     fmt.Sprintf("want %q", u.String()),
			})
		}
	}
	return fs
}

// checkText reports what YAML cannot carry. PEM is base64 in legacy form, which
// carries everything.
func checkText(p *problems, set mirrors.Set, form Form) {
	check := func(path, s string, secret bool) {
		if utf8.ValidString(s) {
			return
		}
		offset := 0
		for offset < len(s) {
			r, n := utf8.DecodeRuneInString(s[offset:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			offset += n
		}
		if secret {
			p.add(path, "UTF-8, which is all that YAML can hold", "invalid UTF-8 at offset %d", offset)
		} else {
			p.add(path, "UTF-8, which is all that YAML can hold", "invalid UTF-8 at offset %d of %q", offset, clip(s))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		path := KindMirror.path(name)
		check(path, name, false)
		for i, e := range set.Mirrors[name].Endpoints {
			check(fmt.Sprintf("%s.endpoints[%d]", path, i), e.URL, true)
		}
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		c := set.Config[host]
		check(fmt.Sprintf("config[%q]", host), host, false)
		if a := c.Auth; a != nil {
			path := KindAuth.path(host)
			check(path+".username", a.Username, true)
			check(path+".password", a.Password.Reveal(), true)
			check(path+".auth", a.Auth.Reveal(), true)
			check(path+".identityToken", a.IdentityToken.Reveal(), true)
		}
		if t := c.TLS; t != nil && form == Documents {
			path := KindTLS.path(host)
			check(path+".ca", string(t.CA), false)
			if id := t.ClientIdentity; id != nil {
				check(path+".clientIdentity.crt", string(id.Certificate), false)
				check(path+".clientIdentity.key", id.Key.Reveal(), true)
			}
		}
	}
}

// checkExpressible reports what a version or a form has no words for.
func checkExpressible(p *problems, set mirrors.Set, v Version, form Form) {
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		m, path := set.Mirrors[name], KindMirror.path(name)
		if name == "*" && v.below(1, 4, 0) {
			p.add(path, "1.4.0 or later", `containerd on Talos %s does not honour the mirror "*"`, v)
		}
		if m.SkipFallback && v.below(1, 9, 0) {
			p.add(path+".skipFallback", "1.9.0 or later", "Talos %s has no skipFallback", v)
		}
		for i, e := range m.Endpoints {
			if e.OverridePath && v.below(1, 3, 0) {
				p.add(fmt.Sprintf("%s.endpoints[%d].overridePath", path, i), "1.3.0 or later", "Talos %s has no overridePath", v)
			}
			if form == Legacy && e.OverridePath != m.Endpoints[0].OverridePath {
				p.add(path, "the same for all endpoints, or the documents form (Talos 1.12.0 and later)",
					"overridePath differs between endpoints 0 and %d, and the legacy form has it once for a mirror", i)
				break
			}
		}
	}
	if form != Documents || !v.below(1, 12, 2) {
		return
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		if t := set.Config[host].TLS; t != nil && t.ClientIdentity == nil {
			p.add(KindTLS.path(host), "1.12.2 or later, a clientIdentity, or the legacy form",
				"a RegistryTLSConfig without clientIdentity makes Talos %s panic", v)
		}
	}
}
