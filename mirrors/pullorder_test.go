package mirrors

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pullOrderCase is a case of testdata/pull-order.json, which was written by running the code of
// Talos 1.13.9 and containerd 2.3.3 on each configuration.
type pullOrderCase struct {
	Name        string
	Config      string // of a Talos node
	DecodeError string // of containerd, for the hosts.toml of one registry
	HostsError  string // of Talos, which then writes no hosts.toml at all
	HostsToml   map[string]string
	Outcomes    []struct {
		Registry             string
		Containerd, Machined []string
		MachinedError        string
	}
}

func urls(as []Attempt) []string {
	us := []string{}
	for _, a := range as {
		us = append(us, a.URL)
	}
	return us
}

func TestPullOrderIsThatOfTheRealPrograms(t *testing.T) {
	data, err := os.ReadFile("../testdata/pull-order.json")
	require.NoError(t, err)
	var cases []pullOrderCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Len(t, cases, 149)

	outcomes := 0
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			set := readTalos(t, c.Config)
			decodeErrors := 0
			for _, o := range c.Outcomes {
				outcomes++
				p, err := set.PullOrder(o.Registry + "/project/image:v1")
				require.NoError(t, err)
				assert.Equal(t, o.Registry, p.Registry)
				assert.Equal(t, o.Containerd, urls(p.Containerd), "containerd, %s", o.Registry)
				assert.Equal(t, o.Machined, urls(p.Machined), "machined, %s", o.Registry)
				assert.Equal(t, o.MachinedError, p.MachinedError, "machined, %s", o.Registry)
				switch {
				case c.HostsError != "":
					assert.Equal(t, c.HostsError, p.ContainerdError)
				case p.ContainerdError == c.DecodeError && c.DecodeError != "":
					decodeErrors++
				case p.ContainerdError != "":
					// The case has one text, and several registries may have an error.
					assert.NotEmpty(t, c.DecodeError)
					assert.Regexp(t, "^toml: table .* already exists$", p.ContainerdError)
				}
				// What differs has a reason; what does not differ has none.
				if !assert.ObjectsAreEqual(o.Containerd, o.Machined) {
					assert.True(t, p.Differs)
				}
				assert.Equal(t, p.Differs, p.Why != "")
				assert.NotContains(t, p.Why, "the lists differ", "a reason in words")
			}
			if c.DecodeError != "" {
				assert.Positive(t, decodeErrors, "no registry of the case meets %q", c.DecodeError)
			}
		})
	}
	assert.Equal(t, 752, outcomes)
}

// The cases of testdata/pull-order-more.json are about what the others have few of: credentials, TLS
// settings, the image cache, the legacy form. They follow the code of Talos 1.13.9 and
// containerd 2.4.2; each says why.
func TestPullOrderWithCredentialsTLSAndImageCache(t *testing.T) {
	type attempt struct {
		URL, Auth, TLS         string
		Fallback, HTTPFallback bool
	}
	data, err := os.ReadFile("../testdata/pull-order-more.json")
	require.NoError(t, err)
	var cases []struct {
		Name, Config string
		ImageCache   bool
		Outcomes     []struct {
			Registry                       string
			Containerd, Machined           []attempt
			ContainerdError, MachinedError string
			Differs                        bool
			Says                           string
		}
	}
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	plain := func(as []Attempt) []attempt {
		r := []attempt{}
		for _, a := range as {
			r = append(r, attempt{a.URL, a.Auth, a.TLS, a.Fallback, a.HTTPFallback})
			if a.Fallback {
				assert.Empty(t, a.Endpoint)
			} else {
				assert.NotEmpty(t, a.Endpoint)
			}
		}
		return r
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			set := readTalos(t, c.Config)
			var opts []CheckOption
			if c.ImageCache {
				opts = append(opts, WithImageCache())
			}
			for _, o := range c.Outcomes {
				p, err := set.PullOrder(o.Registry+"/project/image:v1", opts...)
				require.NoError(t, err)
				assert.Equal(t, o.Containerd, plain(p.Containerd), "containerd, %s", o.Registry)
				assert.Equal(t, o.Machined, plain(p.Machined), "machined, %s", o.Registry)
				assert.Equal(t, o.ContainerdError, p.ContainerdError)
				assert.Equal(t, o.MachinedError, p.MachinedError)
				assert.Equal(t, o.Differs, p.Differs, "%s: %s", o.Registry, p.Why)
				assert.Equal(t, o.Differs, p.Why != "")
				assert.Contains(t, p.Why, o.Says)
			}
		})
	}
}

func TestImageReferencesAreReadAsContainerdReadsThem(t *testing.T) {
	for _, c := range []struct{ image, registry string }{
		{"nginx", "docker.io"},
		{"library/nginx:1.27", "docker.io"},
		{"docker.io/nginx", "docker.io"},
		{"index.docker.io/library/nginx", "docker.io"},
		{"registry-1.docker.io/library/nginx", "registry-1.docker.io"},
		{"ghcr.io/siderolabs/installer:v1.13.9", "ghcr.io"},
		{"ghcr.io/x@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "ghcr.io"},
		{"ghcr.io/x:v1@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "ghcr.io"},
		{"reg.local:5000/x", "reg.local:5000"},
		{"localhost/x", "localhost"},
		{"cache/x", "docker.io"},
		{"[fd00::1]:5000/x", "[fd00::1]:5000"},
		{"Cache.local/x", "Cache.local"},
		{"", ""},
		{"Nginx", ""},
		{"ghcr.io/Siderolabs/x", ""},
		{"https://ghcr.io/x", ""},
		{"ghcr.io/x:", ""},
		{"ghcr.io/x@sha256:abc", ""},
		{"ghcr.io/x y", ""},
	} {
		p, err := Set{}.PullOrder(c.image)
		if c.registry == "" {
			var e *Error
			require.ErrorAs(t, err, &e, c.image)
			assert.Equal(t, "image-reference", e.Findings[0].Rule)
			assert.NotNil(t, e.Unwrap())
			continue
		}
		require.NoError(t, err, c.image)
		assert.Equal(t, c.registry, p.Registry, c.image)
	}
}

// The JSON form is what a program reads: lists are lists, also when they are empty.
func TestPullOrderJSON(t *testing.T) {
	p, err := Set{Mirrors: map[string]Mirror{"ghcr.io": {SkipFallback: true}}}.PullOrder("ghcr.io/x:v1")
	require.NoError(t, err)
	p.Why = ""
	j, err := json.Marshal(p)
	require.NoError(t, err)
	assert.JSONEq(t, `{"image":"ghcr.io/x:v1","registry":"ghcr.io",
		"containerd":[{"url":"https://ghcr.io/v2","endpoint":"","fallback":true,"auth":"","tls":""}],"containerdError":"",
		"machined":[],"machinedError":"","differs":true,"why":""}`, string(j))
}

// A password in a URL is not printed.
func TestPullOrderRedactsUserinfo(t *testing.T) {
	for _, u := range []string{"https://user:hunter2@m.local", "user:hunter2@m.local", "https://user:hunter2@m.local:bad", "https://u:hunter2%zz@m.local", "10.0.0.1:hunter2@x"} {
		set := Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: u}, {URL: u}, {URL: "https://m.local"}}}}}
		p, err := set.PullOrder("ghcr.io/x:v1")
		require.NoError(t, err)
		j, err := json.Marshal(p)
		require.NoError(t, err)
		assert.NotContains(t, string(j), "hunter2", u)
		leaks, err := set.AirGapped([]string{"ghcr.io/x:v1"})
		require.NoError(t, err)
		j, err = json.Marshal(leaks)
		require.NoError(t, err)
		assert.NotContains(t, string(j), "hunter2", u)
	}
}

// Neither is a query or a fragment, also where there is no scheme, and also of a key.
func TestQueriesAreNotPrinted(t *testing.T) {
	for _, u := range []string{"m.local?token=hunter2", "m.local:5000?hunter2", "M.local#hunter2", "https://m.local?hunter2", "//m.local?hunter2", "?hunter2", "http:m?hunter2", "[fd00::1?hunter2"} {
		set := Set{
			Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: u}, {URL: u}}}, u: {}},
			Config:  map[string]HostConfig{u: {Auth: &Auth{Username: "user", Password: NewSecret("made-up")}}},
		}
		p, err := set.PullOrder("ghcr.io/x:v1")
		require.NoError(t, err)
		fixed, did := set.Fix()
		for _, shown := range []any{p, set.Check(), set.Check(InForm("documents")), did, fixed.Check()} {
			j, err := json.Marshal(shown)
			require.NoError(t, err)
			assert.NotContains(t, string(j), "hunter2", u)
		}
	}
}
