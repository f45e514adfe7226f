package hosts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

// talosCase is a configuration and what Talos 1.13.9 makes of it.
type talosCase struct {
	Name        string
	Config      string
	HostsTOML   map[string]string
	HostsError  string
	DecodeError string
}

func corpus(t testing.TB) []talosCase {
	t.Helper()
	data, err := os.ReadFile("../../../testdata/pull-order.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []talosCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// talosSet reads the registry parts of a Talos configuration of the corpus, in
// either form, without Talos's own code.
func talosSet(t testing.TB, config string) mirrors.Set {
	t.Helper()
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	dec := yaml.NewDecoder(strings.NewReader(config))
	for {
		var doc struct {
			Kind, Name   string
			SkipFallback bool `yaml:"skipFallback"`
			Endpoints    []struct {
				URL          string
				OverridePath bool `yaml:"overridePath"`
			}
			InsecureSkipVerify bool `yaml:"insecureSkipVerify"`
			CA                 string
			Username, Password string
			Machine            *struct{ Registries yaml.Node }
		}
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return set
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case doc.Kind == "RegistryMirrorConfig":
			m := mirrors.Mirror{SkipFallback: doc.SkipFallback}
			for _, e := range doc.Endpoints {
				m.Endpoints = append(m.Endpoints, mirrors.Endpoint{URL: e.URL, OverridePath: e.OverridePath})
			}
			set.Mirrors[doc.Name] = m
		case doc.Kind == "RegistryTLSConfig":
			c := set.Config[doc.Name]
			c.TLS = &mirrors.TLS{InsecureSkipVerify: doc.InsecureSkipVerify, CA: mirrors.PEM(doc.CA)}
			set.Config[doc.Name] = c
		case doc.Kind == "RegistryAuthConfig":
			c := set.Config[doc.Name]
			c.Auth = &mirrors.Auth{Username: doc.Username, Password: mirrors.NewSecret(doc.Password)}
			set.Config[doc.Name] = c
		case doc.Machine != nil && doc.Machine.Registries.Kind == yaml.MappingNode:
			src, err := mirrors.DecodeNode(&doc.Machine.Registries, "")
			if err != nil {
				t.Fatal(err)
			}
			for k, m := range src.Set.Mirrors {
				if _, ok := set.Mirrors[k]; !ok {
					set.Mirrors[k] = m
				}
			}
			for k, c := range src.Set.Config {
				if _, ok := set.Config[k]; !ok {
					set.Config[k] = c
				}
			}
		}
	}
}

// TestCorpus: Write makes what Talos makes, and Read gives the Set back.
func TestCorpus(t *testing.T) {
	var written, refused int
	for _, c := range corpus(t) {
		t.Run(c.Name, func(t *testing.T) {
			set := talosSet(t, c.Config)
			files, report, err := hosts.Write(set)
			if want := set.Check().Err(); want != nil {
				refused++
				if err == nil {
					t.Errorf("written, although Check finds %v", want)
				}
				var e *mirrors.Error
				if !errors.As(err, &e) || e.Findings[0].Rule == "" {
					t.Errorf("the error has no rule: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.HostsError != "" || c.DecodeError != "" {
				t.Fatalf("written, although Talos or containerd refuses it: %s%s", c.HostsError, c.DecodeError)
			}
			written++
			got := map[string]string{}
			for name, content := range files {
				if path.Base(name) == "hosts.toml" {
					got[path.Dir(name)] = string(content)
				}
			}
			if len(got) != len(c.HostsTOML) {
				t.Errorf("folders: got %v, want %v", got, c.HostsTOML)
			}
			for folder, want := range c.HostsTOML {
				if got[folder] != want {
					t.Errorf("%s: got:\n%s\nwant:\n%s", folder, got[folder], want)
				}
				// Byte equality is more than the equality of parsed TOML with its
				// order; that it is TOML at all has to be said too.
				if err := toml.NewDecoder(bytes.NewReader(files[folder+"/hosts.toml"])).Decode(new(map[string]any)); err != nil {
					t.Errorf("%s: %v", folder, err)
				}
			}
			roundTrip(t, set, files, report)
		})
	}
	t.Logf("%d written, %d refused", written, refused)
	if written < 20 || refused < 20 {
		t.Errorf("%d written and %d refused: the corpus should have more of both", written, refused)
	}
}

// roundTrip reads what was written, and wants the Set, but for what the report of
// writing lists.
func roundTrip(t *testing.T, set mirrors.Set, files convert.Files, report convert.Report) {
	t.Helper()
	want := set.DeepCopy()
	for _, e := range report.Entries {
		for key, c := range want.Config {
			switch e.Path {
			case (mirrors.Place{Section: "config", Key: key, Field: "auth"}).String():
				c.Auth = nil
			case (mirrors.Place{Section: "config", Key: key, Field: "tls"}).String():
				c.TLS = nil
			}
			want.Config[key] = c
		}
	}
	for key, c := range want.Config {
		if c.TLS != nil && *c.TLS == (mirrors.TLS{}) {
			c.TLS = nil
		}
		if c.Auth == nil && c.TLS == nil {
			delete(want.Config, key)
		} else {
			want.Config[key] = c
		}
	}
	if len(files) == 0 {
		return // an empty directory is no certs.d directory
	}
	back, loss, err := hosts.Read(asFS(files))
	if err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	if !loss.Lossless() || len(loss.Ignored) > 0 {
		t.Errorf("reading what was written reports:\n%s", loss)
	}
	if !back.Set.Equal(want) {
		t.Errorf("read back:\n%s\nwant:\n%s", asYAML(t, back.Set), asYAML(t, want))
	}
}

func asFS(files convert.Files) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = &fstest.MapFile{Data: content}
	}
	return m
}

func asYAML(t testing.TB, set mirrors.Set) string {
	t.Helper()
	out, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
