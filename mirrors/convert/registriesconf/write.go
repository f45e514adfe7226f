package registriesconf

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

type file struct {
	Registries []registryTable `toml:"registry,omitempty"`
}

type registryTable struct {
	Prefix   string        `toml:"prefix,omitempty"`
	Location string        `toml:"location"`
	Insecure bool          `toml:"insecure,omitempty"`
	Mirrors  []mirrorTable `toml:"mirror,omitempty"`
}

type mirrorTable struct {
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure,omitempty"`
}

// Write makes registries.conf, and under certs.d the certificates and keys, as
// they lie in /etc/containers.
func Write(set mirrors.Set) (convert.Files, convert.Report, error) {
	if err := mirrors.Join(set.Check().Err(), tree.Writable(set)); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{set: set, told: map[string]bool{}}
	files := convert.Files{}
	var out file
	for _, key := range tree.Keys(set.Mirrors) {
		if t, ok := w.mirror(key); ok {
			out.Registries = append(out.Registries, t)
		}
	}
	for _, key := range tree.Keys(set.Config) {
		c := set.Config[key]
		if c.Auth != nil {
			w.Add(convert.Loss, "config", key, "auth", "registries.conf has no credentials", "write them to auth.json, the format docker-config")
		}
		t := c.TLS
		if t == nil {
			continue
		}
		if t.InsecureSkipVerify && !w.told[key] {
			// A host of its own, without mirrors.
			if _, ok := set.Mirrors[key]; ok {
				w.Add(convert.Loss, "config", key, "tls.insecureSkipVerify", "the registry has mirrors and is not one of their endpoints", "want it as the last endpoint of its mirror")
			} else {
				name := key
				if key == tree.DockerHub {
					name = "docker.io"
				}
				if _, ok := set.Mirrors[name]; !ok {
					out.Registries = append(out.Registries, registryTable{Location: name, Insecure: true})
				}
				w.insecure(key)
			}
		}
		folder := "certs.d/" + key + "/"
		if t.CA != "" {
			files[folder+"ca.crt"] = []byte(t.CA)
		}
		if id := t.ClientIdentity; id != nil {
			files[folder+"client.cert"], files[folder+"client.key"] = []byte(id.Certificate), []byte(id.Key.Reveal())
		}
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(out); err != nil {
		return nil, convert.Report{}, fmt.Errorf("registries.conf: %w", err)
	}
	files["registries.conf"] = b.Bytes()
	return files, w.Report, nil
}

type writer struct {
	tree.Losses
	set  mirrors.Set
	told map[string]bool // hosts whose insecureSkipVerify is said
}

func (w *writer) insecure(host string) {
	if !w.told[host] {
		w.told[host] = true
		w.Add(convert.Changed, "config", host, "tls.insecureSkipVerify", "Podman asks an insecure location with plain http as well", "give Podman the CA of the host instead, in certs.d")
	}
}

func (w *writer) mirror(key string) (registryTable, bool) {
	m := w.set.Mirrors[key]
	t := registryTable{Location: key}
	if key == "*" {
		w.Add(convert.Loss, "mirrors", key, "", "registries.conf has no mirrors for every registry", "write them for each registry")
		return t, false
	}
	expressible := true // the last endpoint is
	for i, e := range m.Endpoints {
		location, ok := locationOf(e, key)
		expressible = ok
		if !ok {
			w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i), "registries.conf has a path as a prefix of repositories only, /v2/PATH", "want such an endpoint")
			continue
		}
		plain := strings.HasPrefix(tree.Origin(e), "http://")
		if plain {
			w.Add(convert.Changed, "mirrors", key, tree.EndpointField(i), "registries.conf has no scheme; an insecure location is asked with https first", "nothing, unless the host speaks TLS and must not be used so")
		}
		host := tree.HostOf(e.URL)
		skip := false
		if tls := w.set.Config[host].TLS; tls != nil && tls.InsecureSkipVerify {
			skip = true
			w.insecure(host)
		}
		t.Mirrors = append(t.Mirrors, mirrorTable{location, plain || skip})
	}
	if m.SkipFallback && len(m.Endpoints) > 0 {
		n := len(t.Mirrors)
		if !expressible {
			w.Add(convert.Loss, "mirrors", key, "skipFallback", "the last endpoint, which would stand for the registry, cannot be written", "want another last endpoint")
			return t, n > 0
		}
		last := t.Mirrors[n-1]
		t.Mirrors = t.Mirrors[:n-1]
		t.Location, t.Insecure = last.Location, last.Insecure
		if t.Location != key {
			t.Prefix = key
		}
	}
	if len(t.Mirrors) == 0 && t.Prefix == "" && !t.Insecure {
		w.Add(convert.Loss, "mirrors", key, "", "a registry without mirrors; to Podman that says nothing", "drop it")
		return t, false
	}
	return t, true
}

// locationOf is an endpoint as a location.
func locationOf(e mirrors.Endpoint, registry string) (string, bool) {
	host := tree.HostOf(e.URL)
	if registry == "docker.io" && host == tree.DockerHub {
		host = "docker.io"
	}
	p := tree.APIPath(e)
	if p == "/v2" {
		return host, true
	}
	prefix, ok := strings.CutPrefix(p, "/v2/")
	return host + "/" + prefix, ok && prefix != ""
}
