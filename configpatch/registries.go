package configpatch

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// Registries returns the effective configuration as YAML in the shape that
// [mirrors.Decode] reads, with a comment at each entry that says where it is
// from. Passwords, tokens, keys and the userinfo of URLs are "[redacted]" unless
// reveal is set; what is redacted does not read back. The error is an [*Error]:
// a value of machine.registries that is not UTF-8, which YAML cannot hold.
func (e *Effective) Registries(reveal bool) ([]byte, error) {
	set := e.Set
	if !reveal {
		set = redact(set)
	}
	value, err := set.MarshalYAML()
	if err != nil {
		return nil, &Error{Reason: "cannot write the configuration", Err: err}
	}
	root := value.(*yaml.Node)
	comments := map[Change]string{} // by kind and name
	for _, entry := range e.Entries {
		comments[Change{Kind: entry.Kind, Name: entry.Name}] = entry.origin()
	}
	each(child(root, "mirrors"), func(key, _ *yaml.Node) {
		key.HeadComment = comments[Change{Kind: KindMirror, Name: key.Value}]
	})
	each(child(root, "config"), func(host, value *yaml.Node) {
		for _, kind := range []Kind{KindAuth, KindTLS} {
			each(value, func(key, _ *yaml.Node) {
				if key.Value == kind.String() {
					key.HeadComment = comments[Change{Kind: kind, Name: host.Value}]
				}
			})
		}
	})
	if !reveal {
		for _, section := range []string{"mirrors", "config"} {
			each(child(root, section), func(key, _ *yaml.Node) { key.Value = redactURL(key.Value) })
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	if err := encoder.Encode(root); err != nil {
		return nil, &Error{Reason: "cannot write the configuration", Err: err}
	}
	return out.Bytes(), nil
}

// origin is where an entry is from, as a sentence has it.
func (e Entry) origin() string {
	at := func(line int) string {
		if line == 0 {
			return ""
		}
		return fmt.Sprintf(", line %d", line)
	}
	switch e.Origin {
	case OriginLegacy:
		return "machine.registries" + at(e.Line)
	case OriginDocument:
		return e.Kind.document() + at(e.Line)
	default:
		return fmt.Sprintf("%s%s; it hides machine.registries%s", e.Kind.document(), at(e.Line), at(e.Hidden))
	}
}
