package k3s

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

type registriesFile struct {
	Mirrors map[string]mirrorEntry `yaml:"mirrors,omitempty"`
	Configs map[string]configEntry `yaml:"configs,omitempty"`
}

type mirrorEntry struct {
	Endpoint []string `yaml:"endpoint"`
}

type configEntry struct {
	Auth *authEntry `yaml:"auth,omitempty"`
	TLS  *tlsEntry  `yaml:"tls,omitempty"`
}

type authEntry struct {
	Username      string         `yaml:"username,omitempty"`
	Password      mirrors.Secret `yaml:"password,omitempty"`
	Auth          mirrors.Secret `yaml:"auth,omitempty"`
	IdentityToken mirrors.Secret `yaml:"identity_token,omitempty"`
}

type tlsEntry struct {
	CAFile             string `yaml:"ca_file,omitempty"`
	CertFile           string `yaml:"cert_file,omitempty"`
	KeyFile            string `yaml:"key_file,omitempty"`
	InsecureSkipVerify bool   `yaml:"insecure_skip_verify,omitempty"`
}

// Write makes registries.yaml, and under tls/ the certificates and keys that it
// names.
//
// k3s has no skipFallback for one registry, but a flag for the node. When a
// mirror has it, the result is one for nodes with the flag: registries with
// fallback get their own URL as the last endpoint.
func Write(set mirrors.Set, opts ...Option) (convert.Files, convert.Report, error) {
	if err := mirrors.Join(set.Check().Err(), tree.Writable(set)); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{options: collect(opts), set: set, files: convert.Files{}}
	w.flag = w.noDefault
	for key := range set.Mirrors {
		if w.skips(key) {
			w.flag = true
		}
	}
	out := registriesFile{Mirrors: map[string]mirrorEntry{}, Configs: map[string]configEntry{}}
	for _, key := range tree.Keys(set.Mirrors) {
		if e := w.mirror(key); len(e.Endpoint) > 0 {
			out.Mirrors[key] = e
		}
	}
	for _, key := range tree.Keys(set.Config) {
		if e := w.config(key); e != (configEntry{}) {
			out.Configs[key] = e
		}
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(out); err != nil {
		return nil, convert.Report{}, &mirrors.Error{Findings: mirrors.Findings{{Rule: "encoding", Severity: mirrors.SeverityError,
			Message: "a value cannot be written as YAML", Fix: "want UTF-8"}}, Err: err}
	}
	w.files["registries.yaml"] = b.Bytes()
	return w.files, w.Report, nil
}

type writer struct {
	tree.Losses
	options
	set   mirrors.Set
	flag  bool // the node has --disable-default-registry-endpoint
	files convert.Files
}

// skips reports whether a mirror never goes upstream.
func (w *writer) skips(key string) bool {
	m := w.set.Mirrors[key]
	return m.SkipFallback && len(m.Endpoints) > 0 && !tree.IsUpstream(m.Endpoints[len(m.Endpoints)-1].URL, key)
}

func (w *writer) mirror(key string) mirrorEntry {
	m := w.set.Mirrors[key]
	var out mirrorEntry
	if len(m.Endpoints) == 0 {
		w.Add(convert.Loss, "mirrors", key, "", "to k3s, a registry without endpoints is one that its embedded registry mirror serves", "drop it, or name its endpoints")
		return out
	}
	for i, e := range m.Endpoints {
		p := tree.APIPath(e)
		if p == "" {
			w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i), "k3s appends /v2 to a URL without a path", "want a path")
			continue
		}
		url := tree.Origin(e)
		if p != "/v2" {
			url += p
		}
		if !slices.Contains(out.Endpoint, url) { // https://m and https://m/v2 are the same
			out.Endpoint = append(out.Endpoint, url)
		}
	}

	host := tree.UpstreamHost(key)
	_, byName := w.set.Config[key]
	switch {
	case w.skips(key) && byName:
		w.Add(convert.Loss, "mirrors", key, "skipFallback",
			fmt.Sprintf("k3s goes to the registry itself when configs has an entry for it, and the Set has config[%s]", tree.Quote(key)), "drop that entry")
	case w.skips(key) && !w.noDefault:
		w.Add(convert.Decision, "mirrors", key, "skipFallback", "k3s has it for a whole node", "start the node with --disable-default-registry-endpoint")
	case !w.skips(key) && w.flag && key == "*":
		w.Add(convert.Loss, "mirrors", key, "skipFallback",
			`with --disable-default-registry-endpoint, which other mirrors need, "*" has no fallback either`, "want skipFallback for all mirrors, or for none")
	case !w.skips(key) && w.flag && !byName && !tree.IsUpstream(m.Endpoints[len(m.Endpoints)-1].URL, key):
		out.Endpoint = append(out.Endpoint, "https://"+host)
	}
	return out
}

func (w *writer) config(key string) configEntry {
	c := w.set.Config[key]
	var out configEntry
	if a := c.Auth; a != nil {
		out.Auth = &authEntry{a.Username, a.Password, a.Auth, a.IdentityToken}
	}
	if t := c.TLS; t != nil {
		var e tlsEntry
		file := func(kind, content string) string {
			name := "tls/" + key + "-" + kind
			w.files[name] = []byte(content)
			return path.Join(w.folder, name)
		}
		if t.CA != "" {
			e.CAFile = file("ca.crt", string(t.CA))
		}
		if id := t.ClientIdentity; id != nil {
			e.CertFile, e.KeyFile = file("client.crt", string(id.Certificate)), file("client.key", id.Key.Reveal())
		}
		e.InsecureSkipVerify = t.InsecureSkipVerify
		if e != (tlsEntry{}) {
			out.TLS = &e
		}
	}
	_, mirrored := w.set.Mirrors[key]
	_, everything := w.set.Mirrors["*"]
	if everything && !mirrored && out.TLS == nil && out.Auth != nil {
		w.Add(convert.Changed, "config", key, "auth",
			fmt.Sprintf(`k3s pulls the images of %s from there, since it has an entry in configs; Talos pulls them through the mirrors of "*"`, tree.Quote(key)),
			"nothing, unless images have that name")
	}
	if mirrored && out.TLS != nil && !w.isEndpoint(key) {
		w.Add(convert.Changed, "config", key, "tls", "k3s uses the TLS settings also when it falls back to the registry itself; containerd on Talos does not",
			"want its own URL as the last endpoint of the mirror")
	}
	return out
}

func (w *writer) isEndpoint(host string) bool {
	for _, e := range w.set.Mirrors[host].Endpoints {
		if tree.HostOf(e.URL) == host {
			return true
		}
	}
	return false
}
