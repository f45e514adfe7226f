package configpatch

import (
	"slices"

	"github.com/siderolabs/go-pointer"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The raw types are entries of machine.registries with what a Set does not
// keep: whether a flag was written or not. When the section is written back
// because one of its keys cannot be deleted alone, entries of others come back
// as they were.

type rawMirror struct {
	endpoints    []string
	overridePath *bool
	skipFallback *bool
}

type rawHost struct {
	auth *mirrors.Auth
	tls  *rawTLS
}

type rawTLS struct {
	ca       string
	identity *mirrors.ClientIdentity
	insecure *bool
}

func rawMirrors(r v1alpha1.RegistriesConfig) map[string]rawMirror {
	out := make(map[string]rawMirror, len(r.RegistryMirrors))
	for name, m := range r.RegistryMirrors {
		out[name] = rawMirror{m.MirrorEndpoints, m.MirrorOverridePath, m.MirrorSkipFallback}
	}
	return out
}

func rawConfig(r v1alpha1.RegistriesConfig) map[string]rawHost {
	out := make(map[string]rawHost, len(r.RegistryConfig))
	for host, c := range r.RegistryConfig {
		var h rawHost
		if a := c.RegistryAuth; a != nil {
			h.auth = legacyAuth(a)
		}
		if t := c.RegistryTLS; t != nil {
			h.tls = &rawTLS{ca: string(t.TLSCA), identity: legacyIdentity(t), insecure: t.TLSInsecureSkipVerify}
		}
		out[host] = h
	}
	return out
}

func legacyAuth(a *v1alpha1.RegistryAuthConfig) *mirrors.Auth {
	return &mirrors.Auth{
		Username:      a.RegistryUsername,
		Password:      mirrors.NewSecret(a.RegistryPassword),
		Auth:          mirrors.NewSecret(a.RegistryAuth),
		IdentityToken: mirrors.NewSecret(a.RegistryIdentityToken),
	}
}

func legacyIdentity(t *v1alpha1.RegistryTLSConfig) *mirrors.ClientIdentity {
	if t.TLSClientIdentity == nil {
		return nil
	}
	return &mirrors.ClientIdentity{
		Certificate: mirrors.PEM(t.TLSClientIdentity.Crt),
		Key:         mirrors.NewSecret(string(t.TLSClientIdentity.Key)),
	}
}

func newRawMirror(m mirrors.Mirror) rawMirror {
	var r rawMirror
	for _, e := range m.Endpoints {
		r.endpoints = append(r.endpoints, e.URL)
	}
	if len(m.Endpoints) > 0 && m.Endpoints[0].OverridePath {
		r.overridePath = new(true)
	}
	if m.SkipFallback {
		r.skipFallback = new(true)
	}
	return r
}

func newRawTLS(t mirrors.TLS) *rawTLS {
	r := &rawTLS{ca: string(t.CA), identity: t.ClientIdentity}
	if t.InsecureSkipVerify {
		r.insecure = new(true)
	}
	return r
}

func (r rawMirror) tree() tree {
	t := tree{{key: "endpoints", leaf: stringList(r.endpoints)}}
	if r.overridePath != nil {
		t = append(t, entry{key: "overridePath", leaf: flag(*r.overridePath)})
	}
	if r.skipFallback != nil {
		t = append(t, entry{key: "skipFallback", leaf: flag(*r.skipFallback)})
	}
	return t
}

func (r rawMirror) diff(after rawMirror) (deletes, writes tree) {
	switch n := len(r.endpoints); {
	case slices.Equal(r.endpoints, after.endpoints):
	case len(after.endpoints) > n && slices.Equal(r.endpoints, after.endpoints[:n]):
		writes = append(writes, entry{key: "endpoints", leaf: stringList(after.endpoints[n:])})
	default:
		deletes = append(deletes, deletion("endpoints"))
		if len(after.endpoints) > 0 {
			writes = append(writes, entry{key: "endpoints", leaf: stringList(after.endpoints)})
		}
	}
	if pointer.SafeDeref(r.overridePath) != pointer.SafeDeref(after.overridePath) {
		writes = append(writes, entry{key: "overridePath", leaf: flag(pointer.SafeDeref(after.overridePath))})
	}
	if pointer.SafeDeref(r.skipFallback) != pointer.SafeDeref(after.skipFallback) {
		writes = append(writes, entry{key: "skipFallback", leaf: flag(pointer.SafeDeref(after.skipFallback))})
	}
	return deletes, writes
}

func (h rawHost) tree() (t tree) {
	if h.auth != nil {
		t = append(t, entry{key: "auth", sub: authTree(*h.auth)})
	}
	if h.tls != nil {
		t = append(t, entry{key: "tls", sub: h.tls.tree()})
	}
	return t
}

func (r *rawTLS) tree() (t tree) {
	if r.ca != "" {
		t = append(t, entry{key: "ca", leaf: base64Text(r.ca)})
	}
	if r.identity != nil {
		t = append(t, legacyIdentityEntry(*r.identity))
	}
	if r.insecure != nil {
		t = append(t, entry{key: "insecureSkipVerify", leaf: flag(*r.insecure)})
	}
	return t
}

func legacyIdentityEntry(id mirrors.ClientIdentity) entry {
	return entry{key: "clientIdentity", sub: tree{
		{key: "crt", leaf: base64Text(string(id.Certificate))},
		{key: "key", leaf: base64Text(id.Key.Reveal())},
	}}
}

func (h rawHost) diff(after rawHost) (deletes, writes tree) {
	section := func(key string, before, now bool, diff func() (tree, tree), whole func() tree) {
		switch {
		case before && !now:
			deletes = append(deletes, deletion(key))
		case !before && now:
			writes = append(writes, entry{key: key, sub: whole()})
		case before && now:
			gone, written := diff()
			if len(gone) > 0 {
				deletes = append(deletes, entry{key: key, sub: gone})
			}
			if len(written) > 0 {
				writes = append(writes, entry{key: key, sub: written})
			}
		}
	}
	section("auth", h.auth != nil, after.auth != nil, func() (gone, written tree) {
		for _, e := range diffAuth(*h.auth, *after.auth) {
			if e.gone {
				gone = append(gone, e)
			} else {
				written = append(written, e)
			}
		}
		return gone, written
	}, func() tree { return authTree(*after.auth) })
	section("tls", h.tls != nil, after.tls != nil, func() (tree, tree) {
		return h.tls.diff(*after.tls)
	}, func() tree { return after.tls.tree() })
	return deletes, writes
}

func (r *rawTLS) diff(after rawTLS) (deletes, writes tree) {
	switch {
	case r.ca == after.ca:
	case after.ca == "":
		deletes = append(deletes, deletion("ca"))
	default:
		writes = append(writes, entry{key: "ca", leaf: base64Text(after.ca)})
	}
	switch {
	case after.identity == nil && r.identity != nil:
		deletes = append(deletes, deletion("clientIdentity"))
	case after.identity != nil && (r.identity == nil || *r.identity != *after.identity):
		writes = append(writes, legacyIdentityEntry(*after.identity))
	}
	if pointer.SafeDeref(r.insecure) != pointer.SafeDeref(after.insecure) {
		writes = append(writes, entry{key: "insecureSkipVerify", leaf: flag(pointer.SafeDeref(after.insecure))})
	}
	return deletes, writes
}
