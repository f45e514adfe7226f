package configpatch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Each entry is judged in the form that it stands in, with the place and the
// path that it has there.
func TestEffectiveCheck(t *testing.T) {
	const (
		document = "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\nendpoints:\n  - url: https://m.example.com\n"
		mixed    = "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\nendpoints:\n  - url: https://m.example.com/v2/a\n    overridePath: true\n  - url: https://n.example.com\n"
		tls      = "apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: m.example.com\ninsecureSkipVerify: true\n"
		braces   = "machine:\n  registries:\n    mirrors:\n      quay.io:\n        endpoints:\n          - https://a.example.com/x\n          - https://a.example.com/{x}\n"
		byRule   = "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: ghcr.io\nendpoints:\n  - url: https://m.example.com/{x}\n"
	)
	for name, tt := range map[string]struct {
		in      string
		version string
		want    []string // without those of severity info and that nothing is verified
	}{
		"documents of old":                {document, "v1.11", []string{`1:1 error version-feature ""`}},
		"documents":                       {document, "v1.12.0", nil},
		"legacy of old":                   {braces, "v1.8", []string{`7:13 warning endpoint-canonical "machine.registries.mirrors[\"quay.io\"].endpoints[1]"`}},
		"legacy with a version of both":   {braces, "v1.13", []string{`7:13 warning endpoint-canonical "machine.registries.mirrors[\"quay.io\"].endpoints[1]"`}},
		"legacy":                          {braces, "", []string{`7:13 warning endpoint-canonical "machine.registries.mirrors[\"quay.io\"].endpoints[1]"`}},
		"a document is parsed":            {byRule, "", []string{`5:10 error endpoint-canonical "RegistryMirrorConfig \"ghcr.io\": endpoints[0].url"`}},
		"overridePath of one mirror":      {mixed, "v1.12.0", nil},
		"TLS documents of old":            {braces + "---\n" + document + "---\n" + tls, "v1.8", []string{`7:13 warning endpoint-canonical "machine.registries.mirrors[\"quay.io\"].endpoints[1]"`, `9:1 error version-feature ""`}},
		"TLS documents that panic":        {document + "---\n" + tls, "v1.12.0", []string{`7:1 error version-feature "RegistryTLSConfig \"m.example.com\""`}},
		"TLS documents that do not panic": {document + "---\n" + tls, "v1.12.2", nil},
		"both forms": {braces + "---\n" + byRule, "v1.13", []string{
			`7:13 warning endpoint-canonical "machine.registries.mirrors[\"quay.io\"].endpoints[1]"`,
			`13:10 error endpoint-canonical "RegistryMirrorConfig \"ghcr.io\": endpoints[0].url"`}},
		"TLS in legacy form beside a document": {
			document + "---\nmachine:\n  registries:\n    config:\n      m.example.com:\n        tls: {insecureSkipVerify: true}\n", "v1.12.1", nil},
		"a host without an endpoint": {document + "---\nmachine:\n  registries:\n    config:\n      index.docker.io:\n        auth: {username: robot, password: made-up}\n", "",
			[]string{`10:7 warning config-unused "machine.registries.config[\"index.docker.io\"]"`}},
		"credentials": {document + "---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: m.example.com\nauth: bm9uc2Vuc2U=\n", "",
			[]string{`10:7 error auth-encoding "RegistryAuthConfig \"m.example.com\": auth"`}},
		"nothing":    {"version: v1alpha1\nmachine: {}\n", "v1.13", []string{`0:0 warning empty-set ""`}},
		"no version": {document, "latest", []string{`1:1 error version-feature ""`}},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := configpatch.Read([]byte(tt.in))
			require.NoError(t, err)
			var opts []mirrors.CheckOption
			if tt.version != "" {
				opts = append(opts, mirrors.ForTalos(tt.version))
			}
			var got []string
			for _, f := range effective.Check(opts...) {
				if f.Severity != mirrors.SeverityInfo && f.Rule != mirrors.RuleInsecureSkipVerify {
					got = append(got, fmt.Sprintf("%d:%d %s %s %q", f.Line, f.Column, f.Severity, f.Rule, f.Path))
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// Whatever is found in the corpus has a line, a column and a path of the file,
// and is what Check finds in the Set when there is one form alone.
func TestEffectiveCheckCorpus(t *testing.T) {
	data, err := os.ReadFile("../testdata/pull-order.json")
	require.NoError(t, err)
	var cases []struct{ Name, Config string }
	require.NoError(t, json.Unmarshal(data, &cases))
	found := 0
	for _, c := range cases {
		effective, err := configpatch.Read([]byte(c.Config))
		require.NoError(t, err, c.Name)
		got := effective.Check()
		for _, f := range got {
			found++
			if f.Path != "" {
				assert.Regexp(t, `^(machine\.registries\.(mirrors|config)\["|Registry(Mirror|Auth|TLS)Config ")`, f.Path, c.Name)
				assert.Positive(t, f.Line, "%s: %s", c.Name, f.Path)
				assert.Positive(t, f.Column, "%s: %s", c.Name, f.Path)
			}
		}
		forms := map[configpatch.Origin]bool{}
		for _, e := range effective.Entries {
			forms[e.Origin] = true
		}
		if len(forms) == 1 && forms[configpatch.OriginLegacy] {
			want := effective.Set.Check(mirrors.InForm("legacy"))
			rules := func(fs mirrors.Findings) (all []string) {
				for _, f := range fs {
					all = append(all, f.Rule+" "+f.Severity.String())
				}
				return all
			}
			assert.ElementsMatch(t, rules(want), rules(got), c.Name)
		}
	}
	assert.Greater(t, found, 100)
}

// Every field that is written has its own place.
func TestEffectiveSource(t *testing.T) {
	in := `machine:
  registries:
    mirrors:
      ghcr.io:
        skipFallback: true
        endpoints: &e
          - https://m.example.com
          - https://n.example.com
      quay.io: {endpoints: *e}
    config:
      m.example.com:
        auth:
          username: robot
          password: made-up
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: docker.io
endpoints:
  - overridePath: true
    url: https://m.example.com/v2/hub
---
apiVersion: v1alpha1
kind: RegistryTLSConfig
name: m.example.com
insecureSkipVerify: true
`
	effective, err := configpatch.Read([]byte(in))
	require.NoError(t, err)
	source := effective.Source()
	sameSet(t, effective.Set, source.Set)
	for place, want := range map[mirrors.Place]mirrors.Position{
		{}:                                   {Line: 16, Column: 1}, // the first document
		{Section: "mirrors", Key: "ghcr.io"}: {Path: `machine.registries.mirrors["ghcr.io"]`, Line: 4, Column: 7},
		{Section: "mirrors", Key: "ghcr.io", Field: "skipFallback"}:                  {Path: `machine.registries.mirrors["ghcr.io"].skipFallback`, Line: 5, Column: 23},
		{Section: "mirrors", Key: "ghcr.io", Field: "endpoints[1]"}:                  {Path: `machine.registries.mirrors["ghcr.io"].endpoints[1]`, Line: 8, Column: 13},
		{Section: "mirrors", Key: "quay.io", Field: "endpoints[0]"}:                  {Path: `machine.registries.mirrors["quay.io"].endpoints[0]`, Line: 7, Column: 13},
		{Section: "mirrors", Key: "docker.io", Field: "endpoints[0]"}:                {Path: `RegistryMirrorConfig "docker.io": endpoints[0].url`, Line: 21, Column: 10},
		{Section: "mirrors", Key: "docker.io", Field: "endpoints[0].overridePath"}:   {Path: `RegistryMirrorConfig "docker.io": endpoints[0].overridePath`, Line: 20, Column: 19},
		{Section: "config", Key: "m.example.com"}:                                    {Path: `machine.registries.config["m.example.com"]`, Line: 11, Column: 7},
		{Section: "config", Key: "m.example.com", Field: "auth.password"}:            {Path: `machine.registries.config["m.example.com"].auth.password`, Line: 14, Column: 21},
		{Section: "config", Key: "m.example.com", Field: "tls.insecureSkipVerify"}:   {Path: `RegistryTLSConfig "m.example.com": insecureSkipVerify`, Line: 26, Column: 21},
		{Section: "config", Key: "m.example.com", Field: "tls.clientIdentity.crt"}:   {Path: `RegistryTLSConfig "m.example.com"`, Line: 23, Column: 1},
		{Section: "mirrors", Key: "docker.io", Field: "endpoints[0].not-in-the-Set"}: {Path: `RegistryMirrorConfig "docker.io": endpoints[0].url`, Line: 21, Column: 10},
	} {
		assert.Equal(t, want, source.Position(place), "%s", place)
	}

	// A client certificate, and a name that is a URL with credentials.
	identity := "machine: {registries: {config: {'https://u:made-up@m': {tls: {clientIdentity: {crt: YQ==, key: YQ==}}}}}}"
	effective, err = configpatch.Read([]byte(identity))
	require.NoError(t, err)
	at := effective.Source().Position(mirrors.Place{Section: "config", Key: "https://u:made-up@m", Field: "tls.clientIdentity.key"})
	assert.Equal(t, `machine.registries.config["https://[redacted]@m"].tls.clientIdentity.key`, at.Path)
	assert.NotContains(t, fmt.Sprint(effective.Check()), "made-up")
}

// What a configuration says beside registries is named once.
func TestIgnored(t *testing.T) {
	effective, err := configpatch.Read([]byte(mixedConfig + "---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: made-up\nauto: 'off'\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"version", "machine.type", "HostnameConfig"}, effective.Ignored)
}
