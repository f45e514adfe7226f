package configpatch

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// A place is where an entry stands in one of the forms. A host of
// machine.registries.config as such has no kind.
type place struct {
	form Form
	kind Kind
	name string
}

// A spot is where an entry begins, and what it says.
type spot struct {
	line, column int
	value        *yaml.Node
}

func spotOf(at, value *yaml.Node) spot { return spot{at.Line, at.Column, value} }

// A layout is what a configuration looks like as text.
type layout struct {
	spots   map[place]spot
	ignored []string // what is not about registries
}

// locate returns where the entries stand. It is best effort: machinery, whose
// decoder keeps no lines, reads the configuration.
func locate(data []byte) (l layout) {
	l.spots = map[place]spot{}
	defer func() { _ = recover() }() // a line that is missing is better than a panic of another decoder
	seen := map[string]bool{}
	ignore := func(path string) {
		if !seen[path] {
			seen[path] = true
			l.ignored = append(l.ignored, path)
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return l
		}
		if len(doc.Content) != 1 {
			continue
		}
		root := doc.Content[0]
		if kind := child(root, "kind"); kind != nil {
			known := false
			for k := KindMirror; k <= KindTLS; k++ {
				if k.document() != kind.Value {
					continue
				}
				known = true
				if name := child(root, "name"); name != nil {
					l.spots[place{Documents, k, name.Value}] = spotOf(root, root)
				}
			}
			if !known {
				ignore(kind.Value)
			}
			continue
		}
		each(root, func(key, value *yaml.Node) {
			if key.Value != "machine" {
				ignore(key.Value)
				return
			}
			each(value, func(key, _ *yaml.Node) {
				if key.Value != "registries" {
					ignore("machine." + key.Value)
				}
			})
		})
		registries := child(child(root, "machine"), "registries")
		each(child(registries, "mirrors"), func(key, value *yaml.Node) {
			l.spots[place{Legacy, KindMirror, key.Value}] = spotOf(key, value)
		})
		each(child(registries, "config"), func(host, value *yaml.Node) {
			l.spots[place{Legacy, 0, host.Value}] = spotOf(host, value)
			each(value, func(key, value *yaml.Node) {
				switch key.Value {
				case "auth":
					l.spots[place{Legacy, KindAuth, host.Value}] = spotOf(key, value)
				case "tls":
					l.spots[place{Legacy, KindTLS, host.Value}] = spotOf(key, value)
				}
			})
		})
	}
}

func child(n *yaml.Node, key string) (found *yaml.Node) {
	each(n, func(k, v *yaml.Node) {
		if k.Value == key {
			found = v
		}
	})
	return found
}

func each(n *yaml.Node, f func(key, value *yaml.Node)) {
	if n == nil {
		return
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i], n.Content[i+1])
	}
}

// items calls f with each item of a list.
func items(n *yaml.Node, f func(i int, item *yaml.Node)) {
	if n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range n.Content {
		f(i, item)
	}
}
