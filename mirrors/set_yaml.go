package mirrors

import (
	"encoding/base64"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MarshalYAML writes the Set in the shape that [Decode] reads, which is that
// of machine.registries: sorted by key, the same bytes for equal Sets. CA,
// certificate and key are base64 of PEM, as Talos has them there. A mirror
// whose endpoints all have the same overridePath has it once, else each
// endpoint that has one is written as {url, overridePath}, which Talos's
// machine.registries does not know.
//
// Decode of what it writes gives an equal Set. Exceptions: PEM text that is
// base64 of PEM comes back as the PEM, and strings that are not UTF-8 are an error.
func (s Set) MarshalYAML() (any, error) {
	var w yamlWriter
	root := w.mapping()
	if len(s.Mirrors) > 0 {
		ms := w.mapping()
		for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
			w.add(ms, name, w.mirror(s.Mirrors[name]))
		}
		w.add(root, "mirrors", ms)
	}
	if len(s.Config) > 0 {
		cs := w.mapping()
		for _, host := range slices.Sorted(maps.Keys(s.Config)) {
			w.add(cs, host, w.config(s.Config[host]))
		}
		w.add(root, "config", cs)
	}
	if w.err != nil {
		return nil, w.err
	}
	return root, nil
}

// UnmarshalYAML is [DecodeNode] for a Set that is a field of something else.
// When it fails, s stays as it was.
func (s *Set) UnmarshalYAML(n *yaml.Node) error {
	src, err := DecodeNode(n, "")
	if err != nil {
		return err
	}
	*s = src.Set
	return nil
}

// yamlWriter makes nodes and keeps the first error.
type yamlWriter struct{ err error }

func (w *yamlWriter) mirror(m Mirror) *yaml.Node {
	n := w.mapping()
	if len(m.Endpoints) > 0 {
		first := m.Endpoints[0].OverridePath
		mixed := slices.ContainsFunc(m.Endpoints, func(e Endpoint) bool { return e.OverridePath != first })
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range m.Endpoints {
			v := w.value(e.URL)
			if mixed {
				v = w.mapping()
				w.add(v, "url", w.value(e.URL))
				w.flag(v, "overridePath", e.OverridePath)
			}
			list.Content = append(list.Content, v)
		}
		w.add(n, "endpoints", list)
		w.flag(n, "overridePath", !mixed && first)
	}
	w.flag(n, "skipFallback", m.SkipFallback)
	return n
}

func (w *yamlWriter) config(c HostConfig) *yaml.Node {
	n := w.mapping()
	if a := c.Auth; a != nil {
		v := w.mapping()
		w.text(v, "username", a.Username)
		w.text(v, "password", a.Password.Reveal())
		w.text(v, "auth", a.Auth.Reveal())
		w.text(v, "identityToken", a.IdentityToken.Reveal())
		w.add(n, "auth", v)
	}
	if t := c.TLS; t != nil {
		v := w.mapping()
		w.text(v, "ca", encodePEM(string(t.CA)))
		if id := t.ClientIdentity; id != nil {
			i := w.mapping()
			w.text(i, "crt", encodePEM(string(id.Certificate)))
			w.text(i, "key", encodePEM(id.Key.Reveal()))
			w.add(v, "clientIdentity", i)
		}
		w.flag(v, "insecureSkipVerify", t.InsecureSkipVerify)
		w.add(n, "tls", v)
	}
	return n
}

// encodePEM leaves alone what is no PEM, so that it stays what was written.
func encodePEM(s string) string {
	if !isPEM(s) {
		return s
	}
	return base64.StdEncoding.EncodeToString([]byte(s))
}

func (w *yamlWriter) mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

// value is a string in the style that a YAML 1.1 reader takes for a string too.
func (w *yamlWriter) value(s string) *yaml.Node {
	n := &yaml.Node{}
	if !utf8.ValidString(s) {
		w.err = errors.Join(w.err, errors.New("a string of the Set is not UTF-8"))
		return n
	}
	// yaml.v3 3.0.1 takes "<<" for a merge key, and writes some block scalars
	// that no YAML reader takes, its own included.
	if s == "<<" || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
	} else if err := n.Encode(s); err != nil {
		w.err = errors.Join(w.err, err)
	}
	return n
}

func (w *yamlWriter) add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, w.value(key), value)
}

func (w *yamlWriter) text(n *yaml.Node, key, value string) {
	if value != "" {
		w.add(n, key, w.value(value))
	}
}

func (w *yamlWriter) flag(n *yaml.Node, key string, value bool) {
	if value {
		w.add(n, key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"})
	}
}
