package configpatch

import (
	"bytes"

	"gopkg.in/yaml.v3"
)

// locate fills in the lines of the entries. It is best effort: machinery, whose
// decoder keeps no lines, has read the configuration already.
func (e *Effective) locate(data []byte) {
	defer func() { _ = recover() }() // a line that is missing is better than a panic of another decoder
	type place struct {
		kind Kind
		name string
	}
	legacy, documents := map[place]int{}, map[place]int{}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		if dec.Decode(&doc) != nil {
			break
		}
		if len(doc.Content) != 1 {
			continue
		}
		root := doc.Content[0]
		if kind := child(root, "kind"); kind != nil {
			if name := child(root, "name"); name != nil {
				for k := KindMirror; k <= KindTLS; k++ {
					if k.document() == kind.Value {
						documents[place{k, name.Value}] = root.Line
					}
				}
			}
			continue
		}
		registries := child(child(root, "machine"), "registries")
		each(child(registries, "mirrors"), func(key, _ *yaml.Node) {
			legacy[place{KindMirror, key.Value}] = key.Line
		})
		each(child(registries, "config"), func(host, value *yaml.Node) {
			each(value, func(key, _ *yaml.Node) {
				switch key.Value {
				case "auth":
					legacy[place{KindAuth, host.Value}] = key.Line
				case "tls":
					legacy[place{KindTLS, host.Value}] = key.Line
				}
			})
		})
	}
	for i := range e.Entries {
		entry := &e.Entries[i]
		at := place{entry.Kind, entry.Name}
		switch entry.Origin {
		case OriginLegacy:
			entry.Line = legacy[at]
		case OriginDocument:
			entry.Line = documents[at]
		case OriginBoth:
			entry.Line, entry.Hidden = documents[at], legacy[at]
		}
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
