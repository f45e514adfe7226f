package main

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"github.com/siderolabs/talos/pkg/machinery/config/generate"
	"github.com/siderolabs/talos/pkg/machinery/config/machine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/examples/controller/talosconfigtemplate"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

func (l *logbook) handler() slog.Handler { return slog.NewTextHandler(l, nil) }

const password = "made-up-password"

// registryMirrors is a resource with credentials, for the templates with the label.
func registryMirrors(namespace, name string) *v1alpha1.RegistryMirrors {
	return &v1alpha1.RegistryMirrors{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1alpha1.RegistryMirrorsSpec{
			TalosVersion: "v1.13",
			Templates:    v1alpha1.TemplateSelector{Labels: &metav1.LabelSelector{MatchLabels: map[string]string{"registries": "cache"}}},
			Mirrors: map[string]mirrors.Mirror{
				"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}, {URL: "https://harbor.internal/v2/hub", OverridePath: true}}},
			},
			Config: map[string]v1alpha1.HostConfig{"cache.internal:5000": {Auth: &v1alpha1.FromSecret{SecretRef: v1alpha1.SecretReference{Name: "login"}}}},
		},
	}
}

func setOfSample(password string) mirrors.Set {
	return mirrors.Set{
		Mirrors: registryMirrors("", "").Spec.Mirrors,
		Config:  map[string]mirrors.HostConfig{"cache.internal:5000": {Auth: &mirrors.Auth{Username: "node", Password: mirrors.NewSecret(password)}}},
	}
}

func login() map[string]string {
	return map[string]string{"username": "node", "password": password}
}

// machineOf is what a new machine of a template says about registries: what the
// bootstrap provider makes of it, by Talos's own code.
func machineOf(t *testing.T, object *unstructured.Unstructured) mirrors.Set {
	t.Helper()
	read, err := talosconfigtemplate.Read(object.Object)
	require.NoError(t, err)
	config := []byte(read.Data)
	if read.GenerateType != "none" {
		kind, err := machine.ParseType(read.GenerateType)
		require.NoError(t, err)
		input, err := generate.NewInput("made-up", "https://192.0.2.1:6443", "1.36.3")
		require.NoError(t, err)
		made, err := input.Config(kind)
		require.NoError(t, err)
		config, err = made.Bytes()
		require.NoError(t, err)
	}
	var patches []configpatcher.Patch
	for _, text := range read.StrategicPatches {
		patch, err := configpatcher.LoadPatch([]byte(text))
		require.NoError(t, err)
		patches = append(patches, patch)
	}
	output, err := configpatcher.Apply(configpatcher.WithBytes(config), patches)
	require.NoError(t, err)
	text, err := output.Bytes()
	require.NoError(t, err)
	effective, err := configpatch.Read(text)
	require.NoError(t, err)
	return effective.Set
}

// has waits until new machines of a template have the Set.
func (r *rig) has(t *testing.T, object *unstructured.Unstructured, want mirrors.Set) {
	t.Helper()
	eventually(t, func() error {
		if got := machineOf(t, r.read(t, object)); !got.Equal(want) {
			return fmt.Errorf("%s: a new machine has %v, want %v", object.GetName(), got, want)
		}
		return nil
	})
}

const data = `version: v1alpha1
machine:
  type: worker
  token: made-up-token
cluster:
  controlPlane:
    endpoint: https://192.0.2.1:6443
`

const sysctls = "machine:\n  sysctls:\n    net.core.somaxconn: \"65535\"\n"

// TestConverge: templates of both versions and of every type get the Set; a second
// time nothing is written; what others write stays; in the end all is as it was.
func TestConverge(t *testing.T) {
	const ns = "converge"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker", "strategicPatches": []any{sysctls}})
	control := template("v1alpha3", ns, "control", map[string]any{"generateType": "controlplane", "talosVersion": "v1.13"})
	none := template("v1beta1", ns, "none", map[string]any{"generateType": "none", "data": data})
	other := template("v1beta1", ns, "other", map[string]any{"generateType": "worker"})
	other.SetLabels(nil)
	templates := []*unstructured.Unstructured{worker, control, none}
	for _, o := range append(templates, other) {
		r.create(t, o)
	}
	m := registryMirrors(ns, "cache")
	r.create(t, m)

	assert.Equal(t, "3 of 3 templates have the registries", r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged).Message)
	r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonAccepted)
	for _, o := range templates {
		r.has(t, o, setOfSample(password))
	}
	assert.Equal(t, sysctls, patchesOf(r.read(t, worker))[0])
	assert.Equal(t, other.GetResourceVersion(), r.read(t, other).GetResourceVersion(), "not selected, not touched")

	// Once more, for another generation that says the same.
	var versions []string
	for _, o := range templates {
		versions = append(versions, r.read(t, o).GetResourceVersion())
	}
	writes := r.asked.patched(ns + "/workers")
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) { m.Spec.Form = "documents" })
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	for i, o := range templates {
		assert.Equal(t, versions[i], r.read(t, o).GetResourceVersion(), "%s: unchanged", o.GetName())
	}
	assert.Equal(t, writes, r.asked.patched(ns+"/workers"), "no request either")

	// A change, and a manual edit, which is undone.
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) {
		m.Spec.Mirrors = map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	})
	want := setOfSample(password)
	want.Mirrors = map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	for _, o := range templates {
		r.has(t, o, want)
	}
	for _, edit := range []func(list []any) []any{
		func(list []any) []any { return list[:1] },                         // a kubectl apply that does not know the entry
		func(list []any) []any { return []any{list[1], list[0], list[1]} }, // twice, in another place
		func(list []any) []any {
			return []any{strings.Replace(list[0].(string), "cache.internal", "evil.internal", -1)}
		}, // within it
	} {
		edited := r.read(t, worker)
		list, _, _ := unstructured.NestedSlice(edited.Object, "spec", "template", "spec", "strategicPatches")
		if len(list) != 2 {
			t.Fatalf("%d entries", len(list))
		}
		if patchesOf(edited)[0] != sysctls {
			slices.Reverse(list)
		}
		require.NoError(t, unstructured.SetNestedSlice(edited.Object, edit(slices.Clone(list)), "spec", "template", "spec", "strategicPatches"))
		require.NoError(t, r.client.Update(t.Context(), edited))
		eventually(t, func() error {
			now := patchesOf(r.read(t, worker))
			ours := 0
			for _, patch := range now {
				if strings.HasPrefix(patch, talosconfigtemplate.Mark) {
					ours++
				}
			}
			if ours != 1 || strings.Contains(strings.Join(now, ""), "evil") {
				return fmt.Errorf("%d entries are ours of %d", ours, len(now))
			}
			return nil
		})
		r.has(t, worker, want)
		// put the other's entry back for the next edit
		edited = r.read(t, worker)
		if now := patchesOf(edited); !slices.Contains(now, sysctls) {
			list := []any{sysctls, now[0]}
			require.NoError(t, unstructured.SetNestedSlice(edited.Object, list, "spec", "template", "spec", "strategicPatches"))
			require.NoError(t, r.client.Update(t.Context(), edited))
		}
	}

	require.NoError(t, r.client.Delete(t.Context(), m))
	eventually(t, func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	assert.Equal(t, []string{sysctls}, patchesOf(r.read(t, worker)))
	assert.Empty(t, patchesOf(r.read(t, control)))
	assert.True(t, machineOf(t, r.read(t, none)).Equal(mirrors.Set{}))
	assert.Empty(t, r.read(t, none).GetAnnotations())
	assert.Contains(t, r.read(t, none).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["data"], "made-up-token")
	assert.NotContains(t, r.logged.String(), password)
	verdict.Proved(t, "templates of v1alpha3 and v1beta1, generated and with data, get the Set; a second time writes nothing, an edit is undone, deletion restores them")
}

// TestAppear: templates that come, are labelled, lose the label, or are named.
func TestAppear(t *testing.T) {
	const ns = "appear"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	m := registryMirrors(ns, "cache")
	m.Spec.Templates.Names = []string{"named"}
	r.create(t, m)
	ready := r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed)
	assert.Equal(t, "0 of 1 templates have the registries\nnamed: there is no TalosConfigTemplate of this name", ready.Message)
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) { m.Spec.Templates.Names = nil })
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonNoTemplates)

	later := template("v1beta1", ns, "later", map[string]any{"generateType": "worker"})
	r.create(t, later)
	r.has(t, later, setOfSample(password))
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	change(t, r, later, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"registries": "none"}) })
	r.has(t, later, mirrors.Set{})
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonNoTemplates)
	change(t, r, later, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"registries": "cache"}) })
	r.has(t, later, setOfSample(password))
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) {
		m.Spec.Templates = v1alpha1.TemplateSelector{Names: []string{"later"}}
	})
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	require.NoError(t, r.client.Delete(t.Context(), later))
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed)
	verdict.Proved(t, "a template that appears, or is labelled, gets the Set; one that loses the label loses it")
}

// TestSecrets: a Secret that is missing, not labelled, incomplete, there, changed.
func TestSecrets(t *testing.T) {
	const ns = "secrets"
	r := start(t)
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker"})
	r.create(t, worker)
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	wantMissing := `error: spec.config["cache.internal:5000"].auth.secretRef: no Secret "login" with the label mirrorpatch.example.com/registry-credentials=true in this namespace (make it, or set the label) [secret-missing]`
	assert.Equal(t, wantMissing, r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonSecretMissing).Message)
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonNotValid)
	assert.Empty(t, patchesOf(r.read(t, worker)))

	s := secret(ns, "login", map[string]string{"username": "node", "passwort": password})
	s.Labels = nil
	r.create(t, s)
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) { m.Spec.Form = "documents" }) // a round that has seen it, if it could be seen
	assert.Equal(t, wantMissing, r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonSecretMissing).Message, "not labelled: not read")
	change(t, r, s, func(s *corev1.Secret) { s.Labels = map[string]string{v1alpha1.CredentialsLabel: "true"} })
	found := r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonFindings).Message
	assert.Contains(t, found, "want username and password, or identityToken, or auth")
	assert.NotContains(t, found, password)

	change(t, r, s, func(s *corev1.Secret) {
		s.Data = map[string][]byte{"username": []byte("node"), "password": []byte(password)}
	})
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	r.has(t, worker, setOfSample(password))
	change(t, r, s, func(s *corev1.Secret) { s.Data["password"] = []byte("another-made-up-one") })
	r.has(t, worker, setOfSample("another-made-up-one"))

	require.NoError(t, r.client.Delete(t.Context(), s))
	r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonSecretMissing)
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonNotValid)
	r.has(t, worker, setOfSample("another-made-up-one"))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m))
	text, err := yaml.Marshal(m)
	require.NoError(t, err)
	require.Contains(t, string(text), "SecretMissing")
	for _, secret := range []string{password, "another-made-up-one"} {
		assert.NotContains(t, string(text), secret)
		assert.NotContains(t, r.logged.String(), secret)
	}
	verdict.Proved(t, "a Secret is waited for, its change is written, and its loss leaves what was good")
}

// TestInvalid: what only Check can find is in the condition, and nothing is written.
func TestInvalid(t *testing.T) {
	const ns = "invalid"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker"})
	r.create(t, worker)
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	version := r.read(t, worker).GetResourceVersion()
	for _, c := range []struct {
		name string
		spec func(*v1alpha1.RegistryMirrorsSpec)
		want []string
	}{
		{"a CA that is none", func(s *v1alpha1.RegistryMirrorsSpec) {
			s.Config["cache.internal:5000"] = v1alpha1.HostConfig{TLS: &v1alpha1.TLS{CA: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"}}
		}, []string{`error: spec.config["cache.internal:5000"].tls.ca: `, " ["}},
		{"an old form", func(s *v1alpha1.RegistryMirrorsSpec) { s.Form = "legacy" }, []string{`error: spec.mirrors["docker.io"].endpoints[1].overridePath: `}},
		{"an old version", func(s *v1alpha1.RegistryMirrorsSpec) { s.TalosVersion, s.Form = "v1.9", "documents" }, []string{"Talos 1.9.0 does not know the document form", "[version-feature]"}},
		{"nothing", func(s *v1alpha1.RegistryMirrorsSpec) { s.Mirrors, s.Config = nil, nil }, []string{"error: spec: "}},
		{"a bad selector", func(s *v1alpha1.RegistryMirrorsSpec) {
			s.Templates.Labels = &metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}
		}, []string{"error: spec.templates.labels: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			change(t, r, m, func(m *v1alpha1.RegistryMirrors) {
				m.Spec = registryMirrors(ns, "cache").Spec
				c.spec(&m.Spec)
			})
			valid := r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonFindings)
			for _, want := range c.want {
				assert.Contains(t, valid.Message, want)
			}
			r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonNotValid)
			assert.Equal(t, version, r.read(t, worker).GetResourceVersion(), "the last good one stays")
		})
	}
	verdict.Proved(t, "what is wrong is in the condition, and the template keeps the last good one")
}

// TestAdmission: what the CRD refuses never gets as far as that.
func TestAdmission(t *testing.T) {
	r := start(t)
	for name, spec := range map[string]func(*v1alpha1.RegistryMirrorsSpec){
		"scheme": func(s *v1alpha1.RegistryMirrorsSpec) {
			s.Mirrors["docker.io"].Endpoints[0].URL = "ftp://cache.internal"
		},
		"twice": func(s *v1alpha1.RegistryMirrorsSpec) {
			s.Mirrors["docker.io"].Endpoints[1] = s.Mirrors["docker.io"].Endpoints[0]
		},
		"userinfo": func(s *v1alpha1.RegistryMirrorsSpec) {
			s.Mirrors["docker.io"].Endpoints[0].URL = "https://u:p@cache.internal"
		},
		"form":      func(s *v1alpha1.RegistryMirrorsSpec) { s.Form = "both" },
		"version":   func(s *v1alpha1.RegistryMirrorsSpec) { s.TalosVersion = "latest" },
		"selector":  func(s *v1alpha1.RegistryMirrorsSpec) { s.Templates = v1alpha1.TemplateSelector{} },
		"key":       func(s *v1alpha1.RegistryMirrorsSpec) { s.Mirrors["${BOOTSTRAP_TOKEN}"] = s.Mirrors["docker.io"] },
		"line feed": func(s *v1alpha1.RegistryMirrorsSpec) { s.Mirrors["docker.io\nghcr.io"] = s.Mirrors["docker.io"] },
	} {
		m := registryMirrors("admission", "refused")
		spec(&m.Spec)
		err := r.client.Create(t.Context(), m)
		assert.True(t, apierrors.IsInvalid(err), "%s: %v", name, err)
	}
	verdict.Proved(t, "the CRD refuses each bad sample")
}

// TestConflict: two that select one template; neither changes it, both say so.
func TestConflict(t *testing.T) {
	const ns = "conflict"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker"})
	r.create(t, worker)
	first := registryMirrors(ns, "first")
	r.create(t, first)
	r.condition(t, first, v1alpha1.Ready, v1alpha1.ReasonConverged)
	version := r.read(t, worker).GetResourceVersion()
	second := registryMirrors(ns, "second")
	second.Spec.Mirrors = map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	r.create(t, second)
	assert.Equal(t, "0 of 1 templates have the registries\nworkers: selected by RegistryMirrors second too (valid or not, each counts); it keeps what it has", r.condition(t, first, v1alpha1.Ready, v1alpha1.ReasonConflict).Message)
	assert.Contains(t, r.condition(t, second, v1alpha1.Ready, v1alpha1.ReasonConflict).Message, "RegistryMirrors first too")
	change(t, r, first, func(m *v1alpha1.RegistryMirrors) {
		m.Spec.Mirrors = map[string]mirrors.Mirror{"quay.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	})
	r.condition(t, first, v1alpha1.Ready, v1alpha1.ReasonConflict)
	assert.Equal(t, version, r.read(t, worker).GetResourceVersion(), "neither")

	// A rival that is not valid is one all the same, and takes nothing with it.
	form := second.Spec.Form
	change(t, r, second, func(m *v1alpha1.RegistryMirrors) { m.Spec.TalosVersion, m.Spec.Form = "v1.9", "documents" })
	r.condition(t, second, v1alpha1.Ready, v1alpha1.ReasonNotValid)
	change(t, r, first, func(m *v1alpha1.RegistryMirrors) { m.Spec.Form = "documents" }) // a round that has seen it
	r.condition(t, first, v1alpha1.Ready, v1alpha1.ReasonConflict)
	assert.Equal(t, version, r.read(t, worker).GetResourceVersion(), "neither, again")
	change(t, r, second, func(m *v1alpha1.RegistryMirrors) { m.Spec.TalosVersion, m.Spec.Form = "v1.13", form })
	r.condition(t, second, v1alpha1.Ready, v1alpha1.ReasonConflict)

	// The first one lets go: the second one takes over, with no moment of neither.
	change(t, r, first, func(m *v1alpha1.RegistryMirrors) {
		m.Spec.Templates = v1alpha1.TemplateSelector{Names: []string{"no-such"}}
	})
	r.condition(t, second, v1alpha1.Ready, v1alpha1.ReasonConverged)
	want := setOfSample(password)
	want.Mirrors = second.Spec.Mirrors
	r.has(t, worker, want)
	assert.Len(t, patchesOf(r.read(t, worker)), 1)

	// One that is deleted is no rival.
	change(t, r, first, func(m *v1alpha1.RegistryMirrors) { m.Spec.Templates = second.Spec.Templates })
	r.condition(t, second, v1alpha1.Ready, v1alpha1.ReasonConflict)
	require.NoError(t, r.client.Delete(t.Context(), second))
	r.condition(t, first, v1alpha1.Ready, v1alpha1.ReasonConverged)
	want.Mirrors = map[string]mirrors.Mirror{"quay.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	r.has(t, worker, want)
	verdict.Proved(t, "of two that select one template neither writes; when one lets go, the other does")
}

// TestForeign: a template that someone else has filled in an unfit way is reported
// without what it says, and the others are converged all the same.
func TestForeign(t *testing.T) {
	const ns = "foreign"
	const hostile = "made-up-secret\x1b[2J ${BOOTSTRAP_TOKEN} $(id) {{ .Values.x }}"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	good := template("v1beta1", ns, "good", map[string]any{"generateType": "worker"})
	good.SetAnnotations(map[string]string{"example.com/hostile": hostile, talosconfigtemplate.Annotation: hostile})
	bad := []*unstructured.Unstructured{
		template("v1beta1", ns, "bad-key", map[string]any{"generateType": "worker", "strategicPatches": []any{"kind: RegistryMirrorConfig\nname: docker.io\nx: |\n  made-up-secret\n"}}),
		template("v1beta1", ns, "bad-patch", map[string]any{"generateType": "worker", "strategicPatches": []any{"{" + hostile}}),
		template("v1beta1", ns, "bad-data", map[string]any{"generateType": "none", "data": "{" + hostile}),
		template("v1alpha3", ns, "bad-type", map[string]any{"generateType": hostile, "talosVersion": hostile}),
	}
	for _, o := range append(bad, good) {
		r.create(t, o)
	}
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	ready := r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed)
	t.Logf("the condition:\n%s", ready.Message)
	assert.True(t, strings.HasPrefix(ready.Message, "1 of 5 templates have the registries\n"))
	for _, want := range []string{
		`bad-key: spec.template.spec.strategicPatches[0]: has mirrors["docker.io"] too (want it in one place only: here, or in the RegistryMirrors)`,
		"bad-patch: spec.template.spec.strategicPatches[0]: cannot be read as YAML (want a strategic-merge patch)",
		"bad-data: spec.template.spec.data: not changed: ",
		"bad-type: spec.template.spec.talosVersion: not a version", "bad-type: spec.template.spec.generateType: not a type",
	} {
		assert.Contains(t, ready.Message, want)
	}
	assert.NotContains(t, ready.Message, "made-up-secret")
	assert.NotContains(t, r.logged.String(), "made-up-secret")
	r.has(t, good, setOfSample(password))
	assert.Equal(t, hostile, r.read(t, good).GetAnnotations()["example.com/hostile"])
	for _, o := range bad {
		assert.Equal(t, o.GetResourceVersion(), r.read(t, o).GetResourceVersion(), o.GetName())
	}

	require.NoError(t, unstructured.SetNestedField(bad[0].Object, []any{sysctls}, "spec", "template", "spec", "strategicPatches"))
	require.NoError(t, r.client.Update(t.Context(), bad[0]))
	r.has(t, bad[0], setOfSample(password))
	verdict.Proved(t, "what others wrote in an unfit way is reported by its place, and by none of its content")
}

// TestImmutable: a webhook as the bootstrap provider has it refuses the change, and
// the condition says so; with the exemption of the README it lets it through.
func TestImmutable(t *testing.T) {
	const ns = "immutable"
	r := start(t)
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var review struct {
			Request struct {
				UID               string
				Object, OldObject struct{ Spec any }
			}
		}
		body, err := io.ReadAll(request.Body)
		if err == nil {
			err = yaml.Unmarshal(body, &review)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		allowed := fmt.Sprint(review.Request.Object.Spec) == fmt.Sprint(review.Request.OldObject.Spec)
		fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":%t,`+
			`"status":{"code":400,"reason":"BadRequest","message":"TalosConfigTemplate.Spec is immutable"}}}`, review.Request.UID, allowed)
	}))
	defer webhook.Close()
	gate := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "provider"},
		"webhooks": []any{map[string]any{
			"name": "vtalosconfigtemplate.cluster.x-k8s.io", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail",
			"clientConfig":      map[string]any{"url": webhook.URL, "caBundle": pemOf(webhook)},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": ns}},
			"rules":             []any{map[string]any{"apiGroups": []any{"bootstrap.cluster.x-k8s.io"}, "apiVersions": []any{"v1beta1"}, "operations": []any{"UPDATE"}, "resources": []any{"talosconfigtemplates"}}},
		}},
	}}
	r.create(t, gate)
	defer func() { require.NoError(t, r.client.Delete(context.Background(), gate)) }()

	r.create(t, secret(ns, "login", login()))
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker"})
	r.create(t, worker)
	eventually(t, func() error { // the server takes its time to notice the webhook
		probe := worker.DeepCopy()
		require.NoError(t, unstructured.SetNestedField(probe.Object, "v1.12", "spec", "template", "spec", "talosVersion"))
		if err := r.client.Update(t.Context(), probe, client.DryRunAll); err == nil {
			return errors.New("not refused yet")
		}
		return nil
	})
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	assert.Equal(t, "0 of 1 templates have the registries\nworkers: the API server refuses it: BadRequest, by admission webhook \"vtalosconfigtemplate.cluster.x-k8s.io\": spec is immutable (the webhook must exempt this controller)",
		r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed).Message)

	// Each round of m asks the server once here. The status of another one makes
	// none: only its spec, and its end, can matter to m.
	other := registryMirrors(ns, "other")
	other.Spec.Templates = v1alpha1.TemplateSelector{Names: []string{"no-such"}}
	r.create(t, other)
	r.condition(t, other, v1alpha1.Ready, v1alpha1.ReasonFailed)
	rounds := r.asked.patched(ns + "/workers")
	for i := range 20 {
		require.NoError(t, r.kubectl("patch", "-n", ns, "registrymirrors", "other", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(`{"status": {"observedGeneration": %d}}`, 1000+i)))
	}
	change(t, r, other, func(m *v1alpha1.RegistryMirrors) { m.Spec.Form = "documents" })
	r.condition(t, other, v1alpha1.Ready, v1alpha1.ReasonFailed)
	assert.LessOrEqual(t, r.asked.patched(ns+"/workers")-rounds, 4, "for the other's beginning, its spec, and a minute that is over")
	require.NoError(t, r.client.Delete(t.Context(), other))

	exempt := func(patch string) {
		t.Helper()
		require.NoError(t, r.kubectl("patch", "validatingwebhookconfiguration", "provider", "--type=json", "-p", patch))
	}
	touched := 0
	touch := func() { // a new round, without the wait for it
		touched++
		change(t, r, worker, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"example.com/touched": fmt.Sprint(touched)})
		})
	}
	exempt(exemption(t))
	eventually(t, func() error {
		touch()
		if got := machineOf(t, r.read(t, worker)); !got.Equal(setOfSample(password)) {
			return fmt.Errorf("a new machine has %v", got)
		}
		return nil
	})
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	edited := r.read(t, worker)
	unstructured.RemoveNestedField(edited.Object, "spec", "template", "spec", "strategicPatches")
	require.Error(t, r.client.Update(t.Context(), edited), "everybody else is still refused")

	// What may not be removed keeps the RegistryMirrors, until it may.
	exempt(`[{"op": "remove", "path": "/webhooks/0/matchConditions"}]`)
	eventually(t, func() error {
		change(t, r, m, func(m *v1alpha1.RegistryMirrors) {
			m.Spec.Mirrors["ghcr.io"] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: fmt.Sprintf("https://m%d.internal", touched)}}}
		})
		touched++
		var now v1alpha1.RegistryMirrors
		require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(m), &now))
		if c := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.Ready); c.Reason != v1alpha1.ReasonFailed {
			return fmt.Errorf("not refused yet: %+v", c)
		}
		return nil
	})
	require.NoError(t, r.client.Delete(t.Context(), m))
	deleting := r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonDeleting)
	assert.Contains(t, deleting.Message, "not removed yet from:\nworkers: the API server refuses it: BadRequest")
	assert.Len(t, patchesOf(r.read(t, worker)), 1)
	exempt(exemption(t))
	eventually(t, func() error {
		touch()
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	assert.Empty(t, patchesOf(r.read(t, worker)))
	verdict.Proved(t, "a webhook that keeps spec as it is is reported, and its exemption is enough")
}

// TestUnreachable: a webhook that does not answer fails one template; the others get
// the spec, the status says so in the same round, and a deletion waits for that one.
func TestUnreachable(t *testing.T) {
	const ns = "unreachable"
	r := start(t)
	ports, err := servers.FreePorts(1)
	require.NoError(t, err)
	r.create(t, secret(ns, "login", login()))
	first := template("v1beta1", ns, "aaa", map[string]any{"generateType": "worker"})
	last := template("v1beta1", ns, "zzz", map[string]any{"generateType": "worker"})
	shared := template("v1beta1", ns, "shared", map[string]any{"generateType": "worker"})
	shared.SetLabels(nil)
	for _, o := range []*unstructured.Unstructured{first, last, shared} {
		r.create(t, o)
	}
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)

	gate := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "unreachable"},
		"webhooks": []any{map[string]any{
			"name": "dead.example.com", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Fail",
			"clientConfig":      map[string]any{"url": fmt.Sprintf("https://127.0.0.1:%d/", ports[0])},
			"matchConditions":   []any{map[string]any{"name": "one", "expression": `object.metadata.name == "aaa"`}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": ns}},
			"rules":             []any{map[string]any{"apiGroups": []any{"bootstrap.cluster.x-k8s.io"}, "apiVersions": []any{"v1beta1"}, "operations": []any{"UPDATE"}, "resources": []any{"talosconfigtemplates"}}},
		}},
	}}
	r.create(t, gate)
	removed := false
	open := func() {
		if !removed {
			removed = true
			require.NoError(t, r.client.Delete(context.Background(), gate))
		}
	}
	defer open()
	eventually(t, func() error { // the server takes its time to notice the webhook
		if err := r.client.Update(t.Context(), r.read(t, first), client.DryRunAll); !apierrors.IsInternalError(err) {
			return fmt.Errorf("it is not asked yet: %v", err)
		}
		return nil
	})

	want := setOfSample(password)
	want.Mirrors = map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal:5000"}}}}
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) { m.Spec.Mirrors = want.Mirrors })
	assert.Equal(t, "1 of 2 templates have the registries\naaa: the API server refuses it: InternalError, failed calling webhook \"dead.example.com\"",
		r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed).Message)
	r.condition(t, m, v1alpha1.Valid, v1alpha1.ReasonAccepted)
	r.has(t, last, want)
	r.has(t, first, setOfSample(password))

	// What it lets go of fails in the same way.
	change(t, r, m, func(m *v1alpha1.RegistryMirrors) {
		m.Spec.Templates = v1alpha1.TemplateSelector{Names: []string{"zzz", "shared"}}
	})
	assert.Equal(t, "2 of 3 templates have the registries\naaa: not selected any more, and not removed from it: the API server refuses it: InternalError, failed calling webhook \"dead.example.com\"",
		r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonFailed).Message)
	r.has(t, shared, want)

	// A deletion bumps the generation, on which the watch of rivals relies.
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m))
	generation := m.Generation
	require.NoError(t, r.client.Delete(t.Context(), m))
	deleting := r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonDeleting)
	assert.Equal(t, "not removed yet from:\naaa: the API server refuses it: InternalError, failed calling webhook \"dead.example.com\"", deleting.Message)
	assert.Greater(t, deleting.ObservedGeneration, generation)
	r.has(t, last, mirrors.Set{})
	r.has(t, first, setOfSample(password))
	assert.NotContains(t, r.logged.String(), password)

	open()
	eventually(t, func() error {
		change(t, r, last, func(o *unstructured.Unstructured) { // a new round, without the wait for it
			o.SetAnnotations(map[string]string{"example.com/touched": o.GetResourceVersion()})
		})
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})
	r.has(t, first, mirrors.Set{})
	verdict.Proved(t, "a webhook that does not answer fails its template alone, and is reported at once, by a deletion too")
}

// TestRights: the manager was refused nothing, and asked everything that it may.
func TestRights(t *testing.T) {
	const ns = "rights"
	r := start(t)
	r.create(t, secret(ns, "login", login()))
	worker := template("v1beta1", ns, "workers", map[string]any{"generateType": "worker"})
	r.create(t, worker)
	m := registryMirrors(ns, "cache")
	r.create(t, m)
	r.condition(t, m, v1alpha1.Ready, v1alpha1.ReasonConverged)
	require.NoError(t, r.client.Delete(t.Context(), m))
	eventually(t, func() error {
		if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(m), m); !apierrors.IsNotFound(err) {
			return fmt.Errorf("still there: %v", err)
		}
		return nil
	})

	text, err := os.ReadFile("config/rbac.yaml")
	require.NoError(t, err)
	var allowed []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same rules
		require.NoError(t, yaml.Unmarshal([]byte(document), &role))
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				require.Len(t, rule.Resources, 1)
				require.Len(t, rule.APIGroups, 1)
				allowed = append(allowed, verb+" "+rule.Resources[0]+"."+rule.APIGroups[0])
			}
		}
	}
	require.NotEmpty(t, allowed)
	eventually(t, func() error { // an event may come late
		r.asked.mu.Lock()
		defer r.asked.mu.Unlock()
		for _, right := range allowed {
			if !r.asked.verbs[right] {
				return fmt.Errorf("%q was not asked for: config/rbac.yaml does not need it", right)
			}
		}
		return nil
	})
	r.asked.mu.Lock()
	defer r.asked.mu.Unlock()
	for right := range r.asked.verbs {
		assert.Contains(t, allowed, right, "asked for, and not in config/rbac.yaml")
	}
	assert.Empty(t, r.asked.denied)
	verdict.Proved(t, "%d rights, each needed, none missing", len(allowed))
}

// pemOf is the certificate of a test server, as a webhook's caBundle has it.
func pemOf(server *httptest.Server) string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}

// exemption is the JSON patch that the README has for the provider's webhook.
func exemption(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(text), "--type=json -p '")
	require.True(t, ok)
	patch, _, ok := strings.Cut(rest, "'\n")
	require.True(t, ok)
	return patch
}
