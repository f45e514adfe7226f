package configpatch

import (
	"maps"
	"slices"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// A delta is the way from one configuration to another, entry by entry. The
// legacy section is compared as a whole at the end, since some of its keys
// cannot be deleted alone; documents are compared one by one.
type delta struct {
	v       Version
	o       options
	before  *Effective
	mirrors map[string]rawMirror // the legacy section as it is to be
	config  map[string]rawHost

	changes      []Change
	deletes      bool // $patch: delete is used
	writesLegacy bool

	legacyDeletes, legacyWrites     tree
	documentDeletes, documentWrites []document
}

// A document is one YAML document of the patch.
type document struct {
	kind Kind
	name string
	body tree
	gone bool
}

// compare finds what differs for the owned keys.
func (d *delta) compare(set mirrors.Set) {
	now := d.before.Set
	for _, name := range sortedKeys(now.Mirrors, set.Mirrors) {
		have, inNow := now.Mirrors[name]
		want, inSet := set.Mirrors[name]
		_, legacy := d.before.legacy.Mirrors[name]
		_, document := d.before.documents.Mirrors[name]
		switch d.decide(KindMirror, name, inNow, inSet, inNow && inSet && have.Equal(want), legacy, document) {
		case writeLegacy:
			d.mirrors[name] = newRawMirror(want)
			d.removeDocument(KindMirror, name, document)
		case writeDocument:
			delete(d.mirrors, name)
			d.writeDocument(KindMirror, name, document, func() (tree, bool) {
				return diffMirror(d.before.documents.Mirrors[name], want, !d.v.below(1, 12, 5))
			}, func() tree { return mirrorTree(want) })
		case removeHidden:
			delete(d.mirrors, name)
		case remove:
			delete(d.mirrors, name)
			d.removeDocument(KindMirror, name, document)
		}
	}
	for _, host := range sortedKeys(now.Config, set.Config) {
		have, want := now.Config[host].Auth, set.Config[host].Auth
		legacy, document := d.before.legacy.Config[host].Auth, d.before.documents.Config[host].Auth
		same := have != nil && want != nil && *have == *want
		switch d.decide(KindAuth, host, have != nil, want != nil, same, legacy != nil, document != nil) {
		case writeLegacy:
			d.setHost(host, func(h *rawHost) { h.auth = want })
			d.removeDocument(KindAuth, host, document != nil)
		case writeDocument:
			d.setHost(host, func(h *rawHost) { h.auth = nil })
			d.writeDocument(KindAuth, host, document != nil, func() (tree, bool) {
				return diffAuth(*document, *want), true
			}, func() tree { return authTree(*want) })
		case removeHidden:
			d.setHost(host, func(h *rawHost) { h.auth = nil })
		case remove:
			d.setHost(host, func(h *rawHost) { h.auth = nil })
			d.removeDocument(KindAuth, host, document != nil)
		}
	}
	for _, host := range sortedKeys(now.Config, set.Config) {
		have, want := now.Config[host].TLS, set.Config[host].TLS
		legacy, document := d.before.legacy.Config[host].TLS, d.before.documents.Config[host].TLS
		same := have != nil && want != nil && sameTLS(*have, *want)
		switch d.decide(KindTLS, host, have != nil, want != nil, same, legacy != nil, document != nil) {
		case writeLegacy:
			d.setHost(host, func(h *rawHost) { h.tls = newRawTLS(*want) })
			d.removeDocument(KindTLS, host, document != nil)
		case writeDocument:
			d.setHost(host, func(h *rawHost) { h.tls = nil })
			d.writeDocument(KindTLS, host, document != nil, func() (tree, bool) {
				return diffTLS(*document, *want)
			}, func() tree { return tlsTree(*want) })
		case removeHidden:
			d.setHost(host, func(h *rawHost) { h.tls = nil })
		case remove:
			d.setHost(host, func(h *rawHost) { h.tls = nil })
			d.removeDocument(KindTLS, host, document != nil)
		}
	}
}

type step int

const (
	leave step = iota
	writeLegacy
	writeDocument
	removeHidden // the legacy entry, for the document says what it has to
	remove
)

// decide says what to do about an entry, and notes it.
func (d *delta) decide(kind Kind, name string, inNow, inSet, same, legacy, document bool) step {
	write := writeLegacy
	elsewhere := document
	if d.o.form == Documents {
		write, elsewhere = writeDocument, legacy
	}
	var (
		action Action
		next   step
	)
	switch {
	case !d.o.owns(name) || !inNow && !inSet:
		return leave
	case !inSet:
		action, next = Removed, remove
	case !inNow:
		action, next = Added, write
	case !same:
		action, next = Changed, write
	case d.o.insist && elsewhere:
		action, next = Moved, write
	case legacy && document:
		action, next = Moved, removeHidden
	default:
		return leave
	}
	d.changes = append(d.changes, Change{Kind: kind, Name: name, Action: action})
	return next
}

// setHost changes what the legacy section is to say about a host that it has, or
// gets; a host that is left with nothing goes.
func (d *delta) setHost(host string, change func(*rawHost)) {
	h := d.config[host]
	change(&h)
	if h.auth == nil && h.tls == nil {
		delete(d.config, host)
		return
	}
	d.config[host] = h
}

func (d *delta) removeDocument(kind Kind, name string, there bool) {
	if there {
		d.documentDeletes = append(d.documentDeletes, document{kind: kind, name: name, gone: true})
		d.deletes = true
	}
}

// writeDocument writes the difference where that can be said, else the whole.
func (d *delta) writeDocument(kind Kind, name string, there bool, diff func() (tree, bool), whole func() tree) {
	if there {
		if body, ok := diff(); ok {
			if len(body) > 0 {
				d.documentWrites = append(d.documentWrites, document{kind: kind, name: name, body: body})
			}
			return
		}
		d.removeDocument(kind, name, true)
	}
	d.documentWrites = append(d.documentWrites, document{kind: kind, name: name, body: whole()})
}

// finish compares the legacy section.
func (d *delta) finish() {
	var deletes, writes tree
	section := func(key string, diff entriesDiff) {
		removed, written := diff.deletes, diff.writes
		if diff.blocked {
			deletes = append(deletes, deletion(key))
			removed, written = nil, diff.all
		}
		if len(removed) > 0 {
			deletes = append(deletes, entry{key: key, sub: removed})
		}
		if len(written) > 0 {
			writes = append(writes, entry{key: key, sub: written})
		}
	}
	section("mirrors", diffEntries(rawMirrors(d.before.raw), d.mirrors, rawMirror.diff, rawMirror.tree))
	section("config", diffEntries(rawConfig(d.before.raw), d.config, rawHost.diff, rawHost.tree))
	wrap := func(t tree) tree {
		return tree{{key: "machine", sub: tree{{key: "registries", sub: t}}}}
	}
	if len(deletes) > 0 {
		d.deletes = true
		d.legacyDeletes = wrap(deletes)
	}
	if len(writes) > 0 {
		d.writesLegacy = true
		d.legacyWrites = wrap(writes)
	}
}

// An entriesDiff is how a map of the legacy section changes. When something has
// to be deleted at or below a key that Talos cannot delete at, it is blocked: the
// map then is deleted as a whole, and all of it written.
type entriesDiff struct {
	deletes, writes, all tree
	blocked              bool
}

func diffEntries[E any](before, after map[string]E, diff func(E, E) (deletes, writes tree), whole func(E) tree) (d entriesDiff) {
	for _, key := range sortedKeys(before, after) {
		b, inBefore := before[key]
		a, inAfter := after[key]
		if inAfter {
			d.all = append(d.all, entry{key: key, sub: whole(a)})
		}
		switch {
		case !inAfter:
			d.deletes = append(d.deletes, deletion(key))
			d.blocked = d.blocked || !deletable(key)
		case !inBefore:
			d.writes = append(d.writes, entry{key: key, sub: whole(a)})
		default:
			gone, written := diff(b, a)
			if len(gone) > 0 {
				d.deletes = append(d.deletes, entry{key: key, sub: gone})
				d.blocked = d.blocked || !deletable(key)
			}
			if len(written) > 0 {
				d.writes = append(d.writes, entry{key: key, sub: written})
			}
		}
	}
	return d
}

// render returns the patch, nil when nothing differs.
func (d *delta) render() []byte {
	var dst []byte
	for _, t := range []tree{d.legacyDeletes, d.legacyWrites} {
		if len(t) > 0 {
			if len(dst) > 0 {
				dst = append(dst, "---\n"...)
			}
			dst = t.append(dst, 0)
		}
	}
	for _, doc := range slices.Concat(d.documentDeletes, d.documentWrites) {
		dst = appendHead(dst, doc.kind, doc.name)
		if doc.gone {
			dst = append(dst, deleteLine...)
		}
		dst = doc.body.append(dst, 0)
	}
	return dst
}

func sortedKeys[E any](a, b map[string]E) []string {
	keys := slices.Collect(maps.Keys(a))
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func sameTLS(a, b mirrors.TLS) bool {
	return a.CA == b.CA && a.InsecureSkipVerify == b.InsecureSkipVerify &&
		(a.ClientIdentity == nil) == (b.ClientIdentity == nil) &&
		(a.ClientIdentity == nil || *a.ClientIdentity == *b.ClientIdentity)
}

func newDelta(before *Effective, v Version, o options) *delta {
	return &delta{v: v, o: o, before: before, mirrors: rawMirrors(before.raw), config: rawConfig(before.raw)}
}

// diffMirror returns what turns one mirror document into another, and whether
// that can be said without deleting the document. Talos appends endpoints; from
// 1.12.5 on it can delete one by its URL.
func diffMirror(before, after mirrors.Mirror, byURL bool) (t tree, ok bool) {
	switch kept, rest, ok := keep(before.Endpoints, after.Endpoints); {
	case len(kept) == len(before.Endpoints) && len(rest) == 0:
	case len(kept) == len(before.Endpoints):
		t = append(t, entry{key: "endpoints", leaf: endpointList(nil, rest)})
	case len(after.Endpoints) == 0:
		t = append(t, deletion("endpoints"))
	case byURL && ok && len(kept) > 0:
		t = append(t, entry{key: "endpoints", leaf: endpointList(without(before.Endpoints, kept), rest)})
	default:
		return nil, false
	}
	if before.SkipFallback != after.SkipFallback {
		t = append(t, entry{key: "skipFallback", leaf: flag(after.SkipFallback)})
	}
	return t, true
}

// keep returns the endpoints of before that after begins with, in order, and the
// rest of after. ok is false when one of those that go cannot be named by its URL.
func keep(before, after []mirrors.Endpoint) (kept, rest []mirrors.Endpoint, ok bool) {
	ok = true
	seen := map[string]bool{}
	n := 0
	for _, e := range before {
		ok = ok && !seen[e.URL]
		seen[e.URL] = true
		if n < len(after) && e == after[n] {
			n++
		}
	}
	return after[:n], after[n:], ok
}

func without(before, kept []mirrors.Endpoint) (gone []mirrors.Endpoint) {
	for _, e := range before {
		if len(kept) > 0 && e == kept[0] {
			kept = kept[1:]
		} else {
			gone = append(gone, e)
		}
	}
	return gone
}

func diffAuth(before, after mirrors.Auth) (t tree) {
	b, a := authFields(before), authFields(after)
	for i, f := range a {
		switch {
		case f.value == b[i].value:
		case f.value == "":
			t = append(t, deletion(f.key))
		default:
			t = append(t, entry{key: f.key, leaf: scalar(f.value)})
		}
	}
	return t
}

func diffTLS(before, after mirrors.TLS) (t tree, ok bool) {
	b, a := before.ClientIdentity, after.ClientIdentity
	switch {
	case a == nil && b != nil:
		t = append(t, deletion("clientIdentity"))
	case a == nil, b != nil && *a == *b:
	case b != nil && (a.Certificate == "" || a.Key.IsZero()):
		return nil, false // an empty string does not overwrite
	default:
		t = append(t, identityEntry(*a))
	}
	switch {
	case before.CA == after.CA:
	case after.CA == "":
		t = append(t, deletion("ca"))
	default:
		t = append(t, entry{key: "ca", leaf: text(string(after.CA))})
	}
	if before.InsecureSkipVerify != after.InsecureSkipVerify {
		t = append(t, entry{key: "insecureSkipVerify", leaf: flag(after.InsecureSkipVerify)})
	}
	return t, true
}
