package mirrors

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/distribution/reference"
	"gopkg.in/yaml.v3"
)

func hostile(f testing.TB) (texts []string) {
	f.Helper()
	files, err := filepath.Glob("../testdata/hostile/*")
	if err != nil || len(files) < 50 {
		f.Fatal("the hostile corpus is not there", err)
	}
	for _, name := range files {
		if filepath.Base(name) == "README.txt" {
			continue
		}
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 4096 {
			texts = append(texts, string(b))
		}
	}
	return texts
}

// Decode and Check never panic, errors have places, and what was read is read
// again from what is written.
func FuzzDecode(f *testing.F) {
	for _, c := range decodeCases {
		if len(c.in) < 4096 {
			f.Add(c.in)
		}
	}
	for _, c := range ruleCases {
		f.Add(c.in)
	}
	for _, r := range Rules() {
		f.Add(r.Bad)
		f.Add(r.Good)
	}
	for _, text := range hostile(f) {
		f.Add(text)
		f.Add("mirrors:\n  ghcr.io:\n    endpoints:\n      - " + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if root, err := ReadDocument([]byte(text)); root == nil && err == nil {
			t.Fatal("neither a document nor an error")
		}
		src, err := Decode([]byte(text))
		if err != nil {
			e, ok := err.(*Error)
			if !ok || src != nil || len(e.Findings) == 0 {
				t.Fatalf("%T %v with %v", err, err, src)
			}
			lines := strings.Count(text, "\n") + strings.Count(text, "\r") + strings.Count(text, "\u2028") + strings.Count(text, "\u2029") + strings.Count(text, "\u0085") + 1
			for _, f := range e.Findings {
				if f.Rule == "" || f.Message == "" || f.Severity != SeverityError || f.Line > lines {
					t.Fatalf("%+v in %d lines", f, lines)
				}
			}
			return
		}
		for _, fs := range []Findings{src.Check(), src.Check(ForTalos("1.2"), InForm("documents"), WithImageCache())} {
			for _, f := range fs {
				if f.Line < 1 || f.Column < 1 || f.Message == "" {
					t.Fatalf("%+v", f)
				}
			}
		}
		out, err := yaml.Marshal(src.Set)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if !src.Set.Equal(again.Set) {
			t.Fatalf("%+v\n%+v\n%s", src.Set, again.Set, out)
		}
	})
}

// randomSet makes a Set of names, URLs and keys that are near each other.
func randomSet(r *rand.Rand, texts []string) Set {
	pick := func(s []string) string { return s[r.Intn(len(s))] }
	registries := []string{"docker.io", "ghcr.io", "*", "reg.local:5000", "reg.local", "[fd00::1]:5000", "localhost:80", "registry-1.docker.io", "quay.io"}
	urls := []string{"https://m.local", "http://m.local:5000", "https://m.local:5000/v2/x", "https://reg.local", "https://[fd00::1]:5000", "https://ghcr.io", "https://registry-1.docker.io", "https://docker.io",
		"http://m.local:80", "m.local:5000", "m.local", "", "10.0.0.1:5000", "HTTPS://m.local", "https://m.local/", "https://u:p@m.local", "http:m:1", "http"}
	keys := append([]string{"m.local", "m.local:5000", "m.local:80", "priv.local", "http", "127.0.0.1:3172", "m.local:443"}, registries...)
	s := Set{Mirrors: map[string]Mirror{}, Config: map[string]HostConfig{}}
	text := func(from []string) string {
		if len(texts) > 0 && r.Intn(4) == 0 {
			return pick(texts)
		}
		return pick(from)
	}
	for range r.Intn(5) {
		m := Mirror{SkipFallback: r.Intn(2) == 0}
		for range r.Intn(4) {
			m.Endpoints = append(m.Endpoints, Endpoint{URL: text(urls), OverridePath: r.Intn(3) == 0})
		}
		s.Mirrors[text(registries)] = m
	}
	for range r.Intn(4) {
		var h HostConfig
		if r.Intn(2) == 0 {
			h.Auth = &Auth{Username: text([]string{"user", ""}), Password: NewSecret(text([]string{"made-up", ""})), Auth: NewSecret(text([]string{"", "dTptYWRlLXVw"})), IdentityToken: NewSecret(text([]string{"", "made-up"}))}
		}
		if r.Intn(2) == 0 {
			h.TLS = &TLS{InsecureSkipVerify: r.Intn(2) == 0, CA: PEM(text([]string{"", decodePEM(exampleCA), "made-up"}))}
			if r.Intn(4) == 0 {
				h.TLS.ClientIdentity = &ClientIdentity{Certificate: PEM(text([]string{decodePEM(exampleCA), ""})), Key: NewSecret(text([]string{"made-up", ""}))}
			}
		}
		s.Config[text(keys)] = h
	}
	return s
}

// Any Set of any strings comes back out of what it is written as, in YAML and in JSON.
func FuzzMarshal(f *testing.F) {
	for i, text := range hostile(f) {
		f.Add(int64(i), text)
	}
	f.Add(int64(7), "yes")
	f.Add(int64(8), "-----BEGIN x")
	f.Fuzz(func(t *testing.T, seed int64, text string) {
		if decodePEM(text) != text {
			return // base64 of PEM is PEM when it comes back
		}
		s := randomSet(rand.New(rand.NewSource(seed)), []string{text})
		y, err := yaml.Marshal(s)
		if !utf8.ValidString(text) {
			if err == nil && strings.Contains(fmt.Sprintf("%q", mustJSON(t, s)), "\\ufffd") {
				t.Fatal("text that is not UTF-8 was written")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		outs := [][]byte{y}
		if len(text) < 150 {
			// YAML takes no key of more than 1,024 characters that is written as JSON writes keys.
			outs = append(outs, mustJSON(t, s))
		}
		for _, out := range outs {
			src, err := Decode(out)
			if err != nil {
				t.Fatalf("%v in\n%s", err, out)
			}
			if !s.Equal(src.Set) {
				t.Fatalf("%+v\n%+v\n%s", s, src.Set, out)
			}
		}
	})
}

func mustJSON(t *testing.T, s Set) []byte {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Where the pullers do not do the same for a registry that the Set names, Check says something. What it
// fixes, it fixes without a new error. No output holds a secret.
func FuzzCheck(f *testing.F) {
	for i := range int64(200) {
		f.Add(i, "")
	}
	for i, c := range endpointCases {
		f.Add(int64(i), c.url)
	}
	f.Fuzz(func(t *testing.T, seed int64, text string) {
		var texts []string
		if text != "" {
			texts = []string{text}
		}
		r := rand.New(rand.NewSource(seed))
		s := randomSet(r, texts)
		var opts []CheckOption
		for _, o := range []CheckOption{WithImageCache(), ForTalos("1.10"), InForm("documents"), InForm("legacy")} {
			if r.Intn(4) == 0 {
				opts = append(opts, o)
			}
		}
		fs := s.Check(opts...)
		registries := map[string]bool{}
		for name := range s.Mirrors {
			registries[name] = true
		}
		for key := range s.Config {
			registries[key] = true
		}
		for registry := range registries {
			ref, err := reference.ParseNormalizedNamed(registry + "/project/image")
			if err != nil {
				continue
			}
			p, err := s.PullOrder(ref.String(), opts...)
			if err != nil {
				t.Fatal(err)
			}
			if p.Differs != (p.Why != "") || strings.Contains(p.Why, "the lists differ") {
				t.Fatalf("%+v\n%q", p, p.Why)
			}
			if p.Differs && !isLocalhost(p.Registry) && !concerns(fs, newNode(s, newFacts(opts)), p) {
				t.Fatalf("no finding of %v for %+v of %+v", fs, p, s)
			}
		}
		fixed, did := s.Fix(opts...)
		// What is fixed was found, in each pass; and the result has no error at a place that had none.
		byPass := newFixer(s, opts)
		before := byPass.errors(newChecker(s, opts).run())
		for {
			found, n := byPass.set.Check(opts...), len(byPass.fixed)
			if !byPass.pass() {
				break
			}
			for _, d := range byPass.fixed[n:] {
				if len(byRule(found, d.Rule)) == 0 {
					t.Fatalf("%v, and no finding says so: %v", d, found)
				}
			}
		}
		if !byPass.set.Equal(fixed) || len(byPass.fixed) != len(did) {
			t.Fatalf("%v in %d passes and more", did, maxPasses)
		}
		if len(fs) == 0 && len(did) > 0 {
			t.Fatalf("%v without a finding", did)
		}
		if moreErrors(before, byPass.errors(newChecker(fixed, opts).run())) {
			t.Fatalf("%v makes %v of %v", did, fixed.Check(opts...), fs)
		}
		if again, more := fixed.Fix(opts...); len(more) > 0 || !again.Equal(fixed) {
			t.Fatalf("fixed again: %v after %v", more, did)
		}
		if len(did) == 0 && !fixed.Equal(s) {
			t.Fatal("a change that is not listed")
		}
	})
}

// concerns reports whether a finding is about a registry: its mirror, or the
// settings of a host that is asked for it. What keeps Talos from writing any hosts file
// is about each.
func concerns(fs Findings, n *node, p PullOrder) bool {
	hosts := []string{p.Registry, defaultHost(p.Registry)}
	if p.Registry == hubHost {
		hosts = append(hosts, hubName) // what is said about Docker Hub is said there
	}
	for _, m := range n.mirrors {
		for _, e := range m.endpoints {
			if e.u != nil && e.u.Host == p.Registry {
				return true // images seldom name the host of an endpoint: nothing is asked of Check
			}
		}
	}
	m, ok := n.mirrors[p.Registry]
	if !ok {
		m = n.mirrors["*"]
	}
	for _, e := range m.endpoints {
		if e.u != nil {
			hosts = append(hosts, e.u.Host)
		}
	}
	for _, f := range fs {
		if n.hostsError != "" && f.Severity == SeverityError || strings.HasPrefix(f.Path, `mirrors["*"]`) && !ok {
			return true
		}
		for _, h := range hosts {
			if strings.HasPrefix(f.Path, mirrorPlace(h, "").String()) || strings.HasPrefix(f.Path, configPlace(h, "").String()) {
				return true
			}
		}
	}
	return false
}

// What passes the endpoint rules is a URL to Go as well, and canonical says how Go writes it.
func FuzzEndpoint(f *testing.F) {
	for _, c := range endpointCases {
		f.Add(c.url)
	}
	for _, text := range hostile(f) {
		f.Add("https://m.example.com/" + text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, problems := parseEndpoint(raw)
		if (u == nil) != (len(problems) > 0) {
			t.Fatalf("%v with %v", u, problems)
		}
		if u == nil {
			return
		}
		v, err := url.Parse(raw)
		if err != nil || v.Host == "" || v.Scheme != "http" && v.Scheme != "https" || v.User != nil || v.RawQuery != "" || v.Fragment != "" {
			t.Fatalf("%q: %+v, %v", raw, v, err)
		}
		if c := canonical(raw, u); c != v.String() {
			t.Fatalf("%q is %q, not %q", raw, v.String(), c)
		}
		if w, err := url.Parse(v.String()); err != nil || w.Host != v.Host || w.Path != v.Path {
			t.Fatalf("%q: %v is no fixed point: %v", raw, v, err)
		}
	})
}

// A key of mirrors is good exactly when an image reference can have it as its registry.
func FuzzRegistryName(f *testing.F) {
	for _, s := range []string{"ghcr.io", "localhost", "cache:5000", "[fd00::1]:5000", "[::]", "a..b", "-a.b", "a_b.c", "A.b", "a.b:", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || name == "*" || strings.Contains(name, "/") {
			return
		}
		reason, _ := badRegistryName(name)
		ref, err := reference.ParseNormalizedNamed(name + "/project/image")
		matches := err == nil && reference.Domain(ref) == name
		if reason == "" && !matches && hubAlias(name) == name {
			t.Fatalf("%q passes, and no reference has it: %v", name, err)
		}
		port := name[len(hostname(name)):]
		if matches && reason != "" && strings.ToLower(name) == name && !strings.HasPrefix(name, "[") && port == "" {
			t.Fatalf("%q is refused (%s), and references have it", name, reason)
		}
	})
}
