//lint:file-ignore SA1019 Talos deprecates machine.registries, which is the legacy form.

package configpatch

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/cri"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"

	"github.com/siderolabs/go-pointer"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Effective is what a configuration says about registries once both forms are
// taken together, as Talos takes them.
type Effective struct {
	// Set is what counts. Hosts that say nothing are not in it.
	Set mirrors.Set

	// Entries say where each part of the Set is from: mirrors, then
	// credentials, then TLS settings, each sorted by name.
	Entries []Entry

	// Ignored are the paths of what is not about registries, each once, in the
	// order of the configuration: keys of the v1alpha1 document, such as
	// "machine.type" and "cluster", and kinds of other documents.
	Ignored []string

	spots             map[place]spot
	legacy, documents mirrors.Set // each form alone
	raw               v1alpha1.RegistriesConfig
	hasV1Alpha1       bool
}

// String says how much there is. What there is, [Effective.Registries] prints.
func (e *Effective) String() string {
	return fmt.Sprintf("%d mirrors, %d hosts", len(e.Set.Mirrors), len(e.Set.Config))
}

// Format writes what String returns, for every verb and flag.
func (e *Effective) Format(f fmt.State, _ rune) { io.WriteString(f, e.String()) }

// LogValue is String, for log/slog.
func (e *Effective) LogValue() slog.Value { return slog.StringValue(e.String()) }

// Entry is one entry of a configuration: a registry's mirrors, a host's
// credentials, or a host's TLS settings.
type Entry struct {
	Kind   Kind
	Name   string // the registry, or the host
	Origin Origin
	Line   int // where the entry that counts begins, from 1; 0 when not known
	Column int // from 1, in characters; 0 when not known

	// Where the hidden legacy entry begins, when Origin is OriginBoth.
	Hidden, HiddenColumn int
}

// Origin says in which form an entry stands.
type Origin int

const (
	// OriginLegacy: in machine.registries.
	OriginLegacy Origin = iota + 1
	// OriginDocument: in a document.
	OriginDocument
	// OriginBoth: in both. The document counts; the legacy entry is hidden by
	// it whole, not merged (Talos 1.12.0 to 1.13.9).
	OriginBoth
)

// String returns "legacy", "document" or "both".
func (o Origin) String() string {
	switch o {
	case OriginLegacy:
		return "legacy"
	case OriginDocument:
		return "document"
	case OriginBoth:
		return "both"
	}
	return fmt.Sprintf("Origin(%d)", int(o))
}

// Read returns the effective registry configuration of a machine
// configuration, in either form or both. The configuration must be one that
// machinery 1.13.9 can load; it need not validate. The error is an [*Error],
// or several joined.
func Read(data []byte) (*Effective, error) {
	cfg, err := load(data)
	if err != nil {
		return nil, &Error{Reason: "cannot load the configuration", Err: err}
	}
	return readProvider(cfg, data)
}

func readProvider(cfg config.Provider, data []byte) (*Effective, error) {
	var (
		p    problems
		text = locate(data)
	)
	bad := func(at place, path, fix, reason string) {
		p = append(p, &Error{Path: path, Line: text.spots[at].line, Reason: reason, Fix: fix})
	}
	e := &Effective{
		Ignored:   text.ignored,
		spots:     text.spots,
		legacy:    mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}},
		documents: mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}},
	}
	for _, doc := range cfg.Documents() {
		switch d := doc.(type) {
		case *v1alpha1.Config:
			e.hasV1Alpha1 = true
			if d.MachineConfig != nil {
				e.raw = d.MachineConfig.MachineRegistries
				readLegacy(bad, &e.legacy, d.MachineConfig.MachineRegistries)
			}
		case *cri.RegistryMirrorConfigV1Alpha1:
			m := mirrors.Mirror{SkipFallback: pointer.SafeDeref(d.RegistrySkipFallback)}
			for i, ep := range d.RegistryEndpoints {
				if ep.EndpointURL.URL == nil {
					bad(place{Documents, KindMirror, d.MetaName}, fmt.Sprintf("RegistryMirrorConfig %q: endpoints[%d].url", redactURL(d.MetaName), i), "an http or https URL", "empty")
					continue
				}
				m.Endpoints = append(m.Endpoints, mirrors.Endpoint{URL: ep.EndpointURL.String(), OverridePath: pointer.SafeDeref(ep.EndpointOverridePath)})
			}
			e.documents.Mirrors[d.MetaName] = m
		case *cri.RegistryAuthConfigV1Alpha1:
			c := e.documents.Config[d.MetaName]
			c.Auth = &mirrors.Auth{
				Username:      d.RegistryUsername,
				Password:      mirrors.NewSecret(d.RegistryPassword),
				Auth:          mirrors.NewSecret(d.RegistryAuth),
				IdentityToken: mirrors.NewSecret(d.RegistryIdentityToken),
			}
			e.documents.Config[d.MetaName] = c
		case *cri.RegistryTLSConfigV1Alpha1:
			c := e.documents.Config[d.MetaName]
			c.TLS = &mirrors.TLS{CA: mirrors.PEM(d.TLSCA), InsecureSkipVerify: pointer.SafeDeref(d.TLSInsecureSkipVerify)}
			if id := d.TLSClientIdentity; id != nil {
				c.TLS.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(id.Cert), Key: mirrors.NewSecret(id.Key)}
			}
			e.documents.Config[d.MetaName] = c
		}
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	e.combine()
	return e, nil
}

func readLegacy(bad func(at place, path, fix, reason string), set *mirrors.Set, r v1alpha1.RegistriesConfig) {
	for _, name := range slices.Sorted(maps.Keys(r.RegistryMirrors)) {
		m := r.RegistryMirrors[name]
		if m == nil {
			bad(place{Legacy, KindMirror, name}, "machine.registries."+KindMirror.path(name), "endpoints", "null, which Talos refuses")
			continue
		}
		out := mirrors.Mirror{SkipFallback: pointer.SafeDeref(m.MirrorSkipFallback)}
		for _, u := range m.MirrorEndpoints {
			out.Endpoints = append(out.Endpoints, mirrors.Endpoint{URL: u, OverridePath: pointer.SafeDeref(m.MirrorOverridePath)})
		}
		set.Mirrors[name] = out
	}
	for _, host := range slices.Sorted(maps.Keys(r.RegistryConfig)) {
		c := r.RegistryConfig[host]
		if c == nil {
			bad(place{Legacy, 0, host}, "machine.registries."+hostPath(host), "auth or tls", "null, which Talos refuses")
			continue
		}
		var out mirrors.HostConfig
		if a := c.RegistryAuth; a != nil {
			out.Auth = legacyAuth(a)
		}
		if t := c.RegistryTLS; t != nil {
			out.TLS = &mirrors.TLS{CA: mirrors.PEM(t.TLSCA), ClientIdentity: legacyIdentity(t), InsecureSkipVerify: pointer.SafeDeref(t.TLSInsecureSkipVerify)}
		}
		set.Config[host] = out
	}
}

// combine takes both forms together: a document replaces the legacy entry of
// the same kind and name whole.
func (e *Effective) combine() {
	e.Set = mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	entry := func(kind Kind, name string, legacy, document bool) {
		at, hidden := e.spots[place{Documents, kind, name}], e.spots[place{Legacy, kind, name}]
		out := Entry{Kind: kind, Name: name, Origin: OriginDocument}
		switch {
		case legacy && document:
			out.Origin, out.Hidden, out.HiddenColumn = OriginBoth, hidden.line, hidden.column
		case legacy:
			out.Origin, at = OriginLegacy, hidden
		case !document:
			return
		}
		out.Line, out.Column = at.line, at.column
		e.Entries = append(e.Entries, out)
	}
	maps.Copy(e.Set.Mirrors, e.legacy.Mirrors)
	maps.Copy(e.Set.Mirrors, e.documents.Mirrors)
	for name := range e.Set.Mirrors {
		_, legacy := e.legacy.Mirrors[name]
		_, document := e.documents.Mirrors[name]
		entry(KindMirror, name, legacy, document)
	}
	for host := range union(e.legacy, e.documents).Config {
		l, d := e.legacy.Config[host], e.documents.Config[host]
		c := mirrors.HostConfig{Auth: cmp.Or(d.Auth, l.Auth), TLS: cmp.Or(d.TLS, l.TLS)}
		if c.Auth != nil || c.TLS != nil {
			e.Set.Config[host] = c
		}
		entry(KindAuth, host, l.Auth != nil, d.Auth != nil)
		entry(KindTLS, host, l.TLS != nil, d.TLS != nil)
	}
	slices.SortFunc(e.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	e.Set = e.Set.DeepCopy() // nothing shared with the halves
}
