package configpatch

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// checkSet returns all that keeps a Set from becoming a patch: what is wrong
// with it in itself, and what the version or the form cannot say.
func checkSet(set mirrors.Set, v Version, o options) problems {
	var p problems
	opts := []mirrors.CheckOption{mirrors.InForm(o.form.String())}
	switch {
	case v.IsZero():
		p.add("version", "the older version of client and node, such as v1.13", "not set")
	case v.below(1, 3, 0):
		p.add("version", "1.3 or later", "Talos %s is not supported", v.number())
	default:
		opts = append(opts, mirrors.ForTalos(v.String()))
	}
	if o.form != Legacy && o.form != Documents {
		p.add("form", "Legacy or Documents", "unknown form %d", int(o.form))
		return p
	}
	if o.imageCache {
		opts = append(opts, mirrors.WithImageCache())
	}
	fs := set.Check(opts...)
	if err := fs.Err(); err != nil {
		p = append(p, &Error{Err: err})
	}
	checkText(&p, set, o.form)
	if !v.IsZero() {
		checkPreRelease(&p, set, v, o.form, fs)
	}
	return p
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
			p.add(path, "UTF-8, which is all that YAML can hold", "invalid UTF-8 at offset %d of %q", offset, clip(redactURL(s)))
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
		check(hostPath(host), host, false)
		if a := c.Auth; a != nil {
			path := KindAuth.path(host)
			check(path+".username", a.Username, true)
			check(path+".password", a.Password.Reveal(), true)
			check(path+".auth", a.Auth.Reveal(), true)
			check(path+".identityToken", a.IdentityToken.Reveal(), true)
		}
		if t := c.TLS; t != nil && form == Documents {
			path := KindTLS.path(host)
			check(path+".ca", string(t.CA), true)
			if id := t.ClientIdentity; id != nil {
				check(path+".clientIdentity.crt", string(id.Certificate), true)
				check(path+".clientIdentity.key", id.Key.Reveal(), true)
			}
		}
	}
}

// checkPreRelease reports what package mirrors, which takes a pre-release for
// its release, does not: a pre-release of the version that brought a feature
// need not have it yet.
func checkPreRelease(p *problems, set mirrors.Set, v Version, form Form, fs mirrors.Findings) {
	add := func(path string, since Version, what, or string) {
		known := slices.ContainsFunc(fs, func(f mirrors.Finding) bool { return f.Rule == "version-feature" && f.Path == path })
		if !known && v.Compare(since) < 0 {
			p.add(path, since.number()+" or later"+or, "Talos %s may not have %s yet", v.number(), what)
		}
	}
	if form == Documents {
		add("", Version{1, 12, 0, ""}, "registry documents", ", or the legacy form")
	}
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		m, path := set.Mirrors[name], KindMirror.path(name)
		if name == "*" {
			add(path, Version{1, 4, 0, ""}, `the mirror "*"`, "")
		}
		if m.SkipFallback {
			add(path+".skipFallback", Version{1, 9, 0, ""}, "skipFallback", "")
		}
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		if t := set.Config[host].TLS; form == Documents && t != nil && t.ClientIdentity == nil {
			add(KindTLS.path(host), Version{1, 12, 2, ""}, "a RegistryTLSConfig without clientIdentity", ", or the legacy form")
		}
	}
}
