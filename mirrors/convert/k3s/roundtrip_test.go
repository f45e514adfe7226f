package k3s_test

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
)

// file is a registries.yaml as k3s decodes it.
type file struct {
	Mirrors map[string]struct {
		Endpoint []string          `yaml:"endpoint,omitempty"`
		Rewrite  map[string]string `yaml:"rewrite,omitempty"`
	} `yaml:"mirrors,omitempty"`
	Configs map[string]struct {
		Auth map[string]string `yaml:"auth,omitempty"`
		TLS  map[string]any    `yaml:"tls,omitempty"`
	} `yaml:"configs,omitempty"`
}

// hop is a place that containerd asks under k3s, and what it shows there.
type hop struct {
	url  string
	auth string
	tls  bool
}

// hops is what k3s makes of a file, for one registry: its endpoints without the
// repeated ones, and last the registry itself. It is written from k3s's rules, not
// from the code under test.
func (f file) hops(registry string, noDefault bool) []hop {
	host := func(h string) string {
		if h == "docker.io" {
			return "registry-1.docker.io"
		}
		return h
	}
	settings := func(h string) (auth string, tls bool) {
		keys := []string{h}
		if h == "registry-1.docker.io" {
			keys = append(keys, "docker.io")
		}
		for _, k := range keys {
			if c, ok := f.Configs[k]; ok {
				return c.Auth["username"] + c.Auth["identity_token"], c.TLS["insecure_skip_verify"] == true
			}
		}
		return "", false
	}
	var hops []hop
	add := func(u *url.URL, path string) {
		auth, tls := settings(u.Host)
		h := hop{u.Scheme + "://" + u.Host + path, auth, tls && u.Scheme == "https"}
		if !slices.Contains(hops, h) {
			hops = append(hops, h)
		}
	}
	m := f.Mirrors[registry]
	_, configured := f.Configs[registry]
	fallback := registry != "*" && (!noDefault || configured)
	for i, e := range m.Endpoint {
		if !strings.Contains(e, "://") {
			e = "//" + e
		}
		u, err := url.Parse(e)
		if err != nil {
			continue
		}
		if u.Scheme == "" {
			u.Scheme = "https"
			h, port, _ := net.SplitHostPort(u.Host)
			if (h == "localhost" || h == "127.0.0.1") && port != "443" {
				u.Scheme = "http"
			}
		}
		u.Host = host(u.Host)
		p := u.Path
		if p == "" || p == "/" {
			p = "/v2"
		}
		if fallback && i == len(m.Endpoint)-1 && u.Scheme+"://"+u.Host+p == "https://"+host(registry)+"/v2" {
			break // k3s takes it for the registry itself, which has no rewrites
		}
		p = path.Clean(p)
		for pattern, replacement := range m.Rewrite {
			if pattern == "^(.*)$" {
				p += "/" + strings.TrimSuffix(replacement, "/$1")
			}
		}
		add(u, p)
	}
	if fallback {
		add(&url.URL{Scheme: "https", Host: host(registry)}, "/v2")
	}
	return hops
}

// generate makes a registries.yaml.
func generate(c *goldentest.Choices) file {
	var f file
	yamlInto(&f, "mirrors: {}\nconfigs: {}\n")
	registries := []string{"docker.io", "ghcr.io", "reg.example.com:5000", "*"}
	for range c.Int(4) {
		r := c.Pick(registries...)
		m := f.Mirrors[r]
		for range 1 + c.Int(3) {
			host := c.Pick("a.example.com", "b.example.com:5000", "localhost:5000", "[fd00::1]:5000", "docker.io", r)
			if host == "*" {
				host = "every.example.com"
			}
			m.Endpoint = append(m.Endpoint, c.Pick("", "https://", "http://")+host+c.Pick("", "/", "/v2", "/v2/p", "/p/v2", "/v2/"))
		}
		if c.Bool(4) {
			m.Rewrite = map[string]string{"^(.*)$": c.Pick("p", "a/b") + "/$1"}
		}
		f.Mirrors[r] = m
	}
	for range c.Int(4) {
		h := c.Pick("a.example.com", "b.example.com:5000", "[fd00::1]:5000", "ghcr.io", "registry-1.docker.io", "other.example.com")
		e := f.Configs[h]
		switch c.Int(3) {
		case 0:
			e.Auth = map[string]string{"username": "user-" + h, "password": "made-up"}
		case 1:
			e.Auth = map[string]string{"identity_token": "token-" + h}
		}
		if c.Bool(2) {
			e.TLS = map[string]any{"insecure_skip_verify": true}
		}
		f.Configs[h] = e
	}
	return f
}

func yamlInto(v any, text string) {
	if err := yaml.Unmarshal([]byte(text), v); err != nil {
		panic(err)
	}
}

// FuzzRoundTrip: a generated file means to k3s what the file means that is
// written after it was read, for all registries that no report names.
func FuzzRoundTrip(f *testing.F) {
	for i := range 200 {
		seed := make([]byte, 30)
		for j := range seed {
			seed[j] = byte(i*31 + j*j*7 + j*i)
		}
		f.Add(seed, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, choices []byte, noDefault bool) {
		c := goldentest.Choices(choices)
		before := generate(&c)
		data, err := yaml.Marshal(before)
		if err != nil {
			t.Fatal(err)
		}
		var opts []k3s.Option
		if noDefault {
			opts = append(opts, k3s.DisableDefaultRegistryEndpoint())
		}
		src, read, err := k3s.Read(data, opts...)
		goldentest.Invariants(t, data, src, read, err)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		files, written, err := k3s.Write(src.Set, opts...)
		if err != nil {
			var e *mirrors.Error
			if !errors.As(err, &e) || src.Check().Err() == nil {
				t.Fatal(err)
			}
			return // the Set has errors, which Check reports
		}
		var after file
		if err := yaml.Unmarshal(files["registries.yaml"], &after); err != nil {
			t.Fatalf("%v\n%s", err, files["registries.yaml"])
		}
		registries := []string{"docker.io", "ghcr.io", "reg.example.com:5000", "*", "a.example.com", "other.example.com", "b.example.com:5000"}
		for _, r := range registries {
			want, got := before.hops(r, noDefault), after.hops(r, noDefault)
			if r != "*" && len(before.Mirrors[r].Endpoint) == 0 {
				want, got = before.hops(r, false), after.hops(r, false) // the flag does nothing for it
			}
			if slices.Equal(got, want) || goldentest.Listed(r, read, written) || listedHost(want, got, r, read.String()+written.String()) {
				continue
			}
			t.Errorf("%s:\nbefore %v\nafter  %v\n%s\n--\n%s\nreports:\n%s\n%s", r, want, got, data, files["registries.yaml"], read, written)
		}
		// And the Set comes back.
		back, again, err := k3s.Read(files["registries.yaml"], opts...)
		if err != nil {
			t.Fatal(err)
		}
		if written.Lossless() && again.Lossless() && !equivalent(back.Set, src.Set) {
			t.Errorf("the Set was\n%s\nand comes back as\n%s", text(t, src.Set), text(t, back.Set))
		}
	})
}

// listedHost reports whether the hops differ in a host that a report names.
func listedHost(want, got []hop, registry, report string) bool {
	for _, h := range append(slices.Clone(want), got...) {
		if slices.Contains(want, h) && slices.Contains(got, h) {
			continue
		}
		u, err := url.Parse(h.url)
		if err != nil || !strings.Contains(report, fmt.Sprintf("%q", u.Host)) {
			return false
		}
	}
	return len(want) == len(got)
}

// equivalent compares Sets in which a fallback may be the last endpoint.
func equivalent(a, b mirrors.Set) bool {
	if fmt.Sprint(len(a.Config), len(a.Mirrors)) != fmt.Sprint(len(b.Config), len(b.Mirrors)) {
		return false
	}
	for h, c := range a.Config {
		if !c.Equal(b.Config[h]) {
			return false
		}
	}
	for r, m := range a.Mirrors {
		if !slices.Equal(effective(r, m), effective(r, b.Mirrors[r])) {
			return false
		}
	}
	return true
}

// effective is the list of base URLs of a mirror on a node.
func effective(registry string, m mirrors.Mirror) []string {
	var urls []string
	add := func(u string) {
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	for _, e := range m.Endpoints {
		u, err := url.Parse(e.URL)
		if err != nil {
			return []string{err.Error()}
		}
		p := u.Path
		switch {
		case p == "" || p == "/":
			p = "/v2"
		default:
			if p = path.Clean(p); !e.OverridePath && !strings.HasSuffix(p, "/v2") {
				p += "/v2"
			}
		}
		add(u.Scheme + "://" + u.Host + p)
	}
	if !m.SkipFallback && registry != "*" {
		add("https://" + strings.Replace(registry, "docker.io", "registry-1.docker.io", 1) + "/v2")
	} else if !m.SkipFallback {
		add("upstream")
	}
	return urls
}

func text(t *testing.T, set mirrors.Set) string {
	t.Helper()
	out, err := yaml.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// FuzzRead: whatever the input, there is a result or an error with findings, no
// panic; and no secret in what is said.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"mirrors: {docker.io: {endpoint: [a.example.com]}}", "configs: {a: {auth: {username: a, password: b}}}",
		"mirrors: {a: &a {<<: *a}}", "mirrors: &m {a: {endpoint: [x], rewrite: {'^(.*)$': 'p/$1'}}}\nconfigs: *m", "- a", "mirrors:\n\t- a",
		"mirrors: {? [a] : {}}", "configs: {h: {tls: {ca_file: ../../etc/passwd, cert_file: '', key_file: /}}}", "mirrors: {'': {endpoint: ['http://[::1']}}",
	} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("mirrors:\n  docker.io:\n    endpoint:\n    - "), c.Data...))
		}
	}
	files := fstest.MapFS{"etc/passwd": {Data: []byte("root:x:0:0")}}
	f.Fuzz(func(t *testing.T, data []byte) {
		src, report, err := k3s.Read(data, k3s.WithFiles(files), k3s.DisableDefaultRegistryEndpoint())
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := k3s.Write(src.Set); err == nil {
				if _, _, err := k3s.Read(files["registries.yaml"]); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["registries.yaml"])
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	read := func(data []byte) error { _, _, err := k3s.Read(data); return err }
	goldentest.Limits(t, "mirrors:\n", "  r.example.com: {endpoint: [a]}\n", "", read)
	goldentest.Bomb(t, "mirrors: {a: {<<: ", "}}\n", read)
	goldentest.Bomb(t, "configs: ", "\n", read)
	goldentest.MergeBomb(t, "configs: ", "\n", read)
	goldentest.MergeBomb(t, "mirrors: {a: ", "}\n", read)
	goldentest.FlatBomb(t, "{endpoint: [", "]}", "mirrors", read)
	goldentest.ManyMistakes(t, "mirrors: {a: {endpoint: [", "[],", "]}}\n", read)
	goldentest.ManyMistakes(t, "mirrors: {a: {endpoint: [x y, ", "[], '', ", "]}}\n", read)
}

func TestMany(t *testing.T) {
	read := func(data []byte) error { _, _, err := k3s.Read(data); return err }
	goldentest.Many(t, "mirrors:\n", func(i int) string { return fmt.Sprintf("  r%d: {endpoint: [m%d]}\n", i, i) }, "", read)
	goldentest.Many(t, "mirrors:\n  r:\n    endpoint:\n", func(i int) string { return fmt.Sprintf("    - m%d\n", i) }, "", read)
	goldentest.Many(t, "configs:\n", func(i int) string { return fmt.Sprintf("  r%d: {tls: {insecure_skip_verify: true}}\n", i) }, "", read)
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	for _, input := range []string{
		"mirrors:\n  docker.io:\n    endpoint: [m.example.com]\nconfigs:\n  m.example.com:\n    auth:\n      username: u\n      password: " + secret + "\n",
		"configs: {m.example.com: {auth: {username: u, password: '" + secret + "'}}}\n",
		"configs:\n  m.example.com:\n    auth: {identity_token: \"" + secret + "\"}\n",
		"mirrors: {docker.io: {endpoint: ['https://user:" + secret + "@m.example.com/p']}}\n",
	} {
		goldentest.Secrets(t, input, secret, func(data []byte) (*mirrors.Source, convert.Report, error) { return k3s.Read(data) })
	}
}
