package cozystack

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads values, YAML or JSON. The Source has each field's line and column
// in the file, and its path there, such as
// talos.registryMirrors["ghcr.io"].endpoints[0].
//
// The error is a [*mirrors.Error] with every mistake: what [mirrors.Decode]
// reports, a key that is likely meant to be talos.registryMirrors and is not
// (unknown-key), and a file that has neither talos.registryMirrors nor the
// platform's registries (missing-key); where there are no mirrors it is written
// {}, as the charts have it.
func Read(data []byte) (*mirrors.Source, convert.Report, error) {
	root, err := mirrors.ReadDocument(data)
	if root == nil {
		return nil, convert.Report{}, err
	}
	r := reader{errs: []error{err}} // repeated keys; the rest is looked at as well
	r.root(root)
	if r.platform.Value != nil && r.source == nil && mirrors.Join(r.errs[1:]...) == nil {
		return readPlatform(r.platform, r.report, err)
	}
	if err := mirrors.Join(r.errs...); err != nil {
		return nil, convert.Report{}, err
	}
	return r.source, r.report, nil
}

const path = "talos.registryMirrors"

type reader struct {
	source   *mirrors.Source
	report   convert.Report
	errs     []error
	platform tree.Field // registries, which stand alone
}

func (r *reader) root(n *yaml.Node) {
	var talos, misplaced, misspelt bool
	var near []tree.Field
	r.entries(n, "", func(key string, at, v *yaml.Node) {
		switch {
		case key == "talos":
			talos = true
			r.talos(v)
		case key == "registryMirrors":
			misplaced = true
			r.wrong("unknown-key", key, at, "registryMirrors at the root of the values", "want it under talos")
		case key == "registries":
			misplaced = true
			r.platform = tree.Field{Path: key, Name: key, Key: at, Value: v}
		case hasMirrors(v):
			misplaced = true
			r.wrong("unknown-key", key, at, fmt.Sprintf("registryMirrors under %q", key), "want it under talos")
		case aboutRegistries(key):
			near = append(near, tree.Field{Path: tree.Path("", key), Name: key, Key: at})
		default:
			r.report.Ignored = append(r.report.Ignored, key)
		}
	})
	if talos && r.platform.Value != nil {
		r.wrong("unknown-key", "registries", r.platform.Key, "the platform's registries beside talos, which a chart does not read", "want "+path+" alone, or registries alone")
	}
	const want = "want " + path + ", or the platform's registries"
	for _, f := range near {
		switch {
		case talos || misplaced:
			r.report.Entries = append(r.report.Entries, convert.Entry{Kind: convert.Loss, Path: f.Path, Line: f.Key.Line, Column: f.Key.Column,
				Reason: "no chart has registries under this key, and it is not read", Fix: want})
		case f.Name != "mirrors": // that is another format
			misspelt = true
			r.wrong("unknown-key", "", f.Key, fmt.Sprintf("unknown key %q", f.Name), want)
		}
	}
	if n.Kind == yaml.MappingNode && !talos && !misplaced && !misspelt {
		r.wrong("missing-key", "", n, "no "+path+" in the file", "want it, {} where there are no mirrors; is the file another format, see --from?")
	}
}

func (r *reader) talos(n *yaml.Node) {
	var found, misspelt bool
	r.entries(n, "talos", func(key string, at, v *yaml.Node) {
		switch {
		case key == "registryMirrors":
			found = true
			r.mirrors(at, v)
		case aboutRegistries(key):
			misspelt = true
			r.wrong("unknown-key", "talos", at, fmt.Sprintf("unknown key %q", key), `did you mean "registryMirrors"?`)
		default:
			r.report.Ignored = append(r.report.Ignored, "talos."+key)
		}
	})
	if n.Kind == yaml.MappingNode && !found && !misspelt {
		r.wrong("missing-key", "talos", n, "no registryMirrors under talos", "want it, {} where there are no mirrors")
	}
}

func (r *reader) mirrors(at, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		r.wrong("wrong-kind", path, at, "found null", "want a mapping, {} where there are no mirrors")
		return
	}
	var err error
	r.source, err = mirrors.DecodeMirrors(n, path)
	r.errs = append(r.errs, err)
}

// entries calls f for each key of a mapping, once: a repeated one is reported
// by ReadDocument.
func (r *reader) entries(n *yaml.Node, at string, f func(key string, k, v *yaml.Node)) {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.wrong("wrong-kind", at, n, "found "+kind(n), "want a mapping")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := resolve(n.Content[i]), resolve(n.Content[i+1])
		switch {
		case k.Kind == yaml.ScalarNode && k.ShortTag() == "!!merge":
			r.wrong("wrong-kind", at, n.Content[i], "a merge key", "write out what it stands for; within "+path+" it is followed")
		case k.Kind == yaml.ScalarNode && !seen[k.Value]:
			seen[k.Value] = true
			f(k.Value, n.Content[i], v)
		}
	}
}

func (r *reader) wrong(rule, path string, at *yaml.Node, message, fix string) {
	r.errs = append(r.errs, mirrors.Findings{{Rule: rule, Severity: mirrors.SeverityError, Path: path,
		Line: at.Line, Column: at.Column, Message: message, Fix: fix}}.Err())
}

// hasMirrors reports whether a mapping has a key that is meant to be
// registryMirrors: its parent may be a misspelt talos.
func hasMirrors(n *yaml.Node) bool {
	if n.Kind != yaml.MappingNode {
		return false
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == "registryMirrors" {
			return true
		}
	}
	return false
}

// aboutRegistries recognizes what people write for registryMirrors. The charts
// have no other key under talos that it would take for one.
func aboutRegistries(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "mirror") || strings.Contains(key, "registr")
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func kind(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		return "null"
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str":
		return "a string"
	}
	return "a scalar"
}
