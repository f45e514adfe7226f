package talosconfigtemplate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// others finds what the entries of others say about the keys of the Set.
func (d *Desired) others(t Template) (problems []error) {
	const fix = "it in one place only: here, or in the RegistryMirrors"
	add := func(path string, found []string, err error) {
		if err != nil {
			problems = append(problems, &Error{Path: path, Reason: err.Error(), Fix: "a strategic-merge patch"})
		}
		for _, what := range found {
			problems = append(problems, &Error{Path: path, Reason: "has " + what + " too", Fix: fix})
		}
	}
	for i, patch := range t.StrategicPatches {
		if _, marked := owner(patch); !marked {
			found, err := d.claims(patch)
			add(fmt.Sprintf(at+"strategicPatches[%d]", i), found, err)
		}
	}
	for i, pointer := range t.ConfigPatches {
		if what := d.pointed(pointer); what != "" {
			add(fmt.Sprintf(at+"configPatches[%d]", i), []string{what}, nil)
		}
	}
	return problems
}

var (
	errSyntax = errors.New("cannot be read as YAML")
	errMerge  = errors.New(`has a YAML merge key "<<", which is not looked into`)
	errShape  = errors.New("is no mapping, nor a list of operations")
)

// claims returns what of the Set a patch names: a strategic-merge patch of one or
// more documents, or, as Talos takes it in the same place, RFC 6902 operations.
// Nothing is decoded, so that aliases cannot grow.
func (d *Desired) claims(patch string) (found []string, err error) {
	defer func() {
		if recover() != nil { // of the YAML parser
			found, err = nil, errSyntax
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(patch)))
	for {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, errSyntax
		case len(document.Content) == 0:
			continue
		}
		more, err := d.document(document.Content[0])
		if err != nil {
			return nil, err
		}
		for _, what := range more {
			if !slices.Contains(found, what) {
				found = append(found, what)
			}
		}
	}
}

func (d *Desired) document(root *yaml.Node) (found []string, err error) {
	switch root = target(root); {
	case root.Kind == yaml.ScalarNode && root.Tag == "!!null":
		return nil, nil
	case root.Kind == yaml.SequenceNode:
		return d.operations(root)
	case root.Kind != yaml.MappingNode:
		return nil, errShape
	}
	kinds, err := values(root, "kind")
	if err != nil {
		return nil, err
	}
	if len(kinds) > 0 {
		names, err := values(root, "name")
		if err != nil {
			return nil, err
		}
		for _, kind := range kinds {
			for _, name := range names {
				found = append(found, d.named(kind.Value, name.Value)...)
			}
		}
		return found, nil
	}

	// The v1alpha1 document. A "$patch" on the way to a key may delete what is below it.
	level := []*yaml.Node{root}
	for _, key := range []string{"machine", "registries"} {
		var next []*yaml.Node
		for _, node := range level {
			below, directives, err := step(node, key)
			if err != nil {
				return nil, err
			}
			if directives {
				found = append(found, "a $patch directive for the registries")
			}
			next = append(next, below...)
		}
		level = next
	}
	for _, registries := range level {
		directives, err := values(registries, "$patch")
		if err != nil {
			return nil, err
		}
		if len(directives) > 0 {
			found = append(found, "a $patch directive for the registries")
		}
		for section, kind := range map[string]string{"mirrors": "RegistryMirrorConfig", "config": "RegistryTLSConfig"} {
			nodes, err := values(registries, section)
			if err != nil {
				return nil, err
			}
			for _, node := range nodes {
				names, err := entries(node)
				if err != nil {
					return nil, err
				}
				for _, name := range names {
					if name == "$patch" {
						found = append(found, "a $patch directive for the registries")
					}
					found = append(found, d.named(kind, name)...)
				}
			}
		}
	}
	slices.Sort(found) // a map was walked
	return found, nil
}

// step returns the values of a key, and whether a directive stands beside it.
func step(node *yaml.Node, key string) (below []*yaml.Node, directives bool, err error) {
	below, err = values(node, key)
	if err != nil {
		return nil, false, err
	}
	patch, err := values(node, "$patch")
	return below, len(patch) > 0, err
}

// named returns what a document of a kind and a name writes of the Set.
func (d *Desired) named(kind, name string) []string {
	_, mirror := d.set.Mirrors[name]
	_, host := d.set.Config[name]
	switch {
	case kind == "RegistryMirrorConfig" && mirror:
		return []string{fmt.Sprintf("mirrors[%q]", name)}
	case (kind == "RegistryAuthConfig" || kind == "RegistryTLSConfig") && host:
		return []string{fmt.Sprintf("config[%q]", name)}
	}
	return nil
}

// operations looks at the paths of RFC 6902 operations.
func (d *Desired) operations(list *yaml.Node) (found []string, err error) {
	for _, operation := range list.Content {
		for _, key := range []string{"path", "from"} {
			paths, err := values(target(operation), key)
			if err != nil {
				return nil, err
			}
			for _, path := range paths {
				if what := d.pointed(path.Value); what != "" {
					found = append(found, what)
				}
			}
		}
	}
	return found, nil
}

// pointed returns what of the Set a JSON pointer may change; empty for nothing.
func (d *Desired) pointed(pointer string) string {
	way := []string{"machine", "registries"}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if pointer == "" {
		tokens = nil
	}
	for i, token := range tokens[:min(len(tokens), len(way))] {
		if token != way[i] {
			return ""
		}
	}
	if len(tokens) < 4 {
		return "an operation on the registries as a whole"
	}
	name := strings.NewReplacer("~1", "/", "~0", "~").Replace(tokens[3])
	kind := map[string]string{"mirrors": "RegistryMirrorConfig", "config": "RegistryTLSConfig"}[tokens[2]]
	return strings.Join(d.named(kind, name), "")
}

// target follows an alias.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode && node.Alias != nil {
		return node.Alias
	}
	return node
}

// entries returns the keys of a mapping; none of what is no mapping.
func entries(node *yaml.Node) (names []string, err error) {
	if node.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := target(node.Content[i])
		if key.Tag == "!!merge" {
			return nil, errMerge
		}
		names = append(names, key.Value)
	}
	return names, nil
}

// values returns the values of a key of a mapping, aliases followed: more than
// one where the key is repeated.
func values(node *yaml.Node, key string) (found []*yaml.Node, err error) {
	names, err := entries(node)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if name == key {
			found = append(found, target(node.Content[2*i+1]))
		}
	}
	return found, nil
}
