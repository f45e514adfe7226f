package configpatch_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func TestReplaceGolden(t *testing.T) {
	full := fullSet(t)
	plain := full.DeepCopy()
	maps.DeleteFunc(plain.Mirrors, func(k string, _ mirrors.Mirror) bool { return strings.HasPrefix(k, "[") })
	gone := mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {}}}
	const (
		stub   = "a configuration without a v1alpha1 document"
		legacy = "machine.registries"
		stay   = "registry documents"
	)
	for _, tt := range []struct {
		name    string
		version string
		set     mirrors.Set
		opts    []configpatch.Option
		warns   []string
	}{
		{name: "documents", version: "1.13", set: full, warns: []string{stub, `mirrors["[fd00::1]:5000"]`}},
		{name: "documents-only", version: "1.13", set: full, opts: []configpatch.Option{configpatch.DocumentsOnly()}, warns: []string{legacy}},
		{name: "legacy-1.11", version: "1.11.6", set: plain, warns: []string{stub}},
		{name: "legacy-1.12.1", version: "1.12.1", set: plain, warns: []string{stub, stay}},
		{name: "legacy-1.13", version: "1.13", set: plain, opts: []configpatch.Option{configpatch.WithForm(configpatch.Legacy)}, warns: []string{stub}},
		{name: "section", version: "1.11.6", set: full, opts: []configpatch.Option{configpatch.WithSection()}, warns: []string{stub}},
		{name: "section-empty", version: "1.8", opts: []configpatch.Option{configpatch.WithSection()}, warns: []string{stub}},
		{name: "removal-legacy", version: "1.8", set: gone, warns: []string{stub}},
		{name: "removal-documents", version: "1.13", set: gone, warns: []string{stub}},
		{name: "removal-documents-only", version: "1.13", set: mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {}, "b.example.com": {}}}, opts: []configpatch.Option{configpatch.DocumentsOnly()}, warns: []string{legacy}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := configpatch.Replace(tt.set, version(t, tt.version), tt.opts...)
			require.NoError(t, err)
			var names []string
			for _, p := range r.Patches {
				golden(t, "replace/"+tt.name+"/"+p.Name(), p.Bytes())
				names = append(names, p.Name())
			}
			assert.Equal(t, []string{"1-ensure.yaml", "2-delete.yaml", "3-set.yaml"}, names)
			var paths []string
			for _, w := range r.Warnings {
				about := w.Path
				if about == "" {
					about, _, _ = strings.Cut(w.Message, ",")
				}
				paths = append(paths, about)
			}
			assert.Equal(t, tt.warns, paths)
			again, err := configpatch.Replace(tt.set.DeepCopy(), version(t, tt.version), tt.opts...)
			require.NoError(t, err)
			assert.Equal(t, r.Patches.Strings(), again.Patches.Strings())
			loaded, err := r.Patches.Load()
			require.NoError(t, err)
			assert.Len(t, loaded, 3)
		})
	}
}

// Removals from a configuration that has documents only, cut off anywhere.
func TestReplaceRemovesDocuments(t *testing.T) {
	const other = "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: k\nurl: tcp://192.0.2.1:1/\n"
	const old = other + "---\napiVersion: v1alpha1\nkind: RegistryAuthConfig\nname: a.example.com\nusername: u\npassword: made-up\n"
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{"a.example.com": {}, "b.example.com": {}}}
	r, err := configpatch.Replace(set, version(t, "1.13"), configpatch.DocumentsOnly())
	require.NoError(t, err)
	patches := r.Patches.Strings()
	for cut := range len(patches) + 1 {
		data := []byte(old)
		if cut > 0 {
			data = applyPatches(t, data, patches[:cut]...)
		}
		assert.YAMLEq(t, other, string(applyPatches(t, data, patches...)))
	}
}

func TestReplaceRefuses(t *testing.T) {
	plain := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://a.example.com")}}}
	brackets := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"[fd00::1]": {Endpoints: urls("https://a.example.com")}},
		Config:  map[string]mirrors.HostConfig{"[fd00::2]:5000": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up")}}},
	}
	documents, section := configpatch.WithForm(configpatch.Documents), configpatch.WithSection()
	const bracket = `Talos cannot delete a legacy key that begins with "[" (want WithSection, Converge, or the documents form (Talos 1.12.0 and later))`
	for _, tt := range []struct {
		name, version string
		set           mirrors.Set
		opts          []configpatch.Option
		err           string
	}{
		{"too old", "1.7.7", plain, nil, "version: a client of Talos 1.7.7 does not know $patch: delete (want 1.8 or later, or Merge for a configuration that has none of these keys)"},
		{"documents in 1.12.1", "1.12.1", plain, []configpatch.Option{documents}, "form: the documents form cannot be replaced blind by a client of Talos 1.12.1 (want 1.12.2 or later, or the legacy form)"},
		{"section of documents", "1.13", plain, []configpatch.Option{section}, "section: only the legacy form has a section to replace (want WithForm(Legacy))"},
		{"documents only, in legacy form", "1.11", plain, []configpatch.Option{configpatch.DocumentsOnly()}, "documentsOnly: the legacy form is in the v1alpha1 document (want WithForm(Documents))"},
		{"nothing", "1.13", mirrors.Set{}, nil, "the set has no entry, and names nothing to replace (want at least one mirror or host, or WithSection to clear machine.registries)"},
		{"IPv6 keys", "1.11", brackets, nil, `mirrors["[fd00::1]"]: ` + bracket + "\n" + `config["[fd00::2]:5000"]: ` + bracket},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := configpatch.Replace(tt.set, version(t, tt.version), tt.opts...)
			require.EqualError(t, err, tt.err)
			assert.Empty(t, r.Patches)
		})
	}
}
