package configpatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// ErrNotOwned is in the error of [Converge] when the Set names a key that the
// caller does not own: the call is wrong, not the Set.
var ErrNotOwned = errors.New("not owned by the caller")

// Plan is what [Converge] returns.
type Plan struct {
	// Patch is the one patch that the configuration needs; nil when it needs none.
	Patch *Patch

	// Changes say what the patch does, in the order mirrors, credentials, TLS
	// settings, each sorted by name.
	Changes []Change

	// Reboot: containerd takes the change up only when the node reboots. That is
	// so for credentials below Talos 1.14; everything else is taken up at once. The
	// version that Converge was given decides, the older of client and node: with a
	// client below 1.14 Reboot may be set although the node, at 1.14, needs none.
	Reboot bool

	// Before and After are the effective configurations.
	Before, After *Effective

	result []byte
}

// Result returns the configuration after the patch, as machinery encodes it,
// which keeps no comments; when there is no patch, the configuration as it was,
// byte for byte.
func (p Plan) Result() []byte { return bytes.Clone(p.result) }

// String says what changes, without any value.
func (p Plan) String() string {
	if p.Patch == nil {
		return "nothing to change"
	}
	texts := make([]string, len(p.Changes))
	for i, c := range p.Changes {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

// Format writes what String returns, for every verb and flag.
func (p Plan) Format(f fmt.State, _ rune) { io.WriteString(f, p.String()) }

// LogValue is String, for log/slog.
func (p Plan) LogValue() slog.Value { return slog.StringValue(p.String()) }

// Change is one entry that a [Plan] changes.
type Change struct {
	Kind   Kind
	Name   string
	Action Action
}

// String returns a text such as "mirror docker.io: changed".
func (c Change) String() string { return fmt.Sprintf("%s %s: %s", c.Kind, redactURL(c.Name), c.Action) }

// Action says what happens to an entry.
type Action int

const (
	Added   Action = iota + 1 // it was in neither form
	Changed                   // it has another value now
	Removed                   // the Set does not have it
	Moved                     // it has the same value, now in one form alone
)

// String returns "added", "changed", "removed" or "moved".
func (a Action) String() string {
	switch a {
	case Added:
		return "added"
	case Changed:
		return "changed"
	case Removed:
		return "removed"
	case Moved:
		return "moved"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// Converge compares a configuration with the Set and returns the least change
// that makes them agree, as one strategic-merge patch for exactly this
// configuration; none when nothing differs. It removes what the caller owns
// (see [Own]) and the Set does not name. What others put into the
// configuration, and what already agrees, is not touched.
//
// An entry that differs is written in the form of [FormFor] or [WithForm], and
// removed from the other one. An entry that agrees stays in the form that it is
// in, unless WithForm was given. A legacy entry of an owned key that a document
// hides goes also when the document agrees: it may hold an old password.
//
// A patch that removes something needs a client of Talos 1.8 or later. The patch
// is for one use: what it removes is not there a second time, and Talos then
// refuses it.
//
// The patch is proven before it is returned: machinery applies it, the result
// reads back as the Set for all that is owned, and everything else is as it was,
// value for value, with all other documents in their order.
func Converge(current []byte, set mirrors.Set, v Version, opts ...Option) (Plan, error) {
	o := collect(v, opts)
	p := checkSet(set, v, o)
	for _, name := range slices.Sorted(maps.Keys(set.Mirrors)) {
		if !o.owns(name) {
			p = append(p, &Error{Path: KindMirror.path(name), Err: ErrNotOwned, Fix: "its name in Own"})
		}
	}
	for _, host := range slices.Sorted(maps.Keys(set.Config)) {
		if !o.owns(host) {
			p = append(p, &Error{Path: hostPath(host), Err: ErrNotOwned, Fix: "its name in Own"})
		}
	}
	before, err := Read(current)
	if err != nil {
		p = append(p, err)
	}
	if err := p.err(); err != nil {
		return Plan{}, err
	}
	return converge(current, before, set, v, o)
}

func converge(current []byte, before *Effective, set mirrors.Set, v Version, o options) (Plan, error) {
	d := newDelta(before, v, o)
	d.compare(set)
	d.finish()
	plan := Plan{Changes: d.changes, Before: before, After: before, result: bytes.Clone(current)}
	for _, c := range d.changes {
		if c.Kind == KindAuth && c.Action != Moved && v.Compare(restartsForAuth) < 0 {
			plan.Reboot = true
		}
	}
	data := d.render()
	if len(data) == 0 {
		return plan, nil
	}
	if d.deletes && v.below(1, 8, 0) {
		return Plan{}, &Error{Path: "version", Reason: fmt.Sprintf("the change removes something, and a client of Talos %s does not know $patch: delete", v.number()), Fix: "1.8 or later"}
	}
	if len(d.documentDeletes)+len(d.documentWrites) > 0 && v.below(1, 12, 0) {
		return Plan{}, &Error{Path: "version", Reason: fmt.Sprintf("the change concerns registry documents, which Talos %s does not know", v.number()), Fix: "1.12.0 or later"}
	}
	if d.writesLegacy && !before.hasV1Alpha1 {
		return Plan{}, &Error{Reason: "the configuration has no v1alpha1 document for the legacy form", Fix: "the documents form (Talos 1.12.0 and later)"}
	}
	patch := Patch{name: "mirrors.yaml", data: data}
	base, err := load(current)
	if err != nil {
		return Plan{}, &Error{Reason: "cannot load the configuration", Err: err}
	}
	result, encoded, err := apply(current, patch)
	if err != nil {
		return Plan{}, &Error{Reason: "proof: machinery refuses the patch", Err: err}
	}
	after, err := readProvider(result, encoded)
	if err != nil {
		return Plan{}, &Error{Reason: "proof: cannot read the result", Err: err}
	}
	if err := sameSet(after.Set, target(before.Set, set, o)); err != nil {
		return Plan{}, &Error{Reason: "proof: the patch gives another set", Err: err}
	}
	for _, e := range after.Entries {
		if e.Origin == OriginBoth && o.owns(e.Name) {
			return Plan{}, &Error{Path: e.path(), Reason: "proof: the patch leaves a hidden legacy entry"}
		}
	}
	if err := restUnchanged(base, result, d.changes); err != nil {
		return Plan{}, err
	}
	if err := validates(base, result); err != nil {
		return Plan{}, err
	}
	plan.Patch, plan.After, plan.result = &patch, after, encoded
	return plan, nil
}

// restartsForAuth is the first version whose containerd service restarts when
// credentials change.
var restartsForAuth = Version{major: 1, minor: 14, pre: "beta.0"}

// target is what the configuration must say afterwards.
func target(before, set mirrors.Set, o options) mirrors.Set {
	others := mirrors.Set{Mirrors: maps.Clone(before.Mirrors), Config: maps.Clone(before.Config)}
	maps.DeleteFunc(others.Mirrors, func(k string, _ mirrors.Mirror) bool { return o.owns(k) })
	maps.DeleteFunc(others.Config, func(k string, _ mirrors.HostConfig) bool { return o.owns(k) })
	return union(others, said(set))
}
