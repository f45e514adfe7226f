package probe

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// TestBaseURL compares with the base URLs that machined (Talos 1.13.9) and
// containerd (2.3.3) really tried.
func TestBaseURL(t *testing.T) {
	data, err := os.ReadFile("../../testdata/pull-order.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name, Config            string
		HostsError, DecodeError string
		Outcomes                []struct {
			Registry             string
			Containerd, Machined []string
		}
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	machined, containerd := 0, 0
	for _, c := range cases {
		endpoints := map[string][]mirrors.Endpoint{} // by mirror
		tls := map[string]bool{}                     // hosts with TLS settings
		for d := yaml.NewDecoder(strings.NewReader(c.Config)); ; {
			var doc struct {
				Kind, Name string
				Endpoints  []struct {
					URL          string `yaml:"url"`
					OverridePath bool   `yaml:"overridePath"`
				}
			}
			if err := d.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			tls[doc.Name] = tls[doc.Name] || doc.Kind == "RegistryTLSConfig"
			for _, e := range doc.Endpoints {
				endpoints[doc.Name] = append(endpoints[doc.Name], mirrors.Endpoint{URL: e.URL, OverridePath: e.OverridePath})
			}
		}
		for _, o := range c.Outcomes {
			mine := endpoints[o.Registry]
			for i, e := range mine {
				target, err := newTarget(e)
				if err != nil {
					continue // a text that no question can be made of
				}
				check := func(puller string, list []string) {
					if i >= len(list) {
						t.Errorf("%s: %s tries %d, want more than %d", c.Name, puller, len(list), i)
						return
					}
					// Talos keeps //v2 and collapses it in the request, and a node sends no
					// userinfo, query or fragment.
					u, err := url.Parse(list[i])
					if err != nil {
						t.Fatalf("%s: %v", c.Name, err)
					}
					if got, want := target.base(), u.Scheme+"://"+u.Host+strings.TrimSuffix(path.Join("/", u.Path), "/")+"/"; got != want {
						t.Errorf("%s: base of %q is %s, but %s tries %s", c.Name, e.URL, got, puller, want)
					}
				}
				if len(o.Machined) > 0 {
					check("machined", o.Machined)
					machined++
				}
				// Where containerd reads no hosts.toml it tries the upstream alone; and an
				// http endpoint with TLS settings, which it tries over https, is not asked.
				if c.HostsError == "" && c.DecodeError == "" && !(target.scheme == "http" && tls[target.key]) {
					check("containerd", o.Containerd)
					containerd++
				}
			}
		}
	}
	if machined < 100 || containerd < 50 {
		t.Errorf("compared %d base URLs with machined and %d with containerd, want at least 100 and 50", machined, containerd)
	}
	t.Logf("compared %d base URLs with machined and %d with containerd", machined, containerd)
}

// FuzzTarget: no text panics; a target's URL is one that can be asked, on the
// host that is its key; and no password of a URL is shown.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"https://m", "https://m/", "https://m/v2/x", "http://[fd00::1]:5000/a/../b", "https://m/%2e%2e/%252f", "m:5000", "",
		"https://u:p@m/v2?x#y", "https:///v2", "https://m/a b", "https://[fe80::1%25eth0]/", "https://m/%3fx", "https://m/v2/%23", "https://A%41/",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	for _, c := range shelltest.Hostile(f) {
		f.Add("https://m.internal/"+string(c.Data), true)
		f.Add(string(c.Data), false)
	}
	f.Fuzz(func(t *testing.T, text string, override bool) {
		e := mirrors.Endpoint{URL: text, OverridePath: override}
		target, err := newTarget(e)
		if err == nil {
			urls := []string{target.base()}
			if root, ok := target.root(); ok {
				if !strings.HasPrefix(target.base(), root) {
					t.Errorf("root %q is not above %q", root, target.base())
				}
				urls = append(urls, root)
			}
			for _, s := range urls {
				u, err := url.Parse(s)
				if err != nil || u.Host != target.key || u.User != nil {
					t.Errorf("%q became %q with host %v, want %q, error %v", text, s, u, target.key, err)
				}
				if !strings.HasSuffix(s, "/") {
					t.Errorf("%q does not end in a slash", s)
				}
			}
		}
		const password = "made-up-password"
		if scheme, rest, ok := strings.Cut(text, "://"); ok && !strings.ContainsAny(scheme, "/@") {
			e.URL = scheme + "://robot:" + password + "@" + rest
			_, err := newTarget(e)
			if shown := redactEndpoint(e).URL; strings.Contains(shown, password) || err != nil && strings.Contains(err.Error(), password) {
				t.Errorf("%q is shown as %q, error %v", e.URL, shown, err)
			}
		}
	})
}

func TestChallenges(t *testing.T) {
	for _, tt := range []struct {
		in     string
		scheme string
		params map[string]string
	}{
		{`Basic`, "basic", nil},
		{`basic realm="a b"`, "basic", map[string]string{"realm": "a b"}},
		{`Bearer realm="https://auth.example.com/token",service="registry.example.com"`, "bearer",
			map[string]string{"realm": "https://auth.example.com/token", "service": "registry.example.com"}},
		{`Bearer realm = "x"`, "bearer", nil},
		{`BEARER  Realm="x" , SERVICE=y,scope="a,b=\"c\\"`, "bearer", map[string]string{"realm": "x", "service": "y", "scope": `a,b="c\`}},
		{`Bearer realm="x`, "bearer", map[string]string{"realm": ""}},
		{`Bearer =x,realm=y`, "bearer", nil},
		{`Bearer realm=y"z",service=x`, "bearer", map[string]string{"realm": "y"}},
		{` Basic realm=x`, "", nil},
		{`Negotiate`, "", nil},
		{`Digest realm="x"`, "", nil},
		{``, "", nil},
	} {
		got := challenges(http.Header{"Www-Authenticate": {tt.in}})
		if tt.scheme == "" {
			if len(got) != 0 {
				t.Errorf("%q: got %v, want none", tt.in, got)
			}
			continue
		}
		if len(got) != 1 || got[0].scheme != tt.scheme || len(got[0].params) != len(tt.params) {
			t.Errorf("%q: got %v, want %s %v", tt.in, got, tt.scheme, tt.params)
			continue
		}
		for k, v := range tt.params {
			if got[0].params[k] != v {
				t.Errorf("%q: %s is %q, want %q", tt.in, k, got[0].params[k], v)
			}
		}
	}
}

// FuzzChallenges: no header panics, and a quoted value comes back as it was.
func FuzzChallenges(f *testing.F) {
	for _, c := range shelltest.Hostile(f) {
		f.Add(string(c.Data))
	}
	for _, s := range []string{`Bearer realm="x",service=y`, `Basic realm="\"`, "Bearer ,,=,\"", "\\", `"`} {
		f.Add(s)
	}
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	f.Fuzz(func(t *testing.T, s string) {
		challenges(http.Header{"Www-Authenticate": {s}})
		if bytes.ContainsAny([]byte(s), "\r\n") {
			return
		}
		got := challenges(http.Header{"Www-Authenticate": {`Bearer service="` + quote.Replace(s) + `", realm="x"`}})
		if len(got) != 1 || got[0].params["service"] != s || got[0].params["realm"] != "x" {
			t.Errorf("%q came back as %v", s, got)
		}
	})
}
