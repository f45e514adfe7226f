package talosconfigtemplate_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/talosconfigtemplate"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

var set = mirrors.Set{
	Mirrors: map[string]mirrors.Mirror{
		"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}, {URL: "https://harbor.internal/v2/hub", OverridePath: true}}},
		"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}, SkipFallback: true},
	},
	Config: map[string]mirrors.HostConfig{
		"cache.internal:5000": {Auth: &mirrors.Auth{Username: "node", Password: mirrors.NewSecret("made-up-password")}},
	},
}

func version(t testing.TB, text string) configpatch.Version {
	t.Helper()
	v, err := configpatch.ParseVersion(text)
	require.NoError(t, err)
	return v
}

func desired(t testing.TB, owner string, set mirrors.Set, talos string, options ...configpatch.Option) *talosconfigtemplate.Desired {
	t.Helper()
	d, err := talosconfigtemplate.New(owner, set, version(t, talos), options...)
	require.NoError(t, err)
	return d
}

// generated is a configuration as the bootstrap provider makes one for a machine.
func generated(t testing.TB) []byte {
	t.Helper()
	input, err := generate.NewInput("made-up", "https://192.0.2.1:6443", "1.36.3")
	require.NoError(t, err)
	config, err := input.Config(machine.TypeWorker)
	require.NoError(t, err)
	text, err := config.Bytes()
	require.NoError(t, err)
	return text
}

// applied is what a new machine gets: the patches on a configuration, in one call.
func applied(t testing.TB, config []byte, patches []string) *configpatch.Effective {
	t.Helper()
	var loaded []configpatcher.Patch
	for _, text := range patches {
		patch, err := configpatcher.LoadPatch([]byte(text))
		require.NoError(t, err)
		loaded = append(loaded, patch)
	}
	output, err := configpatcher.Apply(configpatcher.WithBytes(config), loaded)
	require.NoError(t, err)
	text, err := output.Bytes()
	require.NoError(t, err)
	effective, err := configpatch.Read(text)
	require.NoError(t, err)
	return effective
}

const (
	foreign   = "machine:\n  sysctls:\n    net.core.somaxconn: \"65535\"\n" // no registry
	otherKeys = "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: quay.io\nendpoints:\n  - url: https://quay.internal\n"
)

// TestStrategicPatches: a new machine gets the Set, and what the others write.
func TestStrategicPatches(t *testing.T) {
	config := generated(t)
	legacy := set.DeepCopy() // overridePath is the whole mirror's there
	legacy.Mirrors["docker.io"].Endpoints[0] = mirrors.Endpoint{URL: "https://cache.internal:5000/v2/hub", OverridePath: true}
	for _, c := range []struct {
		name, talos string
		set         mirrors.Set
		others      []string
	}{
		{"legacy alone", "v1.11", legacy, nil},
		{"legacy beside others", "v1.11", legacy, []string{foreign}},
		{"documents alone", "v1.13", set, nil},
		{"documents beside others", "v1.13", set, []string{foreign, otherKeys}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := desired(t, "cache", c.set, c.talos)
			before := talosconfigtemplate.Template{GenerateType: "worker", StrategicPatches: c.others}
			once, err := d.Converge(before)
			require.NoError(t, err)
			require.Len(t, once.StrategicPatches, len(c.others)+1)
			assert.True(t, slices.Equal(c.others, once.StrategicPatches[:len(c.others)]), "the others' entries")
			assert.Equal(t, []string{"cache"}, once.Owners())

			twice, err := d.Converge(once)
			require.NoError(t, err)
			assert.True(t, twice.Equal(once), "applied twice")

			want := c.set.DeepCopy()
			if slices.Contains(c.others, otherKeys) {
				want.Mirrors["quay.io"] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://quay.internal"}}}
			}
			got := applied(t, config, once.StrategicPatches).Set
			assert.True(t, got.Equal(want), "a new machine has %v", got)

			removed, err := once.Remove("cache")
			require.NoError(t, err)
			assert.True(t, removed.Equal(before), "removed again")
		})
	}
}

// TestKeepsItsPlace: the entry is replaced where it is, and copies go.
func TestKeepsItsPlace(t *testing.T) {
	old := desired(t, "old", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"quay.io": {Endpoints: []mirrors.Endpoint{{URL: "https://old.internal"}}}}}, "v1.13")
	now := desired(t, "cache", set, "v1.13")
	first, err := old.Converge(talosconfigtemplate.Template{GenerateType: "controlplane", StrategicPatches: []string{foreign}})
	require.NoError(t, err)
	mark := first.StrategicPatches[1]

	edited := talosconfigtemplate.Template{GenerateType: "controlplane", StrategicPatches: []string{mark + "machine: {}\n", foreign, mark}}
	next, err := now.Converge(edited)
	require.NoError(t, err)
	require.Len(t, next.StrategicPatches, 2)
	assert.True(t, strings.HasPrefix(next.StrategicPatches[0], talosconfigtemplate.Mark+"cache\n"))
	assert.Equal(t, foreign, next.StrategicPatches[1])
	assert.NotContains(t, next.StrategicPatches[0], "quay.io")

	kept, err := next.Remove("old")
	require.NoError(t, err)
	assert.True(t, kept.Equal(next), "only the owner's goes")
}

const data = `version: v1alpha1 # kept while nothing is to do
machine:
  type: worker
  token: made-up
  registries:
    mirrors:
      quay.io:
        endpoints: [https://quay.internal]
cluster:
  controlPlane:
    endpoint: https://192.0.2.1:6443
`

// TestData: the registries of a configuration that someone wrote.
func TestData(t *testing.T) {
	before := talosconfigtemplate.Template{GenerateType: "none", Data: data, StrategicPatches: []string{foreign}}
	once, err := desired(t, "cache", set, "v1.13").Converge(before)
	require.NoError(t, err)
	assert.JSONEq(t, `{"owner":"cache","keys":["cache.internal:5000","docker.io","ghcr.io"]}`, once.Annotation)
	assert.Equal(t, []string{"cache"}, once.Owners())
	want := set.DeepCopy()
	want.Mirrors["quay.io"] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://quay.internal"}}}
	assert.True(t, applied(t, []byte(once.Data), once.StrategicPatches).Set.Equal(want))

	twice, err := desired(t, "cache", set, "v1.13").Converge(once)
	require.NoError(t, err)
	assert.True(t, twice.Equal(once), "applied twice")

	// A key that leaves the Set leaves the data; the key of another stays.
	fewer := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"docker.io": set.Mirrors["docker.io"]}}
	less, err := desired(t, "cache", fewer, "v1.13").Converge(once)
	require.NoError(t, err)
	want = fewer.DeepCopy()
	want.Mirrors["quay.io"] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://quay.internal"}}}
	assert.True(t, applied(t, []byte(less.Data), nil).Set.Equal(want))
	assert.NotContains(t, less.Data, "made-up-password")

	other, err := less.Remove("other")
	require.NoError(t, err)
	assert.True(t, other.Equal(less))
	gone, err := less.Remove("cache")
	require.NoError(t, err)
	assert.Empty(t, gone.Annotation)
	effective, err := configpatch.Read([]byte(gone.Data))
	require.NoError(t, err)
	assert.Equal(t, []string{"quay.io"}, slices.Collect(func(yield func(string) bool) {
		for name := range effective.Set.Mirrors {
			if !yield(name) {
				return
			}
		}
	}))
	assert.Empty(t, effective.Set.Config)
}

// TestChangeOfType: what was written in one place goes when the other one counts.
func TestChangeOfType(t *testing.T) {
	d := desired(t, "cache", set, "v1.13")
	patched, err := d.Converge(talosconfigtemplate.Template{GenerateType: "worker", Data: data})
	require.NoError(t, err)
	assert.Equal(t, data, patched.Data)

	patched.GenerateType = "none"
	written, err := d.Converge(patched)
	require.NoError(t, err)
	assert.Empty(t, written.StrategicPatches)
	assert.Contains(t, written.Data, "cache.internal:5000")

	written.GenerateType = "worker"
	again, err := d.Converge(written)
	require.NoError(t, err)
	assert.Len(t, again.StrategicPatches, 1)
	assert.Empty(t, again.Annotation)
	assert.NotContains(t, again.Data, "cache.internal:5000")
}

// TestOlderTemplate: the older version decides, the template's or the Set's.
func TestOlderTemplate(t *testing.T) {
	plain := mirrors.Set{Mirrors: map[string]mirrors.Mirror{"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal"}}}}}
	for _, c := range []struct{ set, template, want string }{
		{"v1.13", "", "kind: RegistryMirrorConfig"},
		{"v1.13", "v1.11.2", "registries:"},
		{"v1.11", "v1.13", "registries:"},
	} {
		next, err := desired(t, "cache", plain, c.set).Converge(talosconfigtemplate.Template{GenerateType: "worker", TalosVersion: c.template})
		require.NoError(t, err)
		assert.Contains(t, next.StrategicPatches[0], c.want, "%+v", c)
	}
}

// TestRefused: every problem of a template, at once, and no value that it has.
func TestRefused(t *testing.T) {
	const path = "spec.template.spec."
	const secret = "made-up-secret"
	worker := func(patches ...string) talosconfigtemplate.Template {
		return talosconfigtemplate.Template{GenerateType: "worker", StrategicPatches: patches}
	}
	wantTwice := ` (want it in one place only: here, or in the RegistryMirrors)`
	for name, c := range map[string]struct {
		template talosconfigtemplate.Template
		want     []string // the beginning of each problem
	}{
		"the same mirror, as a document": {worker(foreign, "apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: docker.io\nendpoints: []\n"),
			[]string{path + `strategicPatches[1]: has mirrors["docker.io"] too` + wantTwice}},
		"the same mirror, legacy":    {worker("machine: {registries: {mirrors: {ghcr.io: {endpoints: [https://m.internal]}}}}"), []string{path + `strategicPatches[0]: has mirrors["ghcr.io"] too` + wantTwice}},
		"the same host, legacy":      {worker("machine: {registries: {config: {'cache.internal:5000': {auth: {password: " + secret + "}}}}}"), []string{path + `strategicPatches[0]: has config["cache.internal:5000"] too`}},
		"the same host, as TLS":      {worker("kind: RegistryTLSConfig\nname: cache.internal:5000"), []string{path + `strategicPatches[0]: has config["cache.internal:5000"] too`}},
		"a name of the other kind":   {worker("kind: RegistryTLSConfig\nname: docker.io", "machine: {registries: {mirrors: {'cache.internal:5000': {}}}}"), nil},
		"in the second document":     {worker(foreign + "---\nkind: RegistryAuthConfig\nname: cache.internal:5000"), []string{path + `strategicPatches[0]: has config["cache.internal:5000"] too`}},
		"an alias":                   {worker("a: &a {mirrors: {docker.io: {}}}\nmachine: {registries: *a}"), []string{path + `strategicPatches[0]: has mirrors["docker.io"] too`}},
		"a merge key":                {worker("a: &a {docker.io: {}}\nmachine: {registries: {mirrors: {<<: *a}}}"), []string{path + `strategicPatches[0]: has a YAML merge key "<<"`}},
		"a repeated key":             {worker("machine: {registries: {mirrors: {quay.io: {}}}, registries: {mirrors: {docker.io: {}}}}"), []string{path + `strategicPatches[0]: has mirrors["docker.io"] too`}},
		"a deletion above":           {worker("machine: {$patch: delete}"), []string{path + `strategicPatches[0]: has a $patch directive for the registries too`}},
		"a deletion of the section":  {worker("machine: {registries: {$patch: delete}}"), []string{path + `strategicPatches[0]: has a $patch directive for the registries too`}},
		"a deletion of all mirrors":  {worker("machine: {registries: {mirrors: {$patch: delete}}}"), []string{path + `strategicPatches[0]: has a $patch directive for the registries too`}},
		"a deletion of other things": {worker("machine: {sysctls: {$patch: delete}}"), nil},
		"operations":                 {worker(`[{"op": "add", "path": "/machine/registries/mirrors/docker.io", "value": {}}]`), []string{path + `strategicPatches[0]: has mirrors["docker.io"] too`}},
		"an operation on the whole":  {worker(`[{"op": "replace", "path": "/machine", "value": {}}]`), []string{path + `strategicPatches[0]: has an operation on the registries as a whole too`}},
		"an operation moves it":      {worker(`[{"op": "move", "from": "/machine/registries/mirrors", "path": "/machine/x"}]`), []string{path + `strategicPatches[0]: has an operation on the registries as a whole too`}},
		"operations elsewhere":       {worker(`[{"op": "add", "path": "/machine/registries/mirrors/quay.io", "value": {}}, {"op": "remove", "path": "/cluster/token"}, {"op": "remove", "path": "/machineX"}]`), nil},
		"not YAML":                   {worker("{" + secret), []string{path + `strategicPatches[0]: cannot be read as YAML (want a strategic-merge patch)`}},
		"not a patch":                {worker(secret), []string{path + `strategicPatches[0]: is no mapping, nor a list of operations (want a strategic-merge patch)`}},
		"nothing":                    {worker("", "---\n", "# a comment\n", "{}"), nil},
		"configPatches": {talosconfigtemplate.Template{GenerateType: "worker", ConfigPatches: []string{"/machine/registries/config/quay.internal", "/machine/registries/config/cache.internal:5000", "/cluster"}},
			[]string{path + `configPatches[1]: has config["cache.internal:5000"] too`}},
		"all at once": {talosconfigtemplate.Template{GenerateType: secret, TalosVersion: secret, ConfigPatches: []string{""}, StrategicPatches: []string{"{"}},
			[]string{path + `talosVersion: not a version`, path + `strategicPatches[0]: cannot be read`, path + `configPatches[0]: has an operation on the registries as a whole`, path + `generateType: not a type`}},
		"no data":          {talosconfigtemplate.Template{GenerateType: "none"}, []string{path + "data: not changed: "}},
		"data is not YAML": {talosconfigtemplate.Template{GenerateType: "none", Data: "{" + secret}, []string{path + "data: not changed: "}},
		"data of an alien": {talosconfigtemplate.Template{GenerateType: "none", Data: "a: " + secret}, []string{path + "data: not changed: "}},
		"a key in data that Talos does not know": {talosconfigtemplate.Template{GenerateType: "none", Data: data + "unknownKey: " + secret + "\n"},
			[]string{path + "data: not changed: cannot load the configuration: error decoding document /v1alpha1/ (line 1): unknown keys: unknownKey"}},
		"a kind in data that Talos does not know": {talosconfigtemplate.Template{GenerateType: "none", Data: data + "---\napiVersion: v1alpha1\nkind: UnknownKind\npassword: " + secret + "\n"},
			[]string{path + `data: not changed: cannot load the configuration: error decoding document v1alpha1/UnknownKind/ (line 13): "UnknownKind" "v1alpha1": not registered`}},
		"a value in data of another type": {talosconfigtemplate.Template{GenerateType: "none", Data: "version: v1alpha1\nmachine: {sysctls: " + secret + "}\n"},
			[]string{path + "data: not changed: cannot load the configuration: "}},
		"too old for the Set": {talosconfigtemplate.Template{GenerateType: "worker", TalosVersion: "v1.8"}, []string{"spec.template.spec: no patch for Talos v1.8"}},
	} {
		t.Run(name, func(t *testing.T) {
			next, err := desired(t, "cache", set, "v1.13").Converge(c.template)
			if c.want == nil {
				require.NoError(t, err)
				assert.False(t, next.Equal(c.template))
				return
			}
			require.Error(t, err)
			assert.True(t, next.Equal(c.template), "as it was")
			problems := err.(interface{ Unwrap() []error }).Unwrap()
			require.Len(t, problems, len(c.want), "%v", err)
			for i, want := range c.want {
				var problem *talosconfigtemplate.Error
				require.True(t, errors.As(problems[i], &problem))
				assert.True(t, strings.HasPrefix(problem.Error(), want), "%q does not begin with %q", problem, want)
				assert.NotContains(t, problem.Error(), secret)
				assert.NotContains(t, problem.Error(), "made-up-password")
			}
		})
	}
}

// TestBrokenAnnotation: an annotation that someone broke owns nothing, and is mended.
func TestBrokenAnnotation(t *testing.T) {
	for _, broken := range []string{"x", `{"owner":7}`, `[]`, `{"owner":"cache","keys":["\u0000","*","quay.io\n"]}`} {
		template := talosconfigtemplate.Template{GenerateType: "none", Data: data, Annotation: broken}
		next, err := desired(t, "cache", set, "v1.13").Converge(template)
		require.NoError(t, err, "%q", broken)
		assert.JSONEq(t, `{"owner":"cache","keys":["cache.internal:5000","docker.io","ghcr.io"]}`, next.Annotation)
		assert.Contains(t, next.Data, "quay.internal")
	}
}

// TestNew: what no template can have.
func TestNew(t *testing.T) {
	for name, c := range map[string]struct {
		owner string
		set   mirrors.Set
		want  string
	}{
		"no owner":       {"", set, `owner: "" is no name`},
		"a hostile name": {"a\nmachine: {}", set, `owner: "a\nmachine: {}" is no name`},
		"an empty Set":   {"cache", mirrors.Set{}, ""},
		"a bad Set":      {"cache", mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "ftp://m.internal"}}}}}, `mirrors["ghcr.io"].endpoints[0]`},
	} {
		_, err := talosconfigtemplate.New(c.owner, c.set, version(t, "v1.13"))
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), c.want, name)
	}
}

// TestObject: of an object of either version, only what has to change does.
func TestObject(t *testing.T) {
	object := func(spec map[string]any) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": "workers"}, "spec": map[string]any{"template": map[string]any{"spec": spec}}}
	}
	for name, bad := range map[string]map[string]any{
		"nothing":         {},
		"no spec":         {"spec": map[string]any{"template": map[string]any{}}},
		"a list":          {"spec": map[string]any{"template": map[string]any{"spec": []any{}}}},
		"a number":        object(map[string]any{"generateType": int64(7)}),
		"data":            object(map[string]any{"data": []any{}}),
		"patches":         object(map[string]any{"strategicPatches": []any{map[string]any{}}}),
		"operations":      object(map[string]any{"configPatches": "x"}),
		"an operation":    object(map[string]any{"configPatches": []any{"x"}}),
		"an annotation":   {"metadata": map[string]any{"annotations": map[string]any{talosconfigtemplate.Annotation: int64(1)}}, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}},
		"no annotations":  {"metadata": map[string]any{"annotations": "x"}, "spec": map[string]any{"template": map[string]any{"spec": map[string]any{}}}},
		"a path of seven": object(map[string]any{"configPatches": []any{map[string]any{"path": int64(7)}}}),
	} {
		_, err := talosconfigtemplate.Read(bad)
		var problem *talosconfigtemplate.Error
		require.ErrorAs(t, err, &problem, name)
	}

	o := object(map[string]any{"generateType": "worker", "hostname": map[string]any{"source": "MachineName"}, "configPatches": []any{map[string]any{"op": "add", "path": "/cluster/x", "value": "y"}}})
	read, err := talosconfigtemplate.Read(o)
	require.NoError(t, err)
	assert.Equal(t, []string{"/cluster/x"}, read.ConfigPatches)
	next, err := desired(t, "cache", set, "v1.13").Converge(read)
	require.NoError(t, err)
	require.NoError(t, next.Write(o))
	again, err := talosconfigtemplate.Read(o)
	require.NoError(t, err)
	assert.True(t, again.Equal(next))
	removed, err := next.Remove("cache")
	require.NoError(t, err)
	require.NoError(t, removed.Write(o))
	assert.Equal(t, object(map[string]any{"generateType": "worker", "hostname": map[string]any{"source": "MachineName"}, "configPatches": []any{map[string]any{"op": "add", "path": "/cluster/x", "value": "y"}}}), o)
}

// FuzzConverge: whatever a template says, nothing panics; with an error it stays
// as it was, and without one a second time changes nothing, the entries of others
// stay, and removal leaves no trace of the owner.
func FuzzConverge(f *testing.F) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for i := range 8 {
		bomb += string(rune('b'+i)) + ": &" + string(rune('b'+i)) + " [*" + string(rune('a'+i)) + ",*" + string(rune('a'+i)) + ",*" + string(rune('a'+i)) + ",*" + string(rune('a'+i)) + "]\n"
	}
	for _, seed := range []string{foreign, otherKeys, bomb, "machine: &m {registries: *m}", strings.Repeat("[", 20000), strings.Repeat("{a: ", 500),
		"- path: /machine/registries\n- *x", talosconfigtemplate.Mark, talosconfigtemplate.Mark + "cache\nmachine: {registries: {mirrors: {docker.io: {}}}}\n", "\x00", "\xff\xfe", "!!binary x", "? [a]\n: b", "kind: [RegistryMirrorConfig]\nname: docker.io"} {
		f.Add("worker", "", "", seed, "", "")
		f.Add("none", "v1.12", data, seed, "", `{"owner":"cache","keys":["quay.io"]}`)
		f.Add("none", "", seed, "", "/machine", `{"owner":"cache","keys":["docker.io"]}`)
	}
	hostile, err := filepath.Glob("../../../testdata/hostile/*")
	require.NoError(f, err)
	require.NotEmpty(f, hostile)
	for _, file := range hostile {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		if len(text) < 4<<10 && filepath.Base(file) != "README.txt" {
			f.Add("worker", "", "", string(text), string(text), string(text))
		}
	}
	d := desired(f, "cache", set, "v1.13")
	f.Fuzz(func(t *testing.T, generateType, talos, data, patch, pointer, annotation string) {
		before := talosconfigtemplate.Template{GenerateType: generateType, TalosVersion: talos, Data: data, StrategicPatches: []string{patch, foreign},
			ConfigPatches: []string{pointer}, Annotation: annotation}
		after, err := d.Converge(before)
		if err != nil {
			if !after.Equal(before) {
				t.Fatalf("changed with an error: %v", err)
			}
			before.Remove("cache") // may fail, not panic
			return
		}
		again, err := d.Converge(after)
		if err != nil || !again.Equal(after) {
			t.Fatalf("a second time: %v\n%+v\n%+v", err, after, again)
		}
		if !slices.Contains(after.StrategicPatches, foreign) || !strings.HasPrefix(patch, talosconfigtemplate.Mark) && !slices.Contains(after.StrategicPatches, patch) {
			t.Fatalf("an entry of others is gone: %q", after.StrategicPatches)
		}
		removed, err := after.Remove("cache")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(removed.Owners(), "cache") {
			t.Fatalf("left behind: %+v", removed)
		}
	})
}
