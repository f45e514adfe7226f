// Package talosconfigtemplate keeps the registries of a TalosConfigTemplate
// equal to a [mirrors.Set]. It is pure: a template in, a template out, no client.
//
//	desired, err := talosconfigtemplate.New("cache", set, version)
//	template, err := talosconfigtemplate.Read(object)
//	next, err := desired.Converge(template)
//	if !next.Equal(template) { next.Write(object) … }
//
// Where generateType is controlplane, worker or init, the bootstrap provider makes
// a new configuration for each machine and applies the strategicPatches to it,
// once. The registries are one entry of that list there, what
// [configpatch.Merge] returns. Its first line is a comment, [Mark] and the owner's
// name, by which it is found again; the other entries are never touched.
//
// Where generateType is none, data is the configuration, and [configpatch.Converge]
// changes it. The [Annotation] holds the keys that were written, so that
// one which leaves the Set leaves the data too. Every other key stays.
//
// Talos appends lists when it merges. A key of the Set that another entry, or
// configPatches, writes too is therefore an error, and so is an entry that
// cannot be read.
package talosconfigtemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

const (
	// Mark begins the entry of strategicPatches that is ours; the owner's name
	// is the rest of the line.
	Mark = "# mirrorpatch.example.com/registrymirrors: "

	// Annotation says which keys of data are whose, as
	// {"owner":"cache","keys":["docker.io"]}.
	Annotation = "mirrorpatch.example.com/data"
)

// Template is what matters here of a TalosConfigTemplate, in v1alpha3 and v1beta1.
type Template struct {
	GenerateType     string
	TalosVersion     string
	Data             string
	StrategicPatches []string
	ConfigPatches    []string // the paths of the RFC 6902 operations
	Annotation       string   // the value of [Annotation]; empty when there is none
}

// Equal reports whether both say the same.
func (t Template) Equal(o Template) bool {
	return t.GenerateType == o.GenerateType && t.TalosVersion == o.TalosVersion && t.Data == o.Data && t.Annotation == o.Annotation &&
		slices.Equal(t.StrategicPatches, o.StrategicPatches) && slices.Equal(t.ConfigPatches, o.ConfigPatches)
}

// Error is the error type of this package: one problem. Where there are several,
// errors.Join holds one *Error for each. It holds no value that a field of the
// template has. Of strategicPatches and configPatches it names keys of the Set and
// nothing else. Of data, Err is what [configpatch.Converge] says, which may name
// lines, keys and documents that Talos does not know.
type Error struct {
	Path   string // such as spec.template.spec.strategicPatches[1]
	Reason string // what was found
	Fix    string // what is wanted; may be empty
	Err    error  // the cause; may be nil
}

// Error returns "path: reason: cause (want fix)".
func (e *Error) Error() string {
	text := e.Path + ": " + e.Reason
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Fix != "" {
		text += " (want " + e.Fix + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// at begins each path of an *Error.
const at = "spec.template.spec."

// keys is the value of the annotation.
type keys struct {
	Owner string   `json:"owner"`
	Keys  []string `json:"keys"`
}

// owned reads the annotation. One that someone broke owns nothing: the keys
// of the Set are written all the same, and with them a new annotation.
func (t Template) owned() (k keys) {
	if t.Annotation == "" || json.Unmarshal([]byte(t.Annotation), &k) != nil {
		return keys{}
	}
	return k
}

// owner returns whose entry of strategicPatches this is, and whether it has the
// mark at all.
func owner(patch string) (name string, marked bool) {
	line, _, _ := strings.Cut(patch, "\n")
	name, marked = strings.CutPrefix(line, Mark)
	return strings.TrimSpace(name), marked
}

// Owners returns the names that the marks and the annotation have, each once.
func (t Template) Owners() (names []string) {
	for _, patch := range t.StrategicPatches {
		if name, marked := owner(patch); marked && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if k := t.owned(); k.Owner != "" && !slices.Contains(names, k.Owner) {
		names = append(names, k.Owner)
	}
	return names
}

// Desired is a Set as templates shall have it. It may be used for any number of
// templates, by one goroutine at a time.
type Desired struct {
	owner   string
	set     mirrors.Set
	version configpatch.Version
	options []configpatch.Option
	patches map[configpatch.Version]string // for strategicPatches
}

// New returns the Set for templates, in the name of an owner, for the version of
// the nodes. The error is that of [configpatch.Merge]: with it, no template can
// have this Set.
func New(owner string, set mirrors.Set, version configpatch.Version, options ...configpatch.Option) (*Desired, error) {
	if owner == "" || strings.ContainsFunc(owner, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &Error{Path: "owner", Reason: fmt.Sprintf("%q is no name", owner), Fix: "the name of a Kubernetes object"}
	}
	d := &Desired{owner: owner, set: set, version: version, options: options, patches: map[configpatch.Version]string{}}
	if _, err := d.patch(version); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Desired) patch(v configpatch.Version) (string, error) {
	if text, ok := d.patches[v]; ok {
		return text, nil
	}
	patch, err := configpatch.Merge(d.set, v, d.options...)
	if err != nil {
		return "", err
	}
	d.patches[v] = Mark + d.owner + "\n" + string(patch.Bytes())
	return d.patches[v], nil
}

// Converge returns the template with the registries of the Set, for the older
// of the Set's and the template's Talos versions. A template that has them
// already comes back as it was. With an error, which is an *Error or several
// joined, it comes back as it was, too.
func (d *Desired) Converge(t Template) (Template, error) {
	version, problem := d.versionFor(t)
	problems := []error{problem}
	problems = append(problems, d.others(t)...)
	next := t
	switch t.GenerateType {
	case "controlplane", "worker", "init", "join": // the last is v1alpha3's old word for worker
		patch, err := d.patch(version)
		if err != nil {
			problems = append(problems, &Error{Path: "spec.template.spec", Reason: "no patch for Talos " + version.String(), Err: err})
		}
		next.StrategicPatches = d.replace(t.StrategicPatches, patch)
		next, err = next.withoutData("")
		problems = append(problems, err)
	case "none":
		var err error
		next.StrategicPatches = without(t.StrategicPatches, "")
		next, err = d.data(next, version)
		problems = append(problems, err)
	default:
		problems = append(problems, &Error{Path: at + "generateType", Reason: "not a type that this controller knows", Fix: "controlplane, worker, init or none"})
	}
	if err := errors.Join(problems...); err != nil {
		return t, err
	}
	return next, nil
}

func (d *Desired) versionFor(t Template) (configpatch.Version, error) {
	if t.TalosVersion == "" {
		return d.version, nil
	}
	own, err := configpatch.ParseVersion(t.TalosVersion)
	if err != nil {
		return d.version, &Error{Path: at + "talosVersion", Reason: "not a version", Fix: "a Talos version such as v1.13"}
	}
	return configpatch.Oldest(d.version, own), nil
}

// replace puts the entry where the first marked one is, else at the end. Any other
// marked one goes: it is a copy, or of an owner that has lost the template.
func (d *Desired) replace(patches []string, entry string) (next []string) {
	done := false
	for _, patch := range patches {
		if _, marked := owner(patch); marked {
			if done {
				continue
			}
			patch, done = entry, true
		}
		next = append(next, patch)
	}
	if !done {
		next = append(next, entry)
	}
	return next
}

// without returns the entries that the owner has not marked; all owners when it is empty.
func without(patches []string, of string) (next []string) {
	for _, patch := range patches {
		if name, marked := owner(patch); !marked || of != "" && name != of {
			next = append(next, patch)
		}
	}
	return next
}

// data converges the configuration, and writes down whose keys are which.
func (d *Desired) data(t Template, v configpatch.Version) (Template, error) {
	now := setKeys(d.set)
	options := append(slices.Clone(d.options), configpatch.Own(append(now, t.owned().Keys...)...))
	plan, err := configpatch.Converge([]byte(t.Data), d.set, v, options...)
	if err != nil {
		return t, &Error{Path: at + "data", Reason: "not changed", Err: err}
	}
	note, err := json.Marshal(keys{Owner: d.owner, Keys: now})
	if err != nil {
		return t, &Error{Path: "metadata.annotations", Reason: "not written", Err: err}
	}
	t.Data, t.Annotation = string(plan.Result()), string(note)
	return t, nil
}

// setKeys are the keys that the Set writes, each once, sorted.
func setKeys(set mirrors.Set) (names []string) {
	for name := range set.Mirrors {
		names = append(names, name)
	}
	for name := range set.Config {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Remove returns the template without what an owner wrote; everything else stays.
// The error is an *Error: the data is not a configuration any more.
func (t Template) Remove(of string) (Template, error) {
	next, err := t.withoutData(of)
	if err != nil {
		return t, err
	}
	if slices.ContainsFunc(t.StrategicPatches, func(patch string) bool { name, marked := owner(patch); return marked && name == of }) {
		next.StrategicPatches = without(t.StrategicPatches, of)
	}
	return next, nil
}

// latest is the newest version that machinery 1.13.9 has: what is taken out of
// data depends on what is in it, not on the nodes' version.
var latest = func() configpatch.Version {
	v, err := configpatch.ParseVersion("v1.13.9")
	if err != nil {
		panic(err)
	}
	return v
}()

// withoutData takes the keys of an owner out of the data; of any owner when it is empty.
func (t Template) withoutData(of string) (Template, error) {
	k := t.owned()
	if t.Annotation == "" || of != "" && k.Owner != of {
		return t, nil
	}
	if t.Data != "" && len(k.Keys) > 0 {
		plan, err := configpatch.Converge([]byte(t.Data), mirrors.Set{}, latest, configpatch.Own(k.Keys...))
		if err != nil {
			return t, &Error{Path: at + "data", Reason: "nothing is removed from it", Err: err}
		}
		t.Data = string(plan.Result())
	}
	t.Annotation = ""
	return t, nil
}
