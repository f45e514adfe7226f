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

type options struct {
	imageCache                bool
	mirrors, endpoints, hosts int // the maxima of the OpenAPI form
}

// WithImageCache says that the nodes have Talos's image cache: a mirror may then
// have skipFallback and no endpoint. It is [mirrors.WithImageCache] of a schema.
func WithImageCache() Option { return func(o *options) { o.imageCache = true } }

// WithMaxima says how many mirrors, endpoints of one mirror, and hosts in config the
// schema of [OpenAPI] has room for, instead of [MaxMirrors], [MaxEndpoints] and
// [MaxConfig]. Below a list or a mapping the API server multiplies what the rules may
// cost by its maximum: with the maxima as they are a list of more than two is over the
// limit; with 8 mirrors, 4 endpoints and 8 hosts one of 10 has room. [JSONSchema] has
// no maxima. Those below 1 are left as they are.
func WithMaxima(mirrors, endpoints, hosts int) Option {
	return func(o *options) {
		for field, n := range map[*int]int{&o.mirrors: mirrors, &o.endpoints: endpoints, &o.hosts: hosts} {
			if n > 0 {
				*field = n
			}
		}
	}
}

func newOptions(opts []Option) options {
	o := options{mirrors: MaxMirrors, endpoints: MaxEndpoints, hosts: MaxConfig}
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
