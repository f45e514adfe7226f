package configpatch

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Migrate returns the configuration with machine.registries turned into
// documents (Talos 1.12.2 and later): base64 into PEM, crt into cert, and
// overridePath, which the legacy form has once for a mirror, for each endpoint.
// A legacy entry that a document of its name hides goes. What the configuration
// says about registries stays the same, and everything else too, which is proven
// before it is returned; machinery's encoding keeps no comments. With no
// machine.registries the configuration comes back as it was, byte for byte.
//
// What a document cannot say is an error: a URL that is none, or that a document
// spells in another way.
func Migrate(current []byte) ([]byte, error) {
	before, err := Read(current)
	if err != nil {
		return nil, err
	}
	if len(before.raw.RegistryMirrors)+len(before.raw.RegistryConfig) == 0 {
		return bytes.Clone(current), nil
	}
	var p problems
	for _, name := range slices.Sorted(maps.Keys(before.legacy.Mirrors)) {
		if _, hidden := before.documents.Mirrors[name]; hidden {
			continue
		}
		for i, e := range before.legacy.Mirrors[name].Endpoints {
			path := fmt.Sprintf("machine.registries.%s.endpoints[%d]", KindMirror.path(name), i)
			add := func(fix, reason string) {
				p = append(p, &Error{Path: path, Line: before.line(name, i), Reason: reason, Fix: fix})
			}
			switch u, err := url.Parse(e.URL); {
			case err != nil || u.Scheme != "http" && u.Scheme != "https":
				add("an absolute http or https URL", "a registry document cannot hold this endpoint")
			case u.User != nil:
				add("the URL without credentials", "the URL holds credentials, which no puller uses")
			case u.String() != e.URL:
				add(fmt.Sprintf("%q", redactURL(u.String())), fmt.Sprintf("a registry document spells %q in another way", redactURL(e.URL)))
			}
		}
	}
	checkText(&p, before.Set, Documents)
	if err := p.err(); err != nil {
		return nil, err
	}

	add := mirrors.Set{Mirrors: maps.Clone(before.legacy.Mirrors), Config: map[string]mirrors.HostConfig{}}
	maps.DeleteFunc(add.Mirrors, func(name string, _ mirrors.Mirror) bool {
		_, hidden := before.documents.Mirrors[name]
		return hidden
	})
	for host, c := range before.legacy.Config {
		hidden := before.documents.Config[host]
		if hidden.Auth != nil {
			c.Auth = nil
		}
		if hidden.TLS != nil {
			c.TLS = nil
		}
		add.Config[host] = c
	}
	patch := Patch{name: "migrate.yaml", data: tree{{key: "machine", sub: tree{deletion("registries")}}}.append(nil, 0)}
	if documents := render(add, Documents); len(documents) > 0 {
		patch.data = append(append(patch.data, "---\n"...), documents...)
	}

	base, err := load(current)
	if err != nil {
		return nil, &Error{Reason: "cannot load the configuration", Err: err}
	}
	result, encoded, err := apply(current, patch)
	if err != nil {
		return nil, &Error{Reason: "proof: machinery refuses the change", Err: err}
	}
	after, err := readProvider(result, encoded)
	if err != nil {
		return nil, &Error{Reason: "proof: cannot read the result", Err: err}
	}
	if err := sameSet(after.Set, before.Set); err != nil {
		return nil, &Error{Reason: "proof: the result says something else", Err: err}
	}
	var changes []Change
	for _, e := range before.Entries {
		if e.Origin != OriginDocument {
			changes = append(changes, Change{Kind: e.Kind, Name: e.Name})
		}
	}
	for host := range before.raw.RegistryConfig { // those that say nothing, too
		changes = append(changes, Change{Kind: KindAuth, Name: host}, Change{Kind: KindTLS, Name: host})
	}
	if err := restUnchanged(base, result, changes); err != nil {
		return nil, err
	}
	if err := validates(base, result); err != nil {
		return nil, err
	}
	return encoded, nil
}

// line returns the line of an endpoint in legacy form, or of its mirror.
func (e *Effective) line(mirror string, endpoint int) int {
	at := e.spots[place{Legacy, KindMirror, mirror}]
	line := at.line
	items(child(at.value, "endpoints"), func(i int, item *yaml.Node) {
		if i == endpoint {
			line = item.Line
		}
	})
	return line
}
