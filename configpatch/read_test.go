package configpatch_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// mixedConfig has entries in legacy form, in document form, and in both.
const mixedConfig = `version: v1alpha1
machine:
  type: worker
  registries:
    mirrors:
      docker.io:
        endpoints: [https://old.example.com]
        skipFallback: true
      ghcr.io:
        endpoints:
          - https://harbor.example.com/v2/a
          - https://harbor.example.com/v2/b
        overridePath: true
    config:
      harbor.example.com:
        auth: {username: old, password: made-up-one}
        tls: {insecureSkipVerify: true}
      says.nothing.example.com: {}
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: docker.io
endpoints:
  - url: https://new.example.com
---
apiVersion: v1alpha1
kind: RegistryAuthConfig
name: harbor.example.com
identityToken: made-up-two
`

func TestRead(t *testing.T) {
	got, err := configpatch.Read([]byte(mixedConfig))
	require.NoError(t, err)
	sameSet(t, mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io": {Endpoints: urls("https://new.example.com")},
			"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.example.com/v2/a", OverridePath: true}, {URL: "https://harbor.example.com/v2/b", OverridePath: true}}},
		},
		Config: map[string]mirrors.HostConfig{
			"harbor.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-two")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}, got.Set)
	assert.Equal(t, []configpatch.Entry{
		{Kind: configpatch.KindMirror, Name: "docker.io", Origin: configpatch.OriginBoth, Line: 20, Column: 1, Hidden: 6, HiddenColumn: 7},
		{Kind: configpatch.KindMirror, Name: "ghcr.io", Origin: configpatch.OriginLegacy, Line: 9, Column: 7},
		{Kind: configpatch.KindAuth, Name: "harbor.example.com", Origin: configpatch.OriginBoth, Line: 26, Column: 1, Hidden: 16, HiddenColumn: 9},
		{Kind: configpatch.KindTLS, Name: "harbor.example.com", Origin: configpatch.OriginLegacy, Line: 17, Column: 9},
	}, got.Entries)

	// Printing shows no secret.
	text := fmt.Sprintf("%v %+v", got, got.Set)
	assert.NotContains(t, text, "made-up")
	redacted, err := got.Registries(false)
	require.NoError(t, err)
	golden(t, "read/redacted.yaml", redacted)
	assert.NotContains(t, string(redacted), "made-up")
	revealed, err := got.Registries(true)
	require.NoError(t, err)
	source, err := mirrors.Decode(revealed)
	require.NoError(t, err)
	sameSet(t, got.Set, source.Set)
}

func TestReadRedactsURLs(t *testing.T) {
	got, err := configpatch.Read([]byte("machine: {registries: {mirrors: {'https://user:made-up@a.example.com': {endpoints: ['https://user:made-up@m.example.com/v2', 'user:made@up@m', 'https://m.example.com/v2?token=made#made']}}}}"))
	require.NoError(t, err)
	text, err := got.Registries(false)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "made")
	assert.Contains(t, string(text), "https://[redacted]@m.example.com/v2")
	assert.Contains(t, string(text), "https://[redacted]@a.example.com")
	assert.Contains(t, string(text), "https://m.example.com/v2?[redacted]")
}

// Twice the entries take about twice the time, not four times.
func TestRegistriesOfMany(t *testing.T) {
	took := func(n int) time.Duration {
		var text strings.Builder
		text.WriteString("machine:\n  registries:\n    mirrors:\n")
		for i := range n {
			fmt.Fprintf(&text, "      r%d.example.com: {endpoints: ['https://m.example.com']}\n", i)
		}
		got, err := configpatch.Read([]byte(text.String()))
		require.NoError(t, err)
		best := time.Hour
		for range 3 {
			start := time.Now()
			_, err = got.Registries(false)
			require.NoError(t, err)
			best = min(best, time.Since(start))
		}
		return best
	}
	one, eight := took(1000), took(8000)
	assert.Less(t, eight, 24*one, "1000 entries take %s", one)
}

// What machinery panics on, or says nothing useful about.
func TestReadBad(t *testing.T) {
	raw := "-----BEGIN CERTIFICATE-----\n"
	for name, tt := range map[string]struct{ in, err string }{
		"empty":               {"", "config not found"},
		"only a comment":      {"# nothing\n", "config not found"},
		"binary":              {"\x00\x01\xff", "cannot load the configuration"},
		"a list":              {"- a\n", "expected a YAML document"},
		"another kind":        {"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "Pod"},
		"empty url":           {"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a.example.com\nendpoints: [{url: ''}, {}]\n", `line 1: RegistryMirrorConfig "a.example.com": endpoints[0].url: empty (want an http or https URL)` + "\n" + `line 1: RegistryMirrorConfig "a.example.com": endpoints[1].url: empty (want an http or https URL)`},
		"null entries":        {"machine:\n  registries:\n    mirrors:\n      a.example.com: null\n    config:\n      b.example.com:\n", `line 4: machine.registries.mirrors["a.example.com"]: null, which Talos refuses (want endpoints)` + "\n" + `line 6: machine.registries.config["b.example.com"]: null, which Talos refuses (want auth or tls)`},
		"PEM in legacy":       {"machine: {registries: {config: {a: {tls: {ca: '" + raw + "'}}}}}", "illegal base64"},
		"unknown key":         {"machine: {registries: {mirrors: {a: {endpoint: [x]}}}}", "endpoint"},
		"twice the same":      {"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\n", "duplicate document"},
		"a patch":             {"machine: {registries: {$patch: delete}}", "$patch"},
		"list where a map is": {"machine: {registries: {mirrors: [a]}}", "cannot construct !!seq"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := configpatch.Read([]byte(tt.in))
			require.ErrorContains(t, err, tt.err)
			assert.Nil(t, got)
			var e *configpatch.Error
			assert.ErrorAs(t, err, &e)
			_, err = configpatch.Migrate([]byte(tt.in))
			assert.ErrorContains(t, err, tt.err)
			_, err = configpatch.Converge([]byte(tt.in), mirrors.Set{}, version(t, "1.13"))
			assert.ErrorContains(t, err, tt.err)
		})
	}
}

// Machinery's errors quote the configuration.
func TestErrorsHoldNoSecret(t *testing.T) {
	for in, want := range map[string]string{
		"machine: {registries: {config: {h.example.com: {auth: {passwrd: made-up, x: [made-up]}}}}}":                                                  `unknown keys: machine.registries.config["h.example.com"].auth.passwrd, machine.registries.config["h.example.com"].auth.x`,
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: made-up}}}}}":                                                                  "line 1: cannot construct !!str [redacted] into bool",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: 'https://u:made-up%zz@h'}]\n":                                   `line 4: a URL does not parse: invalid URL escape [redacted]`,
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: 'https://u:made/up@h:x'}]\n":                                    "line 4: a URL does not parse: invalid port [redacted] after host",
		"apiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: a\npasswrd: |\n  made-up\n  x: made\n":                                                 "unknown keys: passwrd",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: 'https://h', password: made-up, a: {}}]":                        "unknown keys: endpoints[0].a, endpoints[0].password",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: 'https://h:x/?token=made'}]\n":                                  "line 4: a URL does not parse: invalid port [redacted] after host",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: 'https://u:madeh'}]\n":                                          "line 4: a URL does not parse: invalid port [redacted] after host",
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: \"a`made\"}}}}}":                                                               "line 1: cannot construct !!str [redacted] into bool",
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: \"`made` x`made\"}}}}}":                                                        "line 1: cannot construct !!str [redacted] into bool",
		"machine: {registries: {config: {h: {tls: {insecureSkipVerify: \"m` into a\"}}}}}":                                                            "line 1: cannot construct !!str [redacted] into bool",
		"machine: {registries: {config: {h: {auth: {password: *made}}}}}":                                                                             "unknown anchor: a text that begins with * wants quotes",
		"machine: {registries: {mirrors: {'https://u:made@h': {endpoint: x}}}}":                                                                       `unknown keys: machine.registries.mirrors["https://[redacted]@h"].endpoint`,
		"machine: {registries: {config: {h: {auth: {username: u, made}}}}}":                                                                           `unknown keys: machine.registries.config.h.auth[[redacted]]`,
		"machine: {registries: {mirrors: {a: {'https://u:made@h': x}}}}":                                                                              `unknown keys: machine.registries.mirrors.a["https://[redacted]@h"]`,
		"machine: {registries: {mirrors: {'https://u:made@h': {}, 'https://u:made@h': {}}}}":                                                          `https://[redacted]@h`,
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: 'https://u:made@h'\nfoo: 1\n":                                                        "RegistryMirrorConfig/https://[redacted]@h (line 1)",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: u:ma de@h\n---\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: u:ma de@h\n": "duplicate document v1alpha1/RegistryMirrorConfig/[redacted]@h",
	} {
		_, err := configpatch.Read([]byte(in))
		require.ErrorContains(t, err, want)
		for e := err; e != nil; e = errors.Unwrap(e) {
			assert.NotContains(t, e.Error(), "made")
			assert.NotContains(t, e.Error(), "ma de")
		}
	}
}

// Whatever prints a plan or a reading does not print what is in it.
func TestPrinting(t *testing.T) {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{"harbor.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-new")}}}}
	plan, err := configpatch.Converge([]byte(mixedConfig), set, version(t, "1.13"), configpatch.Own("harbor.example.com"))
	require.NoError(t, err)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		assert.Equal(t, "auth harbor.example.com: changed; tls harbor.example.com: removed", fmt.Sprintf(verb, plan))
		assert.Equal(t, "2 mirrors, 1 hosts", fmt.Sprintf(verb, plan.Before))
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "plan", plan, "patch", *plan.Patch, "after", plan.After)
	assert.NotContains(t, log.String(), "made-up")
	assert.Contains(t, log.String(), "mirrors.yaml (")
}

func TestMigrate(t *testing.T) {
	cert, err := os.ReadFile("testdata/cert.pem")
	require.NoError(t, err)
	key, err := os.ReadFile("testdata/key.pem")
	require.NoError(t, err)
	in := strings.Replace(mixedConfig, "tls: {insecureSkipVerify: true}", fmt.Sprintf("tls: {ca: %s, clientIdentity: {crt: %[1]s, key: %s}}",
		base64.StdEncoding.EncodeToString(cert), base64.StdEncoding.EncodeToString(key)), 1)
	out, err := configpatch.Migrate([]byte(in))
	require.NoError(t, err)
	golden(t, "migrate/mixed.yaml", out)

	for name, in := range map[string]string{
		"no registries":    "version: v1alpha1 # as it is\nmachine: {}\n",
		"documents only":   "# as it is\napiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a.example.com\n",
		"empty registries": "machine: {registries: {mirrors: {}}} # as it is\n",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := configpatch.Migrate([]byte(in))
			require.NoError(t, err)
			assert.Equal(t, in, string(out))
		})
	}
}

func TestMigrateRefuses(t *testing.T) {
	for url, want := range map[string]string{
		"m.example.com:5000":              "a registry document cannot hold this endpoint (want an absolute http or https URL)",
		"":                                "a registry document cannot hold this endpoint (want an absolute http or https URL)",
		"https://m.example.com:port":      "a registry document cannot hold this endpoint (want an absolute http or https URL)",
		"oci://m.example.com":             "a registry document cannot hold this endpoint (want an absolute http or https URL)",
		"HTTPS://m.example.com":           `a registry document spells "HTTPS://m.example.com" in another way (want "https://m.example.com")`,
		"https://m.example.com/a|b":       `a registry document spells "https://m.example.com/a|b" in another way (want "https://m.example.com/a%7Cb")`,
		"HTTPS://m.example.com?a=made-up": `a registry document spells "HTTPS://m.example.com?[redacted]" in another way (want "https://m.example.com?[redacted]")`,
		"https://u:made-up@m.example.com": "the URL holds credentials, which no puller uses (want the URL without credentials)",
	} {
		in := fmt.Sprintf("machine: {registries: {mirrors: {ghcr.io: {endpoints: [%q]}}}}", url)
		out, err := configpatch.Migrate([]byte(in))
		require.Error(t, err, url)
		assert.Nil(t, out)
		assert.NotContains(t, err.Error(), "made-up")
		assert.EqualError(t, err, `line 1: machine.registries.mirrors["ghcr.io"].endpoints[0]: `+want)
	}
	// What others wrote, and Talos refuses, is reported rather than half moved.
	_, err := configpatch.Migrate([]byte("machine: {registries: {config: {m.example.com: {tls: {ca: bm8gUEVN}}}}}"))
	require.ErrorContains(t, err, "Talos would refuse the result: RegistryTLSConfig/m.example.com: ca must be a valid PEM-encoded certificate")
	_, err = configpatch.Migrate([]byte("machine: {registries: {config: {'https://u:made-up@h': {tls: {ca: bm8gUEVN}}, 'u:made up@h': {tls: {ca: bm8gUEVN}}}}}"))
	require.ErrorContains(t, err, "Talos would refuse the result: RegistryTLSConfig/https://[redacted]@h: ca must be a valid PEM-encoded certificate")
	require.ErrorContains(t, err, "Talos would refuse the result: RegistryTLSConfig/[redacted]@h: ca must be")
	assert.NotContains(t, err.Error(), "made")
	// Each problem says its line.
	_, err = configpatch.Migrate([]byte("machine:\n  registries:\n    mirrors:\n      a.example.com:\n        endpoints:\n          - https://m.example.com\n          - x\n      b.example.com: {endpoints: [oci://x]}\n"))
	assert.EqualError(t, err, `line 7: machine.registries.mirrors["a.example.com"].endpoints[1]: a registry document cannot hold this endpoint (want an absolute http or https URL)`+"\n"+
		`line 8: machine.registries.mirrors["b.example.com"].endpoints[0]: a registry document cannot hold this endpoint (want an absolute http or https URL)`)
}
