package registriesconf_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
)

type conf struct {
	Registry []registry `toml:"registry"`
}

type registry struct {
	Prefix   string   `toml:"prefix,omitempty"`
	Location string   `toml:"location"`
	Insecure bool     `toml:"insecure,omitempty"`
	Mirror   []mirror `toml:"mirror,omitempty"`
}

type mirror struct {
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure,omitempty"`
}

// sources is what containers/image asks for a registry: the mirrors, then the
// location, each a location that takes the place of the prefix.
func (c conf) sources(registry string) []string {
	hub := func(location string) string {
		for _, alias := range []string{"registry-1.docker.io", "index.docker.io"} {
			if rest, ok := strings.CutPrefix(location, alias); ok {
				return "docker.io" + rest
			}
		}
		return location
	}
	for _, r := range c.Registry {
		prefix := r.Prefix
		if prefix == "" {
			prefix = r.Location
		}
		if strings.TrimRight(prefix, "/") != registry {
			continue
		}
		var list []string
		add := func(location string, insecure bool) {
			s := fmt.Sprint(hub(strings.TrimRight(location, "/")), " ", insecure)
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
		for _, m := range r.Mirror {
			add(m.Location, m.Insecure)
		}
		add(r.Location, r.Insecure)
		return list
	}
	return []string{registry + " false"}
}

func FuzzRoundTrip(f *testing.F) {
	for i := range 200 {
		seed := make([]byte, 30)
		for j := range seed {
			seed[j] = byte(i*37 + j*j*5 + j*i)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		c := goldentest.Choices(choices)
		var before conf
		registries := []string{"docker.io", "ghcr.io", "reg.example.com:5000"}
		location := func() (string, bool) {
			host := c.Pick("a.example.com", "b.example.com:5000", "[fd00::1]:5000", "registry-1.docker.io", "docker.io", "ghcr.io")
			return host + c.Pick("", "", "/", "/p", "/p/q/"), host == "b.example.com:5000"
		}
		for _, r := range registries {
			if c.Bool(4) {
				continue
			}
			e := registry{Location: r}
			if c.Bool(2) {
				e.Prefix = r
				if c.Bool(2) {
					e.Location, e.Insecure = location()
				}
			}
			for range c.Int(4) {
				var m mirror
				m.Location, m.Insecure = location()
				e.Mirror = append(e.Mirror, m)
			}
			before.Registry = append(before.Registry, e)
		}
		out, err := toml.Marshal(before)
		require.NoError(t, err)
		src, read, err := registriesconf.Read(out)
		goldentest.Invariants(t, out, src, read, err)
		if err != nil {
			// One location with and without insecure, which Podman refuses.
			require.Contains(t, err.Error(), "another insecure or blocked", "%s", out)
			return
		}
		files, written, err := registriesconf.Write(src.Set)
		if err != nil {
			require.Error(t, src.Check().Err())
			return
		}
		var after conf
		require.NoError(t, toml.Unmarshal(files["registries.conf"], &after))
		for _, r := range registries {
			want, got := before.sources(r), after.sources(r)
			if !slices.Equal(want, got) && !differInReported(want, got, read.String()+written.String()) {
				t.Errorf("%s: want %v, got %v\n%s\n--\n%s\n%s\n%s", r, want, got, out, files["registries.conf"], read, written)
			}
		}
		back, _, err := registriesconf.Read(files["registries.conf"])
		require.NoError(t, err)
		if !normal(back.Set).Equal(normal(src.Set)) && written.Lossless() {
			t.Errorf("the Set comes back otherwise:\n%s\n%s", out, files["registries.conf"])
		}
	})
}

// normal writes a last endpoint that is the registry itself as the fallback.
func normal(set mirrors.Set) mirrors.Set {
	set = set.DeepCopy()
	for r, m := range set.Mirrors {
		if n := len(m.Endpoints); m.SkipFallback && n > 0 && m.Endpoints[n-1].URL == "https://"+strings.Replace(r, "docker.io", "registry-1.docker.io", 1) {
			set.Mirrors[r] = mirrors.Mirror{Endpoints: m.Endpoints[:n-1]}
		}
	}
	return set
}

// differInReported reports whether the lists differ only in hosts that a report names.
func differInReported(want, got []string, report string) bool {
	rest := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool {
			host, _, _ := strings.Cut(strings.Fields(s)[0], "/")
			return strings.Contains(report, host)
		})
	}
	return slices.Equal(rest(want), rest(got))
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"[[registry]]\nlocation = 'a'\n[[registry.mirror]]\nlocation = 'b/c'\n", "registry = [{location = 'a', mirror = [{location = 'b'}]}]", "[registries.search]\nregistries = ['a']",
		"registry = 1", "[[registry]]\nlocation = '/'\n", "[[registry]]\nlocation = '/a'\n", "[[registry]]\nprefix = '*.a'\n", "unqualified-search-registries = [[1]]", "[[registry]]\nlocation = 'a/../b'\n[[registry]]\nlocation='a:b:c'"} {
		f.Add([]byte(s))
	}
	for _, c := range shelltest.Hostile(f) {
		if len(c.Data) < 4096 {
			f.Add(append([]byte("[[registry]]\nlocation = "), c.Data...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src, report, err := registriesconf.Read(data, registriesconf.WithDropIns(fstest.MapFS{"registries.conf.d/a.conf": {Data: data}}))
		goldentest.Invariants(t, data, src, report, err)
		if err == nil {
			if files, _, err := registriesconf.Write(src.Set); err == nil {
				if _, _, err := registriesconf.Read(files["registries.conf"]); err != nil {
					t.Errorf("what was written is refused: %v\n%q\n%s", err, data, files["registries.conf"])
				}
			}
		}
	})
}

func TestLimits(t *testing.T) {
	goldentest.Limits(t, "", "[[registry]]\nlocation = 'a'\n", "", func(data []byte) error { _, _, err := registriesconf.Read(data); return err })
	goldentest.Limits(t, "", "# a comment\n", "", func(data []byte) error {
		_, _, err := registriesconf.Read(nil, registriesconf.WithDropIns(fstest.MapFS{"registries.conf.d/a.conf": {Data: data}}))
		return err
	})
}

func TestWrite(t *testing.T) {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"*": {Endpoints: []mirrors.Endpoint{{URL: "https://all.example.com"}}},
			"docker.io": {SkipFallback: true, Endpoints: []mirrors.Endpoint{
				{URL: "http://m.example.com:5000"}, {URL: "https://h.example.com/v2/hub", OverridePath: true}}},
			"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://n.example.com/repository/ghcr/v2"}, {URL: "https://g.example.com"}}},
		},
		Config: map[string]mirrors.HostConfig{
			"g.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
	files, report, err := registriesconf.Write(set)
	require.NoError(t, err)
	assert.Equal(t, convert.Files{"registries.conf": []byte(`[[registry]]
prefix = 'docker.io'
location = 'h.example.com/hub'

[[registry.mirror]]
location = 'm.example.com:5000'
insecure = true

[[registry]]
location = 'ghcr.io'

[[registry.mirror]]
location = 'g.example.com'
insecure = true
`)}, files, string(files["registries.conf"]))
	assert.Equal(t, `loss: mirrors["*"]: registries.conf has no mirrors for every registry (write them for each registry)
changed: mirrors["docker.io"].endpoints[0]: registries.conf has no scheme; an insecure location is asked with https first (nothing, unless the host speaks TLS and must not be used so)
loss: mirrors["ghcr.io"].endpoints[0]: registries.conf has a path as a prefix of repositories only, /v2/PATH (want such an endpoint)
changed: config["g.example.com"].tls.insecureSkipVerify: Podman asks an insecure location with plain http as well (give Podman the CA of the host instead, in certs.d)
loss: config["g.example.com"].auth: registries.conf has no credentials (write them to auth.json, the format docker-config)`, report.String())
}

func TestMany(t *testing.T) {
	read := func(data []byte) error {
		_, _, err := registriesconf.Read(data, registriesconf.WithDropIns(fstest.MapFS{"registries.conf.d/a.conf": {Data: data}}))
		return err
	}
	goldentest.Many(t, "", func(i int) string { return fmt.Sprintf("[[registry]]\nlocation='m%d'\ninsecure=true\n", i) }, "", read)
	goldentest.Many(t, "[registries.insecure]\nregistries=[", func(i int) string { return fmt.Sprintf("'m%d',", i) }, "]", read)
	goldentest.Many(t, "[[registry]]\nlocation='r'\n", func(i int) string { return fmt.Sprintf("[[registry.mirror]]\nlocation='m%d'\n", i) }, "", read)
}
