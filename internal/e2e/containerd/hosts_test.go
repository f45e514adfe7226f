// Package containerd_test holds the proofs that need containerd's own code:
// the reader of the hosts directory, and the resolver that pulls by it.
package containerd_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/containerd/log"
	"github.com/pelletier/go-toml/v2"
	"github.com/sirupsen/logrus"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// hostsDirectory is what Talos 1.13.9 writes for a Set, by directory and file.
// TestCorpusHostsDirectory proves it by the files that Talos itself wrote.
func hostsDirectory(set mirrors.Set, root string) (map[string]map[string]string, error) {
	dirs := map[string]map[string]string{}

	settings := func(host, dir, indent string) string {
		c := set.Config[host]
		if c.TLS == nil {
			return ""
		}
		var b strings.Builder
		if c.TLS.CA != "" {
			dirs[dir][host+"-ca.crt"] = string(c.TLS.CA)
			fmt.Fprintf(&b, "%sca = %s\n", indent, tomlString(filepath.Join(root, dir, host+"-ca.crt")))
		}
		if id := c.TLS.ClientIdentity; id != nil {
			dirs[dir][host+"-client.crt"] = string(id.Certificate)
			dirs[dir][host+"-client.key"] = id.Key.Reveal()
			fmt.Fprintf(&b, "%sclient = [[%s, %s]]\n", indent,
				tomlString(filepath.Join(root, dir, host+"-client.crt")), tomlString(filepath.Join(root, dir, host+"-client.key")))
		}
		if c.TLS.InsecureSkipVerify {
			fmt.Fprintf(&b, "%sskip_verify = true\n", indent)
		}
		return b.String()
	}

	for registry, mirror := range set.Mirrors {
		dir := directoryName(registry)
		dirs[dir] = map[string]string{}
		var server, hosts strings.Builder
		for i, e := range mirror.Endpoints {
			u, err := url.Parse(e.URL)
			if err != nil {
				return nil, fmt.Errorf("mirror %q: %w", registry, err)
			}
			override := ""
			if e.OverridePath {
				override = "override_path = true\n"
			}
			if mirror.SkipFallback && i == len(mirror.Endpoints)-1 {
				fmt.Fprintf(&server, "server = %s\ncapabilities = ['pull', 'resolve']\n%s%s",
					tomlString(e.URL), override, settings(u.Host, dir, ""))
				continue
			}
			if hosts.Len() == 0 {
				hosts.WriteString("[host]\n")
			}
			if override != "" {
				override = "    " + override
			}
			fmt.Fprintf(&hosts, "  [host.%s]\n    capabilities = ['pull', 'resolve']\n%s%s",
				tomlKey(e.URL), override, settings(u.Host, dir, "    "))
		}
		dirs[dir]["hosts.toml"] = server.String() + hosts.String()
	}

	for host, c := range set.Config {
		dir := directoryName(host)
		if _, done := dirs[dir]; done || c.TLS == nil || c.TLS.CA == "" && c.TLS.ClientIdentity == nil && !c.TLS.InsecureSkipVerify {
			continue
		}
		if host == "*" {
			return nil, errors.New("wildcard host TLS configuration is not supported")
		}
		server, err := docker.DefaultHost(host)
		if err != nil {
			return nil, err
		}
		dirs[dir] = map[string]string{}
		dirs[dir]["hosts.toml"] = fmt.Sprintf("server = %s\n%s", tomlString("https://"+server), settings(host, dir, ""))
	}
	return dirs, nil
}

// directoryName is the name by which containerd looks a registry up.
func directoryName(registry string) string {
	if registry == "*" {
		return "_default"
	}
	if i := strings.LastIndexByte(registry, ':'); i > 0 {
		return registry[:i] + "_" + registry[i+1:] + "_"
	}
	return registry
}

func tomlString(s string) string {
	line, err := toml.Marshal(map[string]string{"k": s})
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(line), "k = "), "\n")
}

func tomlKey(s string) string {
	line, err := toml.Marshal(map[string]int{s: 1})
	if err != nil {
		panic(err)
	}
	return strings.TrimSuffix(string(line), " = 1\n")
}

// write puts the directory under root, where Talos would.
func write(t testing.TB, root string, dirs map[string]map[string]string) {
	t.Helper()
	for dir, files := range dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(root, dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// containerdOrder asks containerd for the base URLs that it tries for a
// registry, and for what it logs as errors on the way.
func containerdOrder(t testing.TB, root, registry string) (urls []string, logged []string) {
	t.Helper()
	ctx, errs := logErrors(context.Background())
	hosts, err := config.ConfigureHosts(ctx, config.HostOptions{HostDir: config.HostDirFromRoot(root)})(registry)
	if err != nil {
		t.Fatalf("ConfigureHosts(%q): %v", registry, err)
	}
	for _, h := range hosts {
		urls = append(urls, h.Scheme+"://"+h.Host+h.Path)
	}
	return urls, errs()
}

// logErrors gives a context whose logger keeps the errors that it is told.
func logErrors(ctx context.Context) (context.Context, func() []string) {
	keep := &keepErrors{}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	logger.AddHook(keep)
	return log.WithLogger(ctx, logrus.NewEntry(logger)), func() []string {
		keep.mu.Lock()
		defer keep.mu.Unlock()
		return keep.errs
	}
}

type keepErrors struct {
	mu   sync.Mutex
	errs []string
}

func (k *keepErrors) Levels() []logrus.Level { return []logrus.Level{logrus.ErrorLevel} }

func (k *keepErrors) Fire(e *logrus.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.errs = append(k.errs, fmt.Sprint(e.Data[logrus.ErrorKey]))
	return nil
}

// pullOrderCase is a case of testdata/pull-order.json: a Talos configuration,
// the files that Talos 1.13.9 wrote for it, and what was then tried.
type pullOrderCase struct {
	Name        string
	Config      string
	HostsToml   map[string]string
	HostsError  string
	DecodeError string
	Outcomes    []struct {
		Registry   string
		Containerd []string
	}
}

func pullOrderCases(t testing.TB) []pullOrderCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "pull-order.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []pullOrderCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) < 149 {
		t.Fatalf("%d cases, want 149 at least", len(cases))
	}
	return cases
}

// corpusSet reads the two forms of Talos configuration as the corpus has them.
func corpusSet(t testing.TB, text string) mirrors.Set {
	t.Helper()
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	for {
		var doc struct {
			APIVersion   string `yaml:"apiVersion"`
			Kind, Name   string
			SkipFallback bool `yaml:"skipFallback"`
			Endpoints    []struct {
				URL          string `yaml:"url"`
				OverridePath bool   `yaml:"overridePath"`
			}
			InsecureSkipVerify bool `yaml:"insecureSkipVerify"`
			Version            string
			Machine            struct {
				Registries struct {
					Mirrors map[string]struct {
						Endpoints    []string
						OverridePath bool `yaml:"overridePath"`
						SkipFallback bool `yaml:"skipFallback"`
					}
				}
			}
		}
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			return set
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		switch doc.Kind {
		case "":
			for name, m := range doc.Machine.Registries.Mirrors {
				mirror := mirrors.Mirror{SkipFallback: m.SkipFallback}
				for _, e := range m.Endpoints {
					mirror.Endpoints = append(mirror.Endpoints, mirrors.Endpoint{URL: e, OverridePath: m.OverridePath})
				}
				set.Mirrors[name] = mirror
			}
		case "RegistryMirrorConfig":
			mirror := mirrors.Mirror{SkipFallback: doc.SkipFallback}
			for _, e := range doc.Endpoints {
				mirror.Endpoints = append(mirror.Endpoints, mirrors.Endpoint{URL: e.URL, OverridePath: e.OverridePath})
			}
			set.Mirrors[doc.Name] = mirror
		case "RegistryTLSConfig":
			set.Config[doc.Name] = mirrors.HostConfig{TLS: &mirrors.TLS{InsecureSkipVerify: doc.InsecureSkipVerify}}
		default:
			t.Fatalf("kind %q in:\n%s", doc.Kind, text)
		}
	}
}

// TestCorpusHostsDirectory proves this package's writer of hosts directories:
// it writes the bytes that Talos wrote.
func TestCorpusHostsDirectory(t *testing.T) {
	files := 0
	for _, c := range pullOrderCases(t) {
		dirs, err := hostsDirectory(corpusSet(t, c.Config), "/etc/cri/conf.d/hosts")
		if (err != nil) != (c.HostsError != "") {
			t.Errorf("%s: error %v, Talos has %q", c.Name, err, c.HostsError)
			continue
		}
		got := map[string]string{}
		for dir, f := range dirs {
			got[dir] = f["hosts.toml"]
			files++
		}
		if !maps.Equal(got, c.HostsToml) {
			t.Errorf("%s:\n%s", c.Name, c.Config)
			for _, dir := range slices.Sorted(maps.Keys(c.HostsToml)) {
				if got[dir] != c.HostsToml[dir] {
					t.Errorf("%s: got\n%s\nTalos writes\n%s", dir, got[dir], c.HostsToml[dir])
				}
			}
		}
	}
	verdict.Proved(t, "the hosts directories written here are those of Talos 1.13.9, byte for byte, in %d files", files)
}

// TestCorpusConfigureHosts proves the corpus: containerd, given the files that
// Talos wrote, tries the URLs that the corpus has, and finds fault where it says so.
func TestCorpusConfigureHosts(t *testing.T) {
	outcomes, decodeErrors := 0, 0
	for _, c := range pullOrderCases(t) {
		root := t.TempDir()
		dirs := map[string]map[string]string{}
		for dir, text := range c.HostsToml {
			dirs[dir] = map[string]string{"hosts.toml": text}
		}
		write(t, root, dirs)
		var logged []string
		for _, o := range c.Outcomes {
			got, errs := containerdOrder(t, root, o.Registry)
			if !slices.Equal(got, o.Containerd) {
				t.Errorf("%s: %s: containerd tries %q, the corpus has %q", c.Name, o.Registry, got, o.Containerd)
			}
			logged = append(logged, errs...)
			outcomes++
		}
		// The corpus names the fault of one of the files that were read.
		if c.DecodeError == "" && len(logged) > 0 || c.DecodeError != "" && !slices.Contains(logged, c.DecodeError) {
			t.Errorf("%s: containerd logs %q, the corpus has %q", c.Name, logged, c.DecodeError)
		}
		decodeErrors += min(1, len(logged))
	}
	verdict.Proved(t, "ConfigureHosts of containerd 2.4.2 agrees with the corpus on %d lookups, and on the %d cases that it cannot decode", outcomes, decodeErrors)
}
