package configpatch_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// hostile returns the corpus of strings that have broken something before.
func hostile(t testing.TB) map[string]string {
	files, err := filepath.Glob("../testdata/hostile/*")
	require.NoError(t, err)
	out := map[string]string{}
	for _, file := range files {
		if filepath.Base(file) == "README.txt" {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		out[filepath.Base(file)] = string(data)
	}
	require.NotEmpty(t, out)
	return out
}

// hostileSet puts free text wherever a Set has room for it.
func hostileSet(name, endpoint, host, username, password, pem string) mirrors.Set {
	return mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{name: {Endpoints: urls(endpoint)}},
		Config: map[string]mirrors.HostConfig{
			host:                {Auth: &mirrors.Auth{Username: username, Password: mirrors.NewSecret(password)}},
			"token.example.com": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret(password)}},
			"ca.example.com":    {TLS: &mirrors.TLS{CA: mirrors.PEM(pem)}},
		},
	}
}

// checkPatch states what holds for any Set: it is an error, or the patch gives
// this very Set on an empty machine, whichever reader of YAML looks at it.
func checkPatch(t *testing.T, set mirrors.Set) (built bool) {
	for _, form := range []configpatch.Form{configpatch.Legacy, configpatch.Documents} {
		patch, err := configpatch.Merge(set, version(t, "1.13.9"), configpatch.WithForm(form))
		if err != nil {
			assert.Empty(t, patch.Bytes())
			continue
		}
		built = true
		sameSet(t, set, effective(t, applyPatches(t, []byte("machine: {}\n"), string(patch.Bytes()))))
		for _, b := range patch.Bytes() {
			if b != '\n' && (b < ' ' || b > '~') {
				t.Fatalf("%s: byte %#x in a patch", form, b)
			}
		}
	}
	return built
}

// Every hostile string ends up where it was put, or is an error.
func TestHostile(t *testing.T) {
	cert, _ := identity()
	built := 0
	for file, text := range hostile(t) {
		t.Run(file, func(t *testing.T) {
			if len(text) > 1<<16 {
				text = text[:1<<16] // three times over, in three places, machinery takes seconds
			}
			const url = "https://m.example.com"
			for _, set := range []mirrors.Set{
				hostileSet("ghcr.io", url, "m.example.com", text, "made-up", string(cert)),
				hostileSet("ghcr.io", url, "m.example.com", "user", text, string(cert)),
				hostileSet("ghcr.io", url, text, "user", "made-up", string(cert)),
				hostileSet(text, url, "m.example.com", "user", "made-up", string(cert)),
				hostileSet("ghcr.io", text, "m.example.com", "user", "made-up", string(cert)),
				hostileSet("ghcr.io", "https://m.example.com/"+text, "m.example.com", "user", "made-up", string(cert)),
				hostileSet("ghcr.io", url, "m.example.com", "user", "made-up", text),
				hostileSet("ghcr.io", url, "m.example.com", "user", "made-up", text+"\n"+string(cert)),
			} {
				if checkPatch(t, set) {
					built++
				}
			}
		})
	}
	assert.Greater(t, built, 100, "patches that were built")
}

func FuzzPatch(f *testing.F) {
	cert, _ := identity()
	f.Add("ghcr.io", "https://m.example.com", "m.example.com", "user", "made-up", string(cert))
	f.Add("*", "http://[fd00::1]:5000", "[fd00::1]:5000", "yes", "1e3", string(cert+cert))
	for _, text := range passwords {
		f.Add("docker.io", "https://m.example.com/v2", "m.example.com", text, text, text+string(cert))
	}
	for _, text := range hostile(f) {
		if len(text) < 1<<12 {
			f.Add("ghcr.io", "https://m.example.com", "m.example.com", text, text, text+"\n"+string(cert))
			f.Add(text, "https://m.example.com/"+text, text, "user", "made-up", "")
		}
	}
	f.Fuzz(func(t *testing.T, name, endpoint, host, username, password, pem string) {
		checkPatch(t, hostileSet(name, endpoint, host, username, password, pem))
	})
}

// FuzzConfig gives anything for a configuration. Nothing may panic; what is read
// is what machinery reads, and stays so when it is migrated.
func FuzzConfig(f *testing.F) {
	f.Add([]byte(mixedConfig))
	for n := range 20 {
		m := newMaker(n)
		if data := m.base(f, m.set(true, true, 30), m.set(false, true, 20)).data; len(data) < 1<<12 {
			f.Add(data) // a whole machine's takes machinery too long to be tried many times
		}
	}
	for _, text := range []string{
		"", "# x", "machine:", "machine: {registries: {mirrors: {a: }}}", "cluster: {}", "persist: true",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\nname: a\nendpoints: [{url: ''}, {}]\n",
		"apiVersion: v1alpha1\nkind: RegistryMirrorConfig\n", "machine: {registries: {$patch: delete}}",
		"apiVersion: v1alpha1\nkind: RegistryTLSConfig\nname: a\nclientIdentity: {}\n",
		"machine: {registries: {config: {a: {tls: {clientIdentity: {crt: '', key: ''}}}}}}",
		"machine: &a {registries: {mirrors: {'': {endpoints: []}, '[': {endpoints: [a]}}}}\n---\n*a",
		"a: &a [*a]", "machine: {registries: {mirrors: {<<: {a: {endpoints: [x]}}}}}",
	} {
		f.Add([]byte(text))
	}
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: urls("https://m.example.com"), SkipFallback: true}},
		Config:  map[string]mirrors.HostConfig{"m.example.com": {Auth: &mirrors.Auth{Username: "user", Password: mirrors.NewSecret("made-up")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := configpatch.Read(data)
		if err != nil {
			_, err = configpatch.Migrate(data)
			assert.Error(t, err)
			_, err = configpatch.Converge(data, set, version(t, "1.13"))
			assert.Error(t, err)
			return
		}
		sameSet(t, effective(t, data), read.Set)
		if migrated, err := configpatch.Migrate(data); err == nil {
			sameSet(t, read.Set, effective(t, migrated))
		}
		for _, form := range []configpatch.Form{configpatch.Legacy, configpatch.Documents}[len(data)%2:][:1] {
			plan, err := configpatch.Converge(data, set, version(t, "1.13"), configpatch.WithForm(form))
			if err == nil {
				sameSet(t, set, effective(t, plan.Result()))
			}
			if plan, err = configpatch.Converge(data, mirrors.Set{}, version(t, "1.13"), configpatch.WithForm(form), configpatch.Own("a", "[", "")); err == nil && plan.Patch != nil {
				_, has := effective(t, plan.Result()).Mirrors["["]
				assert.False(t, has)
			}
		}
	})
}
