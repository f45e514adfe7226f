package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
)

// tree is a schema: maps, slices of any, strings, booleans and int64, which is
// what unstructured objects of Kubernetes are made of, too.
type tree = map[string]any

// Encode returns a schema as indented JSON, sorted by key, in ASCII, with a final
// newline: the same bytes for the same schema. The error is that of
// encoding/json, for a tree that the caller has put something else into.
func Encode(schema map[string]any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	// Patterns name characters that cannot be seen.
	out := make([]byte, 0, text.Len())
	for _, r := range text.String() {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r <= 0xffff:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out, nil
}

// Option says more about the nodes.
type Option func(*options)

type options struct{ imageCache bool }

// WithImageCache says that the nodes have Talos's image cache: a mirror may then
// have skipFallback and no endpoint. It is [mirrors.WithImageCache] of a schema.
func WithImageCache() Option { return func(o *options) { o.imageCache = true } }

func newOptions(opts []Option) (o options) {
	for _, set := range opts {
		set(&o)
	}
	return o
}

// object is a schema of an object with these properties and no others.
func object(properties tree, more tree) tree {
	s := tree{"type": "object", "properties": properties}
	for k, v := range more {
		s[k] = v
	}
	return s
}
