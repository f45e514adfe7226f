package configpatch_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func TestMergeGolden(t *testing.T) {
	alone := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {SkipFallback: true}}}
	for _, tt := range []struct {
		name    string
		version string
		set     mirrors.Set
		opts    []configpatch.Option
	}{
		{name: "full-documents", version: "1.13", set: fullSet(t)},
		{name: "full-legacy", version: "1.11", set: fullSet(t)},
		{name: "image-cache-documents", version: "1.13", set: alone, opts: []configpatch.Option{configpatch.WithImageCache()}},
		{name: "image-cache-legacy", version: "1.11", set: alone, opts: []configpatch.Option{configpatch.WithImageCache()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			patch, err := configpatch.Merge(tt.set, version(t, tt.version), tt.opts...)
			require.NoError(t, err)
			golden(t, "merge/"+tt.name+".yaml", patch.Bytes())
			for range 20 {
				again, err := configpatch.Merge(tt.set.DeepCopy(), version(t, tt.version), tt.opts...)
				require.NoError(t, err)
				require.Equal(t, string(patch.Bytes()), string(again.Bytes()))
			}
		})
	}
}

func TestMergeRefuses(t *testing.T) {
	one := func(m mirrors.Mirror) mirrors.Set {
		return mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": m}}
	}
	tls := mirrors.Set{Config: map[string]mirrors.HostConfig{"m.example.com": {TLS: &mirrors.TLS{InsecureSkipVerify: true}}}}
	mixed := one(mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}, {URL: "https://b.example.com/v2/p", OverridePath: true}}})
	skip := one(mirrors.Mirror{Endpoints: urls("https://a.example.com"), SkipFallback: true})
	plain := one(mirrors.Mirror{Endpoints: urls("https://a.example.com")})
	alone := one(mirrors.Mirror{SkipFallback: true})
	star := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"*": {Endpoints: urls("https://a.example.com")}}}
	documents := configpatch.WithForm(configpatch.Documents)
	legacy := configpatch.WithForm(configpatch.Legacy)

	for _, tt := range []struct {
		name    string
		set     mirrors.Set
		version string
		opts    []configpatch.Option
		err     string // of this package
		rule    string // or of package mirrors, with the path
		path    string
	}{
		{name: "no version", set: plain, err: `version: not set (want the older version of client and node, such as v1.13)`},
		{name: "too old", set: plain, version: "1.2.9", err: `version: Talos 1.2.9 is not supported (want 1.3 or later)`},
		{name: "oldest", set: plain, version: "1.3"},
		{name: "newer than all that is known", set: plain, version: "1.99"},
		{name: "a nil option", set: plain, version: "1.13", opts: []configpatch.Option{nil}},
		{name: "wrong form", set: plain, version: "1.13", opts: []configpatch.Option{configpatch.WithForm(7)}, err: `form: unknown form 7 (want Legacy or Documents)`},
		{name: "zero form", set: plain, version: "1.13", opts: []configpatch.Option{configpatch.WithForm(0)}, err: `form: unknown form 0 (want Legacy or Documents)`},
		{name: "documents before 1.12", set: plain, version: "1.11.6", opts: []configpatch.Option{documents}, rule: "version-feature"},
		{name: "documents in a pre-release", set: plain, version: "1.12.0-beta.1", opts: []configpatch.Option{documents}, err: `Talos 1.12.0-beta.1 may not have registry documents yet (want 1.12.0 or later, or the legacy form)`},
		{name: "documents in 1.12.0", set: plain, version: "1.12.0", opts: []configpatch.Option{documents}},
		{name: "documents with TLS only in 1.12.1", set: tls, version: "1.12.1", opts: []configpatch.Option{documents}, rule: "version-feature", path: `config["m.example.com"].tls`},
		{name: "documents with TLS only in a pre-release", set: tls, version: "1.12.2-rc.0", opts: []configpatch.Option{documents},
			err: `config["m.example.com"].tls: Talos 1.12.2-rc.0 may not have a RegistryTLSConfig without clientIdentity yet (want 1.12.2 or later, or the legacy form)`},
		{name: "documents with TLS only in 1.12.2", set: tls, version: "1.12.2"},
		{name: "star before 1.4", set: star, version: "1.3.7", rule: "version-feature", path: `mirrors["*"]`},
		{name: "star in a pre-release", set: star, version: "1.4.0-alpha.0", err: `mirrors["*"]: Talos 1.4.0-alpha.0 may not have the mirror "*" yet (want 1.4.0 or later)`},
		{name: "star", set: star, version: "1.4"},
		{name: "skipFallback before 1.9", set: skip, version: "1.8.4", rule: "version-feature", path: `mirrors["ghcr.io"].skipFallback`},
		{name: "skipFallback in a pre-release", set: skip, version: "1.9.0-alpha.3", err: `mirrors["ghcr.io"].skipFallback: Talos 1.9.0-alpha.3 may not have skipFallback yet (want 1.9.0 or later)`},
		{name: "skipFallback", set: skip, version: "1.9"},
		{name: "mixed overridePath, legacy", set: mixed, version: "1.11", rule: "legacy-override", path: `mirrors["ghcr.io"].endpoints[1].overridePath`},
		{name: "mixed overridePath, legacy asked for", set: mixed, version: "1.13", opts: []configpatch.Option{legacy}, rule: "legacy-override", path: `mirrors["ghcr.io"].endpoints[1].overridePath`},
		{name: "mixed overridePath, documents", set: mixed, version: "1.13"},
		{name: "no endpoints and no fallback", set: alone, version: "1.13", rule: "skip-fallback-alone", path: `mirrors["ghcr.io"].skipFallback`},
		{name: "from the image cache only", set: alone, version: "1.13", opts: []configpatch.Option{configpatch.WithImageCache()}},
		{name: "empty", version: "1.13", err: `the set has no entry, and Talos refuses an empty patch (want at least one mirror or host)`},
		{name: "invalid UTF-8", set: mirrors.Set{Config: map[string]mirrors.HostConfig{"m.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("secret\xff")}}}}, version: "1.13",
			err: `config["m.example.com"].auth.password: invalid UTF-8 at offset 6 (want UTF-8, which is all that YAML can hold)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v configpatch.Version
			if tt.version != "" {
				v = version(t, tt.version)
			}
			patch, err := configpatch.Merge(tt.set, v, tt.opts...)
			if tt.err == "" && tt.rule == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, patch.Bytes())
				return
			}
			var e *configpatch.Error
			require.ErrorAs(t, err, &e)
			assert.Empty(t, patch.Bytes())
			if tt.rule == "" {
				assert.EqualError(t, err, tt.err)
				return
			}
			var found *mirrors.Error
			require.ErrorAs(t, err, &found)
			require.Len(t, found.Findings, 1)
			assert.Equal(t, tt.rule, found.Findings[0].Rule)
			assert.Equal(t, tt.path, found.Findings[0].Path)
			assert.EqualError(t, err, found.Error(), "nothing is said twice")
		})
	}
}

// All that is wrong comes at once.
func TestMergeReportsAll(t *testing.T) {
	_, err := configpatch.Merge(mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"*":       {Endpoints: urls("https://a.example.com"), SkipFallback: true},
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}, {URL: "ftp://b.example.com"}}},
	}, Config: map[string]mirrors.HostConfig{"a.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("\xff")}}}}, version(t, "1.3.7"))
	var found *mirrors.Error
	require.ErrorAs(t, err, &found)
	var rules []string
	for _, f := range found.Findings {
		rules = append(rules, f.Rule+" "+f.Path)
	}
	assert.ElementsMatch(t, []string{
		`version-feature mirrors["*"]`, `version-feature mirrors["*"].skipFallback`, `endpoint-scheme mirrors["ghcr.io"].endpoints[1]`,
	}, rules)
	assert.ErrorContains(t, err, "invalid UTF-8")
}

// A registry document gives back another spelling than these have.
func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"HTTPS://m.example.com":      "https://m.example.com",
		"https://m.example.com/a|b":  "https://m.example.com/a%7Cb",
		"https://m.example.com/`id`": "https://m.example.com/%60id%60",
	} {
		set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls(in)}}}
		_, err := configpatch.Merge(set, version(t, "1.13"))
		var found *mirrors.Error
		require.ErrorAs(t, err, &found, in)
		assert.Equal(t, "endpoint-canonical", found.Findings[0].Rule)
		assert.Contains(t, found.Error(), fmt.Sprintf("%q", want))
	}
}

// Printing a patch does not print what is in it.
func TestPatchPrinting(t *testing.T) {
	patch, err := configpatch.Merge(fullSet(t), version(t, "1.13"))
	require.NoError(t, err)
	want := fmt.Sprintf("mirrors.yaml (%d bytes)", len(patch.Bytes()))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		assert.Equal(t, want, fmt.Sprintf(verb, patch), verb)
	}
	_, err = configpatch.Patch{}.Load()
	var e *configpatch.Error
	require.ErrorAs(t, err, &e, "a patch that nothing made")
}
