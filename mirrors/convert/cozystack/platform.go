package cozystack

import (
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// readPlatform reads the platform's registries.
func readPlatform(f tree.Field, report convert.Report, errs ...error) (*mirrors.Source, convert.Report, error) {
	b := tree.NewBuilder("the platform's chart")
	b.Report = report
	b.Source.Mark(mirrors.Place{}, mirrors.Position{Path: f.Path, Line: f.Key.Line, Column: f.Key.Column})
	for _, g := range b.Fields(f.Value, f.Path) {
		switch g.Name {
		case "mirrors":
			for _, h := range b.Fields(g.Value, g.Path) {
				platformMirror(b, h)
			}
		case "config":
			for _, h := range b.Fields(g.Value, g.Path) {
				platformConfig(b, h)
			}
		default:
			b.Unknown(g.Path, g.Key, b.Program, "mirrors", "config")
		}
	}
	return b.Finish(errs...)
}

func platformMirror(b *tree.Builder, f tree.Field) {
	b.Mirror(f.Name, f)
	for _, g := range b.Fields(f.Value, f.Path) {
		if g.Name != "endpoints" {
			b.Unknown(g.Path, g.Key, b.Program, "endpoints")
			continue
		}
		for _, t := range b.Texts(g) {
			b.Endpoint(f.Name, mirrors.Endpoint{URL: t.Value}, tree.Field{Path: t.Path, Key: t.At, Value: t.At})
		}
	}
}

// platformConfig reads what is set for an endpoint. Talos has it for a host.
func platformConfig(b *tree.Builder, f tree.Field) {
	host := f.Name
	if strings.Contains(host, "://") {
		if host = tree.HostOf(f.Name); host == "" {
			b.Fail("endpoint-syntax", f.Path, f.Key, tree.Quote(f.Name)+" is no URL with a host", "want the URL of an endpoint")
			return
		}
	}
	for _, g := range b.Fields(f.Value, f.Path) {
		switch g.Name {
		case "tls":
			var t mirrors.TLS
			for _, h := range b.Fields(g.Value, g.Path) {
				if h.Name == "insecureSkipVerify" {
					t.InsecureSkipVerify = b.Bool(h)
				} else {
					b.Unknown(h.Path, h.Key, b.Program, "insecureSkipVerify")
				}
			}
			if t.InsecureSkipVerify {
				b.TLS(host, t, g)
			}
		case "auth":
			var a mirrors.Auth
			for _, h := range b.Fields(g.Value, g.Path) {
				switch h.Name {
				case "username":
					a.Username, _ = b.Text(h)
				case "password":
					s, _ := b.Text(h)
					a.Password = mirrors.NewSecret(s)
				default:
					b.UnknownNearSecrets(g.Path, h.Key, b.Program, "username", "password")
				}
			}
			if a != (mirrors.Auth{}) {
				b.Auth(host, a, g)
			}
		default:
			b.UnknownNearSecrets(f.Path, g.Key, b.Program, "tls", "auth")
		}
	}
}

// platformValues is what readPlatform reads.
type platformValues struct {
	Registries struct {
		Mirrors map[string]platformEndpoints `yaml:"mirrors,omitempty"`
		Config  map[string]platformSettings  `yaml:"config,omitempty"`
	} `yaml:"registries"`
}

type platformEndpoints struct {
	Endpoints []string `yaml:"endpoints"`
}

type platformSettings struct {
	TLS *struct {
		InsecureSkipVerify bool `yaml:"insecureSkipVerify"`
	} `yaml:"tls,omitempty"`
	Auth *platformAuth `yaml:"auth,omitempty"`
}

type platformAuth struct {
	Username string         `yaml:"username"`
	Password mirrors.Secret `yaml:"password"`
}

// platform makes the platform's values.
func (w *writer) platform() platformValues {
	var out platformValues
	out.Registries.Mirrors = map[string]platformEndpoints{}
	out.Registries.Config = map[string]platformSettings{}
	urls := map[string][]string{} // host to endpoints
	for _, key := range tree.Keys(w.set.Mirrors) {
		m := w.set.Mirrors[key]
		e := platformEndpoints{Endpoints: []string{}}
		for i, endpoint := range m.Endpoints {
			plain := endpoint
			plain.OverridePath = false
			if tree.APIPath(plain) != tree.APIPath(endpoint) {
				w.Add(convert.Loss, "mirrors", key, tree.EndpointField(i)+".overridePath", "the platform's values have no overridePath", "want a URL whose path ends in /v2")
				continue
			}
			e.Endpoints = append(e.Endpoints, endpoint.URL)
			host := tree.HostOf(endpoint.URL)
			urls[host] = append(urls[host], endpoint.URL)
		}
		if m.SkipFallback {
			w.Add(convert.Loss, "mirrors", key, "skipFallback", "the platform's values have no skipFallback", "block the registry in the network")
		}
		out.Registries.Mirrors[key] = e
	}
	for _, key := range tree.Keys(w.set.Config) {
		c := w.set.Config[key]
		var s platformSettings
		if a := c.Auth; a != nil {
			if a.Username != "" {
				s.Auth = &platformAuth{a.Username, a.Password}
			} else {
				w.Add(convert.Loss, "config", key, "auth", "the platform's values have a user name and a password only", "want those")
			}
		}
		if t := c.TLS; t != nil {
			if t.CA != "" || t.ClientIdentity != nil {
				w.Add(convert.Loss, "config", key, "tls", "the platform's values have no certificates", "want a certificate that the nodes trust anyway")
			}
			if t.InsecureSkipVerify {
				s.TLS = &struct {
					InsecureSkipVerify bool `yaml:"insecureSkipVerify"`
				}{true}
			}
		}
		if s == (platformSettings{}) {
			continue
		}
		if len(urls[key]) == 0 {
			w.Add(convert.Loss, "config", key, "", "the platform's values have settings for an endpoint, and no mirror has this host", fmt.Sprintf("want a mirror with the endpoint https://%s", key))
		}
		for _, url := range urls[key] {
			out.Registries.Config[url] = s
		}
	}
	return out
}
