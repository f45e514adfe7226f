package cozystack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/goldentest"
)

var all = mirrors.Set{
	Mirrors: map[string]mirrors.Mirror{
		"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "http://cache.internal:5000"}, {URL: "https://h.example.com/v2/hub", OverridePath: true}}},
		"ghcr.io":   {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://h.example.com/v2/ghcr", OverridePath: true}, {URL: "https://n.example.com/v2"}}},
	},
	Config: map[string]mirrors.HostConfig{
		"h.example.com":     {Auth: &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		"other.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}},
	},
}

func TestWriteChart(t *testing.T) {
	files, report, err := cozystack.Write(all)
	require.NoError(t, err)
	assert.Equal(t, `talos:
  registryMirrors:
    docker.io:
      endpoints:
        - http://cache.internal:5000
    ghcr.io:
      endpoints:
        - https://h.example.com/v2/ghcr
        - https://n.example.com/v2
      overridePath: true
      skipFallback: true
`, string(files["values.yaml"]))
	assert.Equal(t, `loss: mirrors["docker.io"].endpoints[1]: talos.registryMirrors has one overridePath for a mirror, and it does not fit this endpoint (want endpoints that all need it, or none)
loss: config["h.example.com"]: the charts have no place for credentials and TLS settings (patch the nodes instead)
loss: config["other.example.com"]: the charts have no place for credentials and TLS settings (patch the nodes instead)`, report.String())
}

func TestWritePlatform(t *testing.T) {
	files, report, err := cozystack.Write(all, cozystack.ForPlatform())
	require.NoError(t, err)
	assert.Equal(t, `registries:
  mirrors:
    docker.io:
      endpoints:
        - http://cache.internal:5000
    ghcr.io:
      endpoints:
        - https://n.example.com/v2
`, string(files["values.yaml"]))
	assert.Equal(t, `loss: mirrors["docker.io"].endpoints[1].overridePath: the platform's values have no overridePath (want a URL whose path ends in /v2)
loss: mirrors["ghcr.io"].endpoints[0].overridePath: the platform's values have no overridePath (want a URL whose path ends in /v2)
loss: mirrors["ghcr.io"].skipFallback: the platform's values have no skipFallback (block the registry in the network)
loss: config["h.example.com"]: the platform's values have settings for an endpoint, and no mirror has this host (want a mirror with the endpoint https://h.example.com)
loss: config["other.example.com"].auth: the platform's values have a user name and a password only (want those)`, report.String())
}

func TestReadPlatform(t *testing.T) {
	tests := []struct{ name, in, set, report, err string }{
		{name: "whole", in: `# values of the platform
bundle: paas
registries:
  mirrors:
    docker.io:
      endpoints: ["http://10.0.0.5:5000", "https://h.example.com"]
  config:
    https://h.example.com:
      auth: {username: robot, password: made-up}
      tls: {insecureSkipVerify: true}
`, set: "mirrors:\n    docker.io:\n        endpoints:\n            - http://10.0.0.5:5000\n            - https://h.example.com\nconfig:\n    h.example.com:\n        auth:\n            username: robot\n            password: made-up\n        tls:\n            insecureSkipVerify: true\n",
			report: "ignored: bundle"},
		{name: "what the chart does not render", in: "registries:\n  mirrors:\n    a.example.com: {endpoints: [https://m.example.com], skipFallback: true}\n  config:\n    m.example.com: {tls: {ca: x}}\n  mirror: {}\n",
			set: "mirrors:\n    a.example.com:\n        endpoints:\n            - https://m.example.com\n",
			report: `line 3, column 57: loss: registries.mirrors["a.example.com"].skipFallback: the platform's chart does not know this key and ignores it (want endpoints)
line 5, column 27: loss: registries.config["m.example.com"].tls.ca: the platform's chart does not know this key and ignores it (want insecureSkipVerify)
line 6, column 3: loss: registries.mirror: the platform's chart does not know this key and ignores it (want mirrors, config)`},
		{name: "beside misspelt ones", in: "mirrors: {}\nregistries: {}\nregistry_mirrors: {}\nbundle: x\n", set: "{}\n",
			report: `line 1, column 1: loss: mirrors: no chart has registries under this key, and it is not read (want talos.registryMirrors, or the platform's registries)
line 3, column 1: loss: registry_mirrors: no chart has registries under this key, and it is not read (want talos.registryMirrors, or the platform's registries)
ignored: bundle`},
		{name: "the chart's beside a misspelt one", in: "talos: {registryMirrors: {}}\nRegistries: {}\n", set: "{}\n",
			report: `line 2, column 1: loss: Registries: no chart has registries under this key, and it is not read (want talos.registryMirrors, or the platform's registries)`},
		{name: "beside talos", in: "registries: {}\ntalos: {registryMirrors: {}}\n",
			err: "line 1, column 1: registries: the platform's registries beside talos, which a chart does not read (want talos.registryMirrors alone, or registries alone)"},
		{name: "wrong kinds", in: "registries:\n  mirrors: []\n  config: {'https://': {auth: {username: 5}}, h: {auth: {password: [made-up]}}}\n",
			err: `line 2, column 12: registries.mirrors: found a list (want a mapping)
line 3, column 12: registries.config["https://"]: "https://" is no URL with a host (want the URL of an endpoint)
line 3, column 68: registries.config.h.auth.password: found a list (want a string)`},
		{name: "two endpoints of a host", in: "registries: {config: {'https://h.example.com': {auth: {username: a, password: made-up}}, 'https://h.example.com/v2': {auth: {username: b, password: made-up}}}}",
			set:    "config:\n    h.example.com:\n        auth:\n            username: a\n            password: made-up\n",
			report: `line 1, column 119: loss: registries.config["https://h.example.com/v2"].auth: other credentials for the host "h.example.com" are in registries.config["https://h.example.com"].auth; Talos has one set for a host (keep those that both registries accept)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src, report, err := cozystack.Read([]byte(test.in))
			goldentest.Invariants(t, []byte(test.in), src, report, err)
			if test.err != "" {
				assert.EqualError(t, err, test.err)
				return
			}
			require.NoError(t, err)
			set, err := yaml.Marshal(src.Set)
			require.NoError(t, err)
			assert.Equal(t, test.set, string(set))
			assert.Equal(t, test.report, report.String())
			assert.NotContains(t, report.String(), "made-up")
		})
	}
}

// FuzzRoundTrip: values come back as they were, for what the report does not list.
func FuzzRoundTrip(f *testing.F) {
	for i := range 100 {
		f.Add([]byte{byte(i), byte(i * 7), byte(i * i), byte(i * 3), byte(i * 5), byte(i + 2), byte(i * 11), byte(i * 13), byte(i), byte(i * 17)}, i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, choices []byte, platform bool) {
		c := goldentest.Choices(choices)
		mirrorMap := map[string]any{}
		for range c.Int(4) {
			m := map[string]any{}
			list := []string{}
			for range 1 + c.Int(3) {
				if e := c.Pick("https://a.example.com", "http://b.example.com:5000", "https://h.example.com/v2/p", "https://n.example.com/repository/x/v2"); !slices.Contains(list, e) {
					list = append(list, e)
				}
			}
			m["endpoints"] = list
			if !platform {
				if c.Bool(2) {
					m["overridePath"] = true
				}
				if c.Bool(3) {
					m["skipFallback"] = true
				}
			}
			mirrorMap[c.Pick("docker.io", "ghcr.io", "*", "reg.example.com:5000")] = m
		}
		before := map[string]any{"talos": map[string]any{"registryMirrors": mirrorMap}}
		var opts []cozystack.Option
		if platform {
			config := map[string]any{}
			for _, m := range mirrorMap {
				for _, e := range m.(map[string]any)["endpoints"].([]string) {
					if strings.Contains(e, "a.example.com") && c.Bool(2) {
						config[e] = map[string]any{"auth": map[string]any{"username": "u", "password": "made-up"}, "tls": map[string]any{"insecureSkipVerify": true}}
					}
				}
			}
			before = map[string]any{"registries": map[string]any{"mirrors": mirrorMap, "config": config}}
			opts = append(opts, cozystack.ForPlatform())
		}
		data, err := yaml.Marshal(before)
		require.NoError(t, err)
		src, report, err := cozystack.Read(data)
		require.NoError(t, err, "%s", data)
		require.True(t, report.Lossless())
		files, written, err := cozystack.Write(src.Set, opts...)
		if err != nil {
			require.Error(t, src.Check().Err())
			return
		}
		require.True(t, written.Lossless(), "%s\n%s", data, written)
		back, report, err := cozystack.Read(files["values.yaml"])
		require.NoError(t, err, "%s", files["values.yaml"])
		require.True(t, report.Lossless())
		if platform || !hasOverride(src.Set) {
			assert.True(t, back.Set.Equal(src.Set), "%s\n%s", data, files["values.yaml"])
			var after map[string]any
			require.NoError(t, yaml.Unmarshal(files["values.yaml"], &after))
		}
		assert.True(t, same(back.Set, src.Set), "%s\n%s", data, files["values.yaml"])
	})
}

func hasOverride(set mirrors.Set) bool {
	for _, m := range set.Mirrors {
		for _, e := range m.Endpoints {
			if e.OverridePath {
				return true
			}
		}
	}
	return false
}

// same compares Sets in which overridePath of a URL that ends in /v2 says nothing.
func same(a, b mirrors.Set) bool {
	plain := func(set mirrors.Set) mirrors.Set {
		set = set.DeepCopy()
		for _, m := range set.Mirrors {
			for i := range m.Endpoints {
				if strings.HasSuffix(m.Endpoints[i].URL, "/v2") {
					m.Endpoints[i].OverridePath = false
				}
			}
		}
		return set
	}
	return plain(a).Equal(plain(b))
}

func readError(data []byte) error { _, _, err := cozystack.Read(data); return err }

func TestLimits(t *testing.T) {
	goldentest.Limits(t, "talos:\n  registryMirrors:\n", "    a: {}\n", "", readError)
	goldentest.Limits(t, "registries: {}\n", "# a comment\n", "", readError)
	goldentest.Bomb(t, "talos:\n  registryMirrors: ", "\n", readError)
	goldentest.Bomb(t, "registries: ", "\n", readError)
	goldentest.MergeBomb(t, "talos:\n  registryMirrors: ", "\n", readError)
	goldentest.MergeBomb(t, "registries:\n  mirrors: ", "\n", readError)
}

func TestMany(t *testing.T) {
	goldentest.Many(t, "talos:\n  registryMirrors:\n", func(i int) string {
		return fmt.Sprintf("    m%d.example.com: {endpoints: [https://n.example.com]}\n", i)
	}, "", readError)
	goldentest.Many(t, "talos: {registryMirrors: {ghcr.io: {endpoints: [", func(i int) string { return fmt.Sprintf("https://m%d.example.com,", i) }, "]}}}\n", readError)
	goldentest.Many(t, "registries:\n  config:\n", func(i int) string {
		return fmt.Sprintf("    https://m%d.example.com: {tls: {insecureSkipVerify: true}}\n", i)
	}, "", readError)
	goldentest.Many(t, "talos: {registryMirrors: {}}\n", func(i int) string { return fmt.Sprintf("registry%d: {}\n", i) }, "", readError)
}

func TestSecrets(t *testing.T) {
	const secret = "Zw9KqLx7Yb3NmT5v"
	for _, input := range []string{
		"registries:\n  config:\n    https://m.example.com:\n      auth:\n        username: u\n        password: " + secret + "\n",
		"registries: {config: {'https://user:" + secret + "@m.example.com': {auth: {username: u, password: x}}}}\n",
	} {
		goldentest.Secrets(t, input, secret, cozystack.Read)
	}
}
