package mirrors

import (
	"encoding/base64"
	"maps"
	"slices"

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
	root := mapping()
	if len(s.Mirrors) > 0 {
		ms := mapping()
		for _, name := range slices.Sorted(maps.Keys(s.Mirrors)) {
			add(ms, name, mirrorNode(s.Mirrors[name]))
		}
		add(root, "mirrors", ms)
	}
	if len(s.Config) > 0 {
		cs := mapping()
		for _, host := range slices.Sorted(maps.Keys(s.Config)) {
			add(cs, host, configNode(s.Config[host]))
		}
		add(root, "config", cs)
	}
	return root, nil
}

func mirrorNode(m Mirror) *yaml.Node {
	n := mapping()
	mixed := slices.ContainsFunc(m.Endpoints, func(e Endpoint) bool { return e.OverridePath != m.Endpoints[0].OverridePath })
	if len(m.Endpoints) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, e := range m.Endpoints {
			v := text(e.URL)
			if mixed {
				v = mapping()
				add(v, "url", text(e.URL))
				if e.OverridePath {
					add(v, "overridePath", boolNode(true))
				}
			}
			list.Content = append(list.Content, v)
		}
		add(n, "endpoints", list)
		if !mixed && m.Endpoints[0].OverridePath {
			add(n, "overridePath", boolNode(true))
		}
	}
	if m.SkipFallback {
		add(n, "skipFallback", boolNode(true))
	}
	return n
}

func configNode(c HostConfig) *yaml.Node {
	n := mapping()
	if a := c.Auth; a != nil {
		v := mapping()
		addText(v, "username", a.Username)
		addText(v, "password", a.Password.Reveal())
		addText(v, "auth", a.Auth.Reveal())
		addText(v, "identityToken", a.IdentityToken.Reveal())
		add(n, "auth", v)
	}
	if t := c.TLS; t != nil {
		v := mapping()
		addText(v, "ca", encodePEM(string(t.CA)))
		if id := t.ClientIdentity; id != nil {
			i := mapping()
			addText(i, "crt", encodePEM(string(id.Certificate)))
			addText(i, "key", encodePEM(id.Key.Reveal()))
			add(v, "clientIdentity", i)
		}
		if t.InsecureSkipVerify {
			add(v, "insecureSkipVerify", boolNode(true))
		}
		add(n, "tls", v)
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

func mapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

func text(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func boolNode(b bool) *yaml.Node {
	n := &yaml.Node{}
	n.SetString("true")
	n.Tag, n.Style = "!!bool", 0
	if !b {
		n.Value = "false"
	}
	return n
}

func add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, text(key), value)
}

func addText(n *yaml.Node, key, value string) {
	if value != "" {
		add(n, key, text(value))
	}
}
