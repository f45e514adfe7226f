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
//
// Podman refuses a file in which one location is insecure in one table and not in
// another, as http:// and https:// of one host would make it. The second mirror
// then has that endpoint before its registry instead of in place of it: its
// skipFallback is in the report as a loss.
func Write(set mirrors.Set) (convert.Files, convert.Report, error) {
	if err := mirrors.Join(set.Check().Err(), tree.Writable(set)); err != nil {
		return nil, convert.Report{}, err
	}
	w := &writer{set: set, told: map[string]bool{}, hosts: map[string]bool{}, isInsecure: map[string]bool{}}
	files := convert.Files{}
	var out file
	for _, key := range tree.Keys(set.Mirrors) {
		if t, ok := w.mirror(key); ok {
			out.Registries = append(out.Registries, t)
		}
	}
	w.separate(out.Registries)
	for _, t := range out.Registries {
		w.hosts[hostOf(t.Location)] = true
		for _, m := range t.Mirrors {
			w.hosts[hostOf(m.Location)] = true
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
			if own, ok := w.own(key); ok {
				out.Registries = append(out.Registries, own)
			}
		}
		if hub := set.Config[tree.DockerHub].TLS; key == "docker.io" && hub != nil && (t.CA != "" || t.ClientIdentity != nil) && !(mirrors.HostConfig{TLS: t}).Equal(mirrors.HostConfig{TLS: hub}) {
			w.Add(convert.Loss, "config", key, "tls", "Podman has one folder of certificates for Docker Hub, which has those of "+tree.DockerHub, "want the same in both")
		}
		for _, folder := range w.folders(key) {
			if t.CA != "" {
				files[folder+"ca.crt"] = []byte(t.CA)
			}
			if id := t.ClientIdentity; id != nil {
				files[folder+"client.cert"], files[folder+"client.key"] = []byte(id.Certificate), []byte(id.Key.Reveal())
			}
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
	set        mirrors.Set
	told       map[string]bool // hosts whose insecureSkipVerify is said
	hosts      map[string]bool // hosts of the locations
	isInsecure map[string]bool // the locations of tables
}

// own is the table of an insecure host that is no endpoint.
func (w *writer) own(host string) (registryTable, bool) {
	name := host
	if host == tree.DockerHub {
		name = "docker.io"
	}
	if _, ok := w.set.Mirrors[name]; ok {
		w.Add(convert.Loss, "config", host, "tls.insecureSkipVerify", "the registry has mirrors and is not one of their endpoints", "want it as the last endpoint of its mirror")
		return registryTable{}, false
	}
	insecure, there := w.isInsecure[name]
	if there && !insecure {
		w.Add(convert.Loss, "config", host, "tls.insecureSkipVerify", fmt.Sprintf("Podman refuses the location %q with insecure in one place and without in another", name), "want the same for every name of the host")
		return registryTable{}, false
	}
	w.isInsecure[name] = true
	w.insecure(host)
	return registryTable{Location: name, Insecure: true}, !there
}

// folders are those in which Podman looks for the certificates of a host. It calls
// Docker Hub docker.io there as everywhere, and not by the name of its host, unless
// a location has that.
func (w *writer) folders(host string) []string {
	switch {
	case host == tree.DockerHub && w.hosts[host]:
		return []string{"certs.d/docker.io/", "certs.d/" + host + "/"}
	case host == "docker.io" && w.set.Config[tree.DockerHub].TLS != nil:
		return nil // those of the host that the endpoints name
	case host == tree.DockerHub:
		host = "docker.io"
	}
	return []string{"certs.d/" + host + "/"}
}

// separate keeps a location from being insecure in one table and not in another.
// Tables of a registry that stands for itself come first; one that another location
// takes the place of gives that up when it has to.
func (w *writer) separate(tables []registryTable) {
	for _, t := range tables {
		if t.Prefix == "" {
			w.isInsecure[t.Location] = t.Insecure
		} else {
			w.isInsecure[t.Prefix] = false // when it gives up
		}
	}
	for i := range tables {
		t := &tables[i]
		if t.Prefix == "" {
			continue
		}
		other, ok := w.isInsecure[t.Location]
		if !ok || other == t.Insecure {
			w.isInsecure[t.Location] = t.Insecure
			continue
		}
		w.Add(convert.Loss, "mirrors", t.Prefix, "skipFallback", fmt.Sprintf("Podman refuses the location %q with insecure in one place and without in another; it is a mirror before the registry itself now", t.Location),
			"want endpoints of that host that all have https:// and a valid certificate, or none")
		t.Mirrors = append(t.Mirrors, mirrorTable{t.Location, t.Insecure})
		t.Prefix, t.Location, t.Insecure = "", t.Prefix, false
	}
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
	there := map[mirrorTable]bool{}
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
		// https://m and https://m/v2 are one place.
		if entry := (mirrorTable{location, plain || skip}); !there[entry] {
			there[entry] = true
			t.Mirrors = append(t.Mirrors, entry)
		}
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
		if len(m.Endpoints) == 0 {
			w.Add(convert.Loss, "mirrors", key, "", "a registry without mirrors; to Podman that says nothing", "drop it")
		}
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
