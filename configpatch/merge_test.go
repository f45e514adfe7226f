package configpatch_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func TestMergeGolden(t *testing.T) {
	for _, tt := range []struct {
		name    string
		version string
		set     mirrors.Set
		opts    []configpatch.Option
	}{
		{name: "full-documents", version: "1.13", set: fullSet(t)},
		{name: "full-legacy", version: "1.11", set: fullSet(t)},
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
	star := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"*": {Endpoints: urls("https://a.example.com")}}}
	documents := configpatch.WithForm(configpatch.Documents)
	legacy := configpatch.WithForm(configpatch.Legacy)

	for _, tt := range []struct {
		name    string
		set     mirrors.Set
		version string
		opts    []configpatch.Option
		err     string
	}{
		{"no version", plain, "", nil, `version: not set (want the older version of client and node, such as v1.13)`},
		{"too old", plain, "1.2.9", nil, `version: Talos v1.2.9 is not supported (want 1.3 or later)`},
		{"oldest", plain, "1.3", nil, ``},
		{"wrong form", plain, "1.13", []configpatch.Option{configpatch.WithForm(7)}, `form: unknown form 7 (want Legacy or Documents)`},
		{"documents before 1.12", plain, "1.11.6", []configpatch.Option{documents}, `form: Talos v1.11.6 has no registry documents (want 1.12.0 or later, or the legacy form)`},
		{"documents in 1.12.0", plain, "1.12.0", []configpatch.Option{documents}, ``},
		{"documents with TLS only in 1.12.1", tls, "1.12.1", []configpatch.Option{documents}, `config["m.example.com"].tls: a RegistryTLSConfig without clientIdentity makes Talos v1.12.1 panic (want 1.12.2 or later, a clientIdentity, or the legacy form)`},
		{"documents with TLS only in 1.12.2", tls, "1.12.2", nil, ``},
		{"star before 1.4", star, "1.3.7", nil, `mirrors["*"]: containerd on Talos v1.3.7 does not honour the mirror "*" (want 1.4.0 or later)`},
		{"star", star, "1.4", nil, ``},
		{"skipFallback before 1.9", skip, "1.8.4", nil, `mirrors["ghcr.io"].skipFallback: Talos v1.8.4 has no skipFallback (want 1.9.0 or later)`},
		{"skipFallback", skip, "1.9", nil, ``},
		{"mixed overridePath, legacy", mixed, "1.11", nil, `mirrors["ghcr.io"]: overridePath differs between endpoints 0 and 1, and the legacy form has it once for a mirror (want the same for all endpoints, or the documents form (Talos 1.12.0 and later))`},
		{"mixed overridePath, legacy asked for", mixed, "1.13", []configpatch.Option{legacy}, `mirrors["ghcr.io"]: overridePath differs between endpoints 0 and 1, and the legacy form has it once for a mirror (want the same for all endpoints, or the documents form (Talos 1.12.0 and later))`},
		{"mixed overridePath, documents", mixed, "1.13", nil, ``},
		{"empty", mirrors.Set{}, "1.13", nil, `the set has no entry, and Talos refuses an empty patch (want at least one mirror or host)`},
		{"host that says nothing", mirrors.Set{Config: map[string]mirrors.HostConfig{"m.example.com": {}}}, "1.13", nil, `the set has no entry, and Talos refuses an empty patch (want at least one mirror or host)`},
		{"invalid UTF-8", mirrors.Set{Config: map[string]mirrors.HostConfig{"m.example.com": {Auth: &mirrors.Auth{Username: "u", Password: mirrors.NewSecret("secret\xff")}}}}, "1.13", nil,
			`config["m.example.com"].auth.password: invalid UTF-8 at offset 6 (want UTF-8, which is all that YAML can hold)`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var v configpatch.Version
			if tt.version != "" {
				v = version(t, tt.version)
			}
			patch, err := configpatch.Merge(tt.set, v, tt.opts...)
			if tt.err == "" {
				require.NoError(t, err)
				assert.NotEmpty(t, patch.Bytes())
				return
			}
			require.EqualError(t, err, tt.err)
			var e *configpatch.Error
			assert.True(t, errors.As(err, &e))
			assert.Empty(t, patch.Bytes())
		})
	}
}

// All that is wrong comes at once.
func TestMergeReportsAll(t *testing.T) {
	_, err := configpatch.Merge(mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"*":       {Endpoints: urls("https://a.example.com"), SkipFallback: true},
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}, {URL: "ftp://b.example.com"}}},
	}}, version(t, "1.3.7"))
	var found *mirrors.Error
	require.ErrorAs(t, err, &found)
	assert.Len(t, found.Findings, 1)
	for _, text := range []string{`"ftp"`, `mirrors["*"]: containerd on Talos v1.3.7`, `mirrors["*"].skipFallback`} {
		assert.ErrorContains(t, err, text)
	}
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
}
