package configpatch

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Replacement is what [Replace] returns.
type Replacement struct {
	// Patches are 1-ensure.yaml, 2-delete.yaml and 3-set.yaml, always all three:
	// what a caller keeps under these names is replaced whole. All of them belong
	// into one call, in this order: a node must never run with what the first one
	// leaves behind.
	Patches Patches

	// Warnings say what the patches cannot do without knowing the configuration.
	Warnings mirrors.Findings
}

// Replace returns patches that give the same configuration when they are
// applied once, twice, or over an older version of themselves, without knowing
// the configuration: for each key of the Set, in both forms, what was there is
// removed, and then the Set's value is written. Other keys keep theirs. A host
// of the Set with neither credentials nor TLS settings is removed.
//
// A deletion of what is not there fails in every Talos version, so the first
// patch makes sure that it is there. This needs a client of Talos 1.8 or later,
// and 1.12.2 for the documents form; below 1.12.2 registry documents, which a
// 1.12.0 or 1.12.1 node may have, stay.
//
// In legacy form a key that begins with "[" cannot be deleted by itself (Talos
// 1.11.6 to 1.14.1) and is an error: use [WithSection], which replaces the whole
// of machine.registries, or [Converge]. The configuration is taken to have a
// v1alpha1 document, unless [DocumentsOnly] says otherwise.
//
// The patches are proven before they are returned: machinery applies them to an
// empty machine, twice, and to one that has every key in both forms with other
// values, beside keys of others.
func Replace(set mirrors.Set, v Version, opts ...Option) (Replacement, error) {
	o := collect(v, opts)
	if err := checkReplace(set, v, o); err != nil {
		return Replacement{}, err
	}
	withDocuments := !v.below(1, 12, 2)
	patches := Patches{
		{name: "1-ensure.yaml", data: appendEach(nil, set, o, withDocuments, "")},
		{name: "2-delete.yaml", data: appendEach(nil, set, o, withDocuments, deleteLine)},
	}
	wanted := said(set)
	last := Patch{name: "3-set.yaml", data: render(wanted, o.form)}
	switch {
	case len(last.data) > 0:
	case !o.documentsOnly:
		// Nothing but removals: a third patch that says nothing, without being empty.
		last.data = render(mirrors.Set{}, Legacy)
	default:
		// With documents only, nothing can be said in a patch that says nothing. The
		// removals are shared out: each host has one of credentials and one of TLS
		// settings, which come last.
		before, after, _ := bytes.Cut(patches[1].data, tlsRemovals)
		patches[1].data = before
		last.data = append(bytes.Clone(tlsRemovals[len("---\n"):]), after...)
	}
	patches = append(patches, last)
	for _, w := range []struct {
		witness
		times int
	}{
		{replaceWitness(set, v, o, false), 2},
		{replaceWitness(set, v, o, true), 1},
	} {
		if err := prove(w.witness, set, slices.Repeat(patches, w.times)...); err != nil {
			return Replacement{}, err
		}
	}
	return Replacement{Patches: patches, Warnings: replaceWarnings(set, v, o)}, nil
}

// tlsRemovals is how the part of 2-delete.yaml begins that removes TLS settings.
// No name can hold it: a scalar has no line break in it.
var tlsRemovals = []byte("---\napiVersion: v1alpha1\nkind: RegistryTLSConfig\n")

func checkReplace(set mirrors.Set, v Version, o options) error {
	p := checkSet(set, v, o)
	if !v.IsZero() && v.below(1, 8, 0) {
		p.add("version", "1.8 or later, or Merge for a configuration that has none of these keys", "a client of Talos %s does not know $patch: delete", v.number())
	}
	switch {
	case o.form == Documents && !v.below(1, 12, 0) && v.below(1, 12, 2):
		p.add("form", "1.12.2 or later, or the legacy form", "the documents form cannot be replaced blind by a client of Talos %s", v.number())
	case o.form == Documents && o.section:
		p.add("section", "WithForm(Legacy)", "only the legacy form has a section to replace")
	case o.form == Legacy && o.documentsOnly:
		p.add("documentsOnly", "WithForm(Documents)", "the legacy form is in the v1alpha1 document")
	}
	if len(set.Mirrors)+len(set.Config) == 0 && !o.section {
		p.add("", "at least one mirror or host, or WithSection to clear machine.registries", "the set has no entry, and names nothing to replace")
	}
	if o.form == Legacy && !o.section {
		for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
			if !deletable(name) {
				p.add(KindMirror.path(name), "WithSection, Converge, or the documents form (Talos 1.12.0 and later)", `Talos cannot delete a legacy key that begins with "["`)
			}
		}
		for _, host := range slices.Sorted(maps.Keys(set.Config)) {
			if !deletable(host) {
				p.add(hostPath(host), "WithSection, Converge, or the documents form (Talos 1.12.0 and later)", `Talos cannot delete a legacy key that begins with "["`)
			}
		}
	}
	return p.err()
}

// deletable reports whether Talos can delete a key of machine.registries by
// itself: its selectors take a key that begins with "[" for a list index
// (machinery 1.11.6 to 1.13.9), and panic on an empty one.
func deletable(key string) bool { return key != "" && key[0] != '[' }

// appendEach writes each entry of the Set, in both forms, with nothing but the
// body: none for the ensuring patch, the deletion for the deleting one.
func appendEach(dst []byte, set mirrors.Set, o options, documents bool, body string) []byte {
	if o.section {
		dst = append(dst, "machine:"...)
		if body == "" {
			dst = append(dst, " {}\n"...)
		} else {
			dst = append(dst, "\n    registries:\n        "...)
			dst = append(dst, body...)
		}
	} else if !o.documentsOnly {
		dst = append(dst, "machine:\n    registries:\n"...)
		start := len(dst)
		section := func(title string, keys []string) {
			if keys = slices.DeleteFunc(keys, func(k string) bool { return !deletable(k) }); len(keys) == 0 {
				return
			}
			dst = append(dst, title...)
			for _, key := range keys {
				dst = appendKey(dst, 3, key)
				if body == "" {
					dst = append(dst, " {}\n"...)
				} else {
					dst = append(dst, "\n                "...)
					dst = append(dst, body...)
				}
			}
		}
		section("        mirrors:\n", slices.Sorted(maps.Keys(set.Mirrors)))
		section("        config:\n", slices.Sorted(maps.Keys(set.Config)))
		if len(dst) == start {
			dst = dst[:0]
		}
	}
	if !documents {
		return dst
	}
	head := func(kind Kind, name string) {
		dst = appendHead(dst, kind, name)
		if body != "" {
			dst = append(dst, body...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		head(KindMirror, name)
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		head(KindAuth, host)
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		head(KindTLS, host)
	}
	return dst
}

// replaceWitness is a configuration with entries of others, or, when it is
// filled, one that has every key of the Set with another value as well, in every
// form that the patches can remove.
func replaceWitness(set mirrors.Set, v Version, o options, filled bool) witness {
	var w witness
	switch {
	case !filled && o.documentsOnly:
		w = foreignWitness(set, v)
		_, w.data, _ = bytes.Cut(w.data, []byte("---\n"))
		maps.DeleteFunc(w.keep.Mirrors, func(k string, _ mirrors.Mirror) bool { return strings.Contains(k, "legacy") })
		maps.DeleteFunc(w.keep.Config, func(k string, _ mirrors.HostConfig) bool { return strings.Contains(k, "legacy") })
		return w
	case !filled:
		return emptyWitness()
	}
	stale := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	for name, m := range set.Mirrors {
		old := mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://old.example.com/v2/a", OverridePath: true}}, SkipFallback: true}
		for _, e := range m.Endpoints {
			e.OverridePath = true
			old.Endpoints = append(old.Endpoints, e)
		}
		stale.Mirrors[name] = old
	}
	for host := range set.Config {
		stale.Config[host] = mirrors.HostConfig{
			Auth: &mirrors.Auth{Username: "old", Password: mirrors.NewSecret("made-up")},
			TLS:  &mirrors.TLS{InsecureSkipVerify: true},
		}
	}
	foreign := foreignWitness(set, v)
	legacy, documents := stale.DeepCopy(), stale
	if o.form == Documents {
		maps.DeleteFunc(legacy.Mirrors, func(k string, _ mirrors.Mirror) bool { return !deletable(k) })
		maps.DeleteFunc(legacy.Config, func(k string, _ mirrors.HostConfig) bool { return !deletable(k) })
	}
	w = witness{name: "a machine that has every key already"}
	if !o.documentsOnly {
		if !o.section {
			other, err := Read(foreign.data)
			if err != nil {
				return foreign // prove reports what is wrong with it
			}
			legacy = union(legacy, other.legacy)
			w.keep = other.legacy
		}
		w.data = machineOf(legacy)
	}
	if !v.below(1, 12, 2) {
		if len(w.data) > 0 {
			w.data = append(w.data, "---\n"...)
		}
		other, err := Read(foreign.data)
		if err != nil {
			return foreign
		}
		documents = union(documents, other.documents)
		w.keep = union(w.keep, other.documents)
		w.data = append(w.data, render(documents, Documents)...)
	}
	w.data = append(w.data, witnessDocument...)
	return w
}

func replaceWarnings(set mirrors.Set, v Version, o options) (fs mirrors.Findings) {
	warn := func(path, format string, args ...any) {
		fs = append(fs, mirrors.Finding{Rule: "replace-blind", Severity: mirrors.SeverityWarning, Path: path, Message: fmt.Sprintf(format, args...), Fix: "want Converge, which knows the configuration, where that matters"})
	}
	if o.documentsOnly {
		warn("", "machine.registries, if the configuration has it, stays: the documents hide its entries of their names, and its auth or tls counts where the set has none")
	} else {
		warn("", "a configuration without a v1alpha1 document, if it is one, gets a stub of it, which does not validate")
		if o.form == Documents {
			fs[0].Fix = "want DocumentsOnly for such a configuration"
		}
	}
	if o.form == Documents && !o.documentsOnly {
		const text = `a legacy entry of this name, if there is one, stays: Talos cannot delete a key that begins with "["`
		for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
			if !deletable(name) {
				warn(KindMirror.path(name), text+"; the document hides it")
			}
		}
		for _, host := range slices.Sorted(maps.Keys(set.Config)) {
			if c := set.Config[host]; !deletable(host) {
				if c.Auth != nil && c.TLS != nil {
					warn(hostPath(host), text+"; the documents hide it")
				} else {
					warn(hostPath(host), text+", and its auth or tls counts where the set has none")
				}
			}
		}
	}
	if o.form == Legacy && !v.below(1, 12, 0) {
		switch {
		case v.below(1, 12, 2):
			warn("", "registry documents, if there are any, stay, and hide the legacy entries of their names")
		case o.section:
			warn("", "registry documents that the set does not name, if there are any, stay")
		}
	}
	return fs
}
