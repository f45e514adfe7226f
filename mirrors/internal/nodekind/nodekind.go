// Package nodekind names YAML nodes for messages.
package nodekind

import "gopkg.in/yaml.v3"

// Of names what a node is, such as "a list". An alias is not followed.
func Of(n *yaml.Node) string {
	const tagged = "a value with a tag of its own"
	switch n.Kind {
	case yaml.MappingNode:
		if n.ShortTag() != "!!map" {
			return tagged
		}
		return "a mapping"
	case yaml.SequenceNode:
		if n.ShortTag() != "!!seq" {
			return tagged
		}
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!str":
		return "a string"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "null"
	case "!!timestamp":
		return "a date"
	case "!!binary":
		return "!!binary data"
	}
	return tagged
}
