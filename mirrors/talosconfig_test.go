package mirrors

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// talosDocument has the fields of the three registry documents and of a v1alpha1 document.
type talosDocument struct {
	Kind         string
	Name         string
	SkipFallback bool `yaml:"skipFallback"`
	Endpoints    []struct {
		URL          string `yaml:"url"`
		OverridePath bool   `yaml:"overridePath"`
	}
	Username, Password, Auth string
	IdentityToken            string `yaml:"identityToken"`
	CA                       string
	ClientIdentity           *struct{ Cert, Key string } `yaml:"clientIdentity"`
	InsecureSkipVerify       bool                        `yaml:"insecureSkipVerify"`

	Machine struct {
		Registries struct {
			Mirrors map[string]struct {
				Endpoints    []string
				OverridePath *bool `yaml:"overridePath"`
				SkipFallback *bool `yaml:"skipFallback"`
			}
			Config map[string]struct {
				Auth *struct {
					Username, Password, Auth string
					IdentityToken            string `yaml:"identityToken"`
				}
				TLS *struct {
					CA                 string
					ClientIdentity     *struct{ Crt, Key string } `yaml:"clientIdentity"`
					InsecureSkipVerify bool                       `yaml:"insecureSkipVerify"`
				}
			}
		}
	}
}

// readTalos is a small reader of Talos configurations, of both forms. A document
// replaces the legacy entry of its name whole, as Talos 1.13.9 does.
func readTalos(t testing.TB, config string) Set {
	t.Helper()
	set := Set{Mirrors: map[string]Mirror{}, Config: map[string]HostConfig{}}
	pem := func(b64 string) string {
		b, err := base64.StdEncoding.DecodeString(b64)
		require.NoError(t, err)
		return string(b)
	}
	is := func(b *bool) bool { return b != nil && *b }
	dec := yaml.NewDecoder(bytes.NewReader([]byte(config)))
	var docs []talosDocument
	for {
		var d talosDocument
		err := dec.Decode(&d)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		docs = append(docs, d)
	}
	for _, d := range docs {
		for name, m := range d.Machine.Registries.Mirrors {
			r := Mirror{SkipFallback: is(m.SkipFallback)}
			for _, u := range m.Endpoints {
				r.Endpoints = append(r.Endpoints, Endpoint{URL: u, OverridePath: is(m.OverridePath)})
			}
			set.Mirrors[name] = r
		}
		for key, c := range d.Machine.Registries.Config {
			var h HostConfig
			if a := c.Auth; a != nil {
				h.Auth = &Auth{Username: a.Username, Password: NewSecret(a.Password), Auth: NewSecret(a.Auth), IdentityToken: NewSecret(a.IdentityToken)}
			}
			if x := c.TLS; x != nil {
				h.TLS = &TLS{CA: PEM(pem(x.CA)), InsecureSkipVerify: x.InsecureSkipVerify}
				if id := x.ClientIdentity; id != nil {
					h.TLS.ClientIdentity = &ClientIdentity{Certificate: PEM(pem(id.Crt)), Key: NewSecret(pem(id.Key))}
				}
			}
			set.Config[key] = h
		}
	}
	for _, d := range docs {
		switch d.Kind {
		case "RegistryMirrorConfig":
			r := Mirror{SkipFallback: d.SkipFallback}
			for _, e := range d.Endpoints {
				r.Endpoints = append(r.Endpoints, Endpoint{URL: e.URL, OverridePath: e.OverridePath})
			}
			set.Mirrors[d.Name] = r
		case "RegistryAuthConfig":
			h := set.Config[d.Name]
			h.Auth = &Auth{Username: d.Username, Password: NewSecret(d.Password), Auth: NewSecret(d.Auth), IdentityToken: NewSecret(d.IdentityToken)}
			set.Config[d.Name] = h
		case "RegistryTLSConfig":
			h := set.Config[d.Name]
			h.TLS = &TLS{CA: PEM(d.CA), InsecureSkipVerify: d.InsecureSkipVerify}
			if id := d.ClientIdentity; id != nil {
				h.TLS.ClientIdentity = &ClientIdentity{Certificate: PEM(id.Cert), Key: NewSecret(id.Key)}
			}
			set.Config[d.Name] = h
		}
	}
	return set
}
