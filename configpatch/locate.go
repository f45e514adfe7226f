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

// locate returns the lines of the entries. It is best effort: machinery, whose
// decoder keeps no lines, reads the configuration.
func locate(data []byte) (lines map[place]int) {
	lines = map[place]int{}
	defer func() { _ = recover() }() // a line that is missing is better than a panic of another decoder
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			return lines
		}
		if len(doc.Content) != 1 {
			continue
		}
		root := doc.Content[0]
		if kind := child(root, "kind"); kind != nil {
			if name := child(root, "name"); name != nil {
				for k := KindMirror; k <= KindTLS; k++ {
					if k.document() == kind.Value {
						lines[place{Documents, k, name.Value}] = root.Line
					}
				}
			}
			continue
		}
		registries := child(child(root, "machine"), "registries")
		each(child(registries, "mirrors"), func(key, _ *yaml.Node) {
			lines[place{Legacy, KindMirror, key.Value}] = key.Line
		})
		each(child(registries, "config"), func(host, value *yaml.Node) {
			lines[place{Legacy, 0, host.Value}] = host.Line
			each(value, func(key, _ *yaml.Node) {
				switch key.Value {
				case "auth":
					lines[place{Legacy, KindAuth, host.Value}] = key.Line
				case "tls":
					lines[place{Legacy, KindTLS, host.Value}] = key.Line
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
