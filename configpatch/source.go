package configpatch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Source returns the Set with the places that its fields have in the
// configuration. The paths are the configuration's own, such as
// machine.registries.mirrors["ghcr.io"].endpoints[0], or for a document
// RegistryMirrorConfig "ghcr.io": endpoints[0].url.
func (e *Effective) Source() *mirrors.Source {
	source := mirrors.NewSource(e.Set.DeepCopy())
	for _, m := range e.marks() {
		source.Mark(m.place, m.at)
	}
	return source
}

// Check is [mirrors.Source.Check] of what counts, each entry judged in the form
// that it stands in: [mirrors.InForm] is set. Endpoints of documents are judged
// as they are written, not as Talos would write them.
func (e *Effective) Check(opts ...mirrors.CheckOption) mirrors.Findings {
	source := mirrors.NewSource(e.written())
	marks := e.marks()
	whole := e.form() // that in which findings about the whole are judged
	used := map[Form]bool{whole: true}
	for _, entry := range e.Entries {
		used[entry.form()] = true
	}
	// A finding names its place by its path, so each place gets one of its own.
	for i, m := range marks {
		source.Mark(m.place, mirrors.Position{Path: strconv.Itoa(i), Line: m.at.Line, Column: m.at.Column})
	}
	var all mirrors.Findings
	for _, form := range []Form{Legacy, Documents} {
		if !used[form] {
			continue
		}
		for _, f := range source.Check(append(slices.Clone(opts), mirrors.InForm(form.String()))...) {
			judged := whole
			if i, err := strconv.Atoi(f.Path); err == nil {
				f.Path, judged = marks[i].at.Path, marks[i].form
			}
			if judged == form {
				all = append(all, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b mirrors.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return all
}

// written is the Set with the URLs of documents as they are written: Talos
// keeps them parsed.
func (e *Effective) written() mirrors.Set {
	set := e.Set.DeepCopy()
	for _, entry := range e.Entries {
		if entry.Kind != KindMirror || entry.form() != Documents {
			continue
		}
		es := set.Mirrors[entry.Name].Endpoints
		items(child(e.spots[entry.place()].value, "endpoints"), func(i int, item *yaml.Node) {
			if url := child(item, "url"); url != nil && url.Kind == yaml.ScalarNode && i < len(es) {
				es[i].URL = url.Value
			}
		})
	}
	return set
}

// form is the form that the entry which counts stands in.
func (e Entry) form() Form {
	if e.Origin == OriginLegacy {
		return Legacy
	}
	return Documents
}

// form is Documents where there is a document that counts.
func (e *Effective) form() Form {
	form := Legacy
	for _, entry := range e.Entries {
		form = max(form, entry.form())
	}
	return form
}

func (e Entry) place() place { return place{e.form(), e.Kind, e.Name} }

// A mark is where a field of the Set stands in the configuration.
type mark struct {
	place mirrors.Place
	at    mirrors.Position
	form  Form
}

// marks returns the marks of all that is written, those of entries first.
func (e *Effective) marks() []mark {
	var marks []mark
	for _, entry := range e.Entries {
		at := mirrors.Place{Section: "config", Key: entry.Name, Field: entry.Kind.String()}
		if entry.Kind == KindMirror {
			at = mirrors.Place{Section: "mirrors", Key: entry.Name}
		}
		path, dot := entry.path(), "."
		if entry.form() == Documents {
			dot = ": "
		}
		marks = append(marks, mark{at, mirrors.Position{Path: path, Line: entry.Line, Column: entry.Column}, entry.form()})
		entry.fields(e.spots[entry.place()].value, func(field, name string, key, value *yaml.Node) {
			if value.Kind == yaml.ScalarNode || value.Kind == yaml.AliasNode {
				key = value
			}
			p := at
			if p.Field != "" {
				field = p.Field + "." + field
			}
			p.Field = field
			marks = append(marks, mark{p, mirrors.Position{Path: path + dot + name, Line: key.Line, Column: key.Column}, entry.form()})
		})
	}
	// What is found about a host as such stands at its key, or else at the first
	// of its documents.
	known := map[string]bool{}
	for _, form := range []Form{Legacy, Documents} {
		for _, entry := range e.Entries {
			if entry.Kind == KindMirror || entry.form() != form || known[entry.Name] {
				continue
			}
			known[entry.Name] = true
			at := mirrors.Position{Path: entry.path(), Line: entry.Line, Column: entry.Column}
			if s, ok := e.spots[place{Legacy, 0, entry.Name}]; form == Legacy && ok {
				at = mirrors.Position{Path: "machine.registries." + hostPath(entry.Name), Line: s.line, Column: s.column}
			}
			marks = append(marks, mark{mirrors.Place{Section: "config", Key: entry.Name}, at, form})
		}
	}
	// What is found about the whole stands at the first entry of its form.
	var first mirrors.Position
	whole := e.form()
	for _, entry := range e.Entries {
		if entry.form() == whole && (first.Line == 0 || entry.Line < first.Line) {
			first = mirrors.Position{Line: entry.Line, Column: entry.Column}
		}
	}
	return append(marks, mark{mirrors.Place{}, first, whole})
}

// path is where the entry that counts stands in the configuration.
func (e Entry) path() string {
	if e.form() == Documents {
		return fmt.Sprintf("%s %q", e.Kind.document(), redactURL(e.Name))
	}
	return "machine.registries." + e.Kind.path(e.Name)
}

// HiddenPath is the path of the legacy entry that the document hides, when
// Origin is OriginBoth, else empty.
func (e Entry) HiddenPath() string {
	if e.Origin != OriginBoth {
		return ""
	}
	return "machine.registries." + e.Kind.path(e.Name)
}

// fields calls f with each field that is written below an entry: its name in
// the Set, its name in the configuration, and where it stands.
func (e Entry) fields(entry *yaml.Node, f func(field, name string, key, value *yaml.Node)) {
	each(entry, func(key, value *yaml.Node) {
		switch name := key.Value; {
		case e.Kind == KindMirror && name == "endpoints":
			items(value, func(i int, item *yaml.Node) {
				at := fmt.Sprintf("endpoints[%d]", i)
				if e.form() == Legacy {
					f(at, at, item, item)
					return
				}
				each(item, func(key, value *yaml.Node) {
					switch key.Value {
					case "url":
						f(at, at+".url", key, value)
					case "overridePath":
						f(at+".overridePath", at+".overridePath", key, value)
					}
				})
			})
		case e.Kind == KindMirror && name == "skipFallback",
			e.Kind == KindAuth && slices.Contains([]string{"username", "password", "auth", "identityToken"}, name),
			e.Kind == KindTLS && (name == "ca" || name == "insecureSkipVerify"):
			f(name, name, key, value)
		case e.Kind == KindTLS && name == "clientIdentity":
			f(name, name, key, value)
			each(value, func(key, value *yaml.Node) {
				switch key.Value {
				case "crt", "cert": // in legacy form, in a document
					f(name+".crt", name+"."+key.Value, key, value)
				case "key":
					f(name+".key", name+".key", key, value)
				}
			})
		}
	})
}
