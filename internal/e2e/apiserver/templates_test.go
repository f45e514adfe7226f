package apiserver_test

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"
	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// hostile stands wherever free text can stand.
const hostile = "$(JOIN_TOKEN) $$(A) ${JOIN_TOKEN} `id` \\$(JOIN_TOKEN) {{ .Values.x }}\nEOF\nid\n\tEOF\n<no value>é"

var set = mirrors.Set{
	Mirrors: map[string]mirrors.Mirror{
		"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "http://cache.internal:5000"}, {URL: "https://mirror.gcr.io"}}},
		"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.internal/v2/ghcr", OverridePath: true}}, SkipFallback: true},
		"*":         {Endpoints: []mirrors.Endpoint{{URL: "https://[fd00::1]:5000"}}},
	},
}

// withCredentials is the same with a password that is hostile text, an identity
// token, a CA and a client certificate.
func withCredentials() mirrors.Set {
	s := set.DeepCopy()
	certificate, key := identity()
	s.Config = map[string]mirrors.HostConfig{
		"harbor.internal": {
			Auth: &mirrors.Auth{Username: "robot$(JOIN_TOKEN)", Password: mirrors.NewSecret(hostile)},
			TLS:  &mirrors.TLS{CA: certificate, ClientIdentity: &mirrors.ClientIdentity{Certificate: certificate, Key: key}},
		},
		"mirror.gcr.io": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-$(TOKEN)")}, TLS: &mirrors.TLS{InsecureSkipVerify: true}},
	}
	return s
}

// identity is a certificate that signs itself, and its key.
var identity = sync.OnceValues(func() (mirrors.PEM, mirrors.Secret) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "made up"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return mirrors.PEM(text("CERTIFICATE", certificate)), mirrors.NewSecret(text("PRIVATE KEY", private))
})

// large is a Set whose template is beyond what kubectl applies on the client.
func large() mirrors.Set {
	s := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}}
	name := strings.Repeat("a", 60)
	for len(s.Mirrors) < 1200 {
		host := name + string(rune('a'+len(s.Mirrors)%26)) + string(rune('a'+len(s.Mirrors)/26%26)) + string(rune('a'+len(s.Mirrors)/676)) + ".example.com"
		s.Mirrors[host] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal/v2/" + host, OverridePath: true}}}
	}
	return s
}

func version(t *testing.T, s string) configpatch.Version {
	t.Helper()
	v, err := configpatch.ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func merge(t *testing.T, s mirrors.Set, v string) [][]byte {
	t.Helper()
	p, err := configpatch.Merge(s, version(t, v))
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{p.Bytes()}
}

func replace(t *testing.T, s mirrors.Set, v string) (patches [][]byte) {
	t.Helper()
	r, err := configpatch.Replace(s, version(t, v))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Patches {
		patches = append(patches, p.Bytes())
	}
	return patches
}

// generated is what the provider may have generated before it applies patches.
const generated = `version: v1alpha1
machine:
  type: worker
  token: made-up.0123456789abcdef
cluster:
  controlPlane:
    endpoint: https://192.0.2.1:6443
`

// skeleton is a configuration with an input of each kind.
const skeleton = `version: v1alpha1
machine:
  type: worker
  token: "${JOIN_TOKEN}"
  ca:
    crt: "${TALOS_CA}"
  nodeAnnotations:
    example.com/note: ${NOTE}
    example.com/literal: '$(JOIN_TOKEN) ${UNDECLARED} \\ ` + "`id`" + `'
cluster:
  controlPlane:
    endpoint: "https://${API_ADDRESS}:6443"
`

// Each kind of input, and what the cluster has for it.
const (
	joinToken = "abcdef.0123456789abcdef"
	note      = "it's \"${JOIN_TOKEN}\": {{ é }}\n\ttwo lines\\"
)

var talosCA = []byte("-----BEGIN CERTIFICATE-----\nmade up\n-----END CERTIFICATE-----\n")

func inputs() []reconcile.Input {
	return []reconcile.Input{
		{Name: "JOIN_TOKEN", Form: escape.Token, From: reconcile.FromEnv{Secret: "join", Key: "token"}},
		{Name: "TALOS_CA", Form: escape.Base64, From: reconcile.FromSecret{Name: "talos", Key: "tls.crt"}},
		{Name: "NOTE", Form: escape.Any, From: reconcile.FromSecret{Name: "talos", Key: "a.note", Decode: true}},
		{Name: "API_ADDRESS", Form: escape.Address, From: reconcile.FromJSONPath{Resource: "services", Name: "api", JSONPath: "{.spec.clusterIP}"}},
	}
}

// provide makes what the inputs name, and returns the configuration that the
// skeleton then is.
func (c cluster) provide(t *testing.T, namespace string) (config map[string]any) {
	t.Helper()
	base64 := base64.StdEncoding.EncodeToString
	for _, o := range []map[string]any{
		{"kind": "Secret", "metadata": map[string]any{"name": "join"}, "data": map[string]any{"token": base64([]byte(joinToken))}},
		{"kind": "Secret", "metadata": map[string]any{"name": "talos"}, "data": map[string]any{"tls.crt": base64(talosCA), "a.note": base64([]byte(note))}},
		{"kind": "Service", "metadata": map[string]any{"name": "api"}, "spec": map[string]any{"ports": []any{map[string]any{"port": 6443}}}},
	} {
		o["apiVersion"] = "v1"
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		c.must(t, text, "create", "-n", namespace, "-f", "-")
	}
	var service struct{ Spec struct{ ClusterIP string } }
	c.get(t, &service, "service", "api", "-n", namespace)
	return map[string]any{
		"version": "v1alpha1",
		"machine": map[string]any{
			"type": "worker", "token": joinToken, "ca": map[string]any{"crt": base64(talosCA)},
			"nodeAnnotations": map[string]any{
				"example.com/note": note, "example.com/literal": "$(JOIN_TOKEN) ${UNDECLARED} \\\\ `id`",
			},
		},
		"cluster": map[string]any{"controlPlane": map[string]any{"endpoint": "https://" + service.Spec.ClusterIP + ":6443"}},
	}
}

// deploy makes the objects of the manifests, and returns the Job as the server
// has it. The Pod of its template is created too, on trial.
func (c cluster) deploy(t *testing.T, j reconcile.Job) (reconcile.Objects, job) {
	t.Helper()
	objects, err := reconcile.Manifests(j)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"apply", "-f", "-"}
	if objects.Transport() != reconcile.InCommand {
		args = append(args, "--server-side") // as the package's doc says
	}
	c.must(t, objects.Bytes(), args...)
	var made job
	c.get(t, &made, "job", objects.JobName(), "-n", cmp.Or(j.Namespace, j.Template.Namespace))
	c.admit(t, made)
	return objects, made
}

// stored is a TalosConfigTemplate as the server has it.
type stored struct {
	APIVersion string
	Metadata   struct {
		ResourceVersion     string
		Annotations, Labels map[string]string
	}
	Spec struct {
		Template struct {
			Spec struct {
				GenerateType, TalosVersion, Data string
				StrategicPatches                 []string
			}
		}
	}
}

func (c cluster) template(t *testing.T, apiVersion, namespace, name string) (s stored) {
	t.Helper()
	c.get(t, &s, "talosconfigtemplates."+apiVersion+".bootstrap.cluster.x-k8s.io", name, "-n", namespace)
	return s
}

// effective is the Set that machinery reads from what the server has: the data,
// or what the provider generates, and each patch on it, as the provider does it.
func (s stored) effective(t *testing.T) mirrors.Set {
	t.Helper()
	spec := s.Spec.Template.Spec
	config := []byte(generated)
	if spec.GenerateType == "none" {
		config = []byte(spec.Data)
	}
	for _, text := range spec.StrategicPatches {
		patch, err := configpatcher.LoadPatch([]byte(text))
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		out, err := configpatcher.Apply(configpatcher.WithBytes(config), []configpatcher.Patch{patch})
		if err != nil {
			t.Fatalf("%v of\n%s", err, text)
		}
		if config, err = out.Bytes(); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := configloader.NewFromBytes(config)
	if err != nil {
		t.Fatalf("%v in\n%s", err, config)
	}
	var set mirrors.Set
	for name, m := range loaded.RegistryMirrorConfigs() {
		mirror := mirrors.Mirror{SkipFallback: m.SkipFallback()}
		for _, e := range m.Endpoints() {
			mirror.Endpoints = append(mirror.Endpoints, mirrors.Endpoint{URL: e.Endpoint(), OverridePath: e.OverridePath()})
		}
		if set.Mirrors == nil {
			set.Mirrors = map[string]mirrors.Mirror{}
		}
		set.Mirrors[name] = mirror
	}
	hosts := map[string]mirrors.HostConfig{}
	for host, a := range loaded.RegistryAuthConfigs() {
		hosts[host] = mirrors.HostConfig{Auth: &mirrors.Auth{
			Username: a.Username(), Password: mirrors.NewSecret(a.Password()),
			Auth: mirrors.NewSecret(a.Auth()), IdentityToken: mirrors.NewSecret(a.IdentityToken()),
		}}
	}
	for host, m := range loaded.RegistryTLSConfigs() {
		tls := &mirrors.TLS{CA: mirrors.PEM(m.CA()), InsecureSkipVerify: m.InsecureSkipVerify()}
		if identity := m.ClientIdentity(); identity != nil {
			tls.ClientIdentity = &mirrors.ClientIdentity{Certificate: mirrors.PEM(identity.Crt), Key: mirrors.NewSecret(string(identity.Key))}
		}
		hosts[host] = mirrors.HostConfig{Auth: hosts[host].Auth, TLS: tls}
	}
	if len(hosts) > 0 {
		set.Config = hosts
	}
	// The library reads it the same.
	if effective, err := configpatch.Read(config); err != nil || !effective.Set.Equal(set) {
		t.Errorf("%v, or the library reads %+v and machinery %+v", err, effective, set)
	}
	return set
}

// TestTemplates: the Job is accepted, its script applies the template, and the
// server then has what was given.
func TestTemplates(t *testing.T) {
	c := start(t)
	applied := 0
	for _, tt := range []struct {
		name      string
		template  reconcile.Template
		set       mirrors.Set
		transport reconcile.Transport
	}{
		{"documents", reconcile.Template{TalosVersion: "v1.13", StrategicPatches: merge(t, set, "v1.13")}, set, reconcile.InCommand},
		{"legacy-form", reconcile.Template{TalosVersion: "v1.11", StrategicPatches: merge(t, set, "v1.11")}, set, reconcile.InCommand},
		{"replace", reconcile.Template{TalosVersion: "v1.13", GenerateType: "controlplane", StrategicPatches: replace(t, set, "v1.13")}, set, reconcile.InCommand},
		{"credentials", reconcile.Template{TalosVersion: "v1.13", StrategicPatches: merge(t, withCredentials(), "v1.13")}, withCredentials(), reconcile.InSecret},
		{"skeleton", reconcile.Template{TalosVersion: "v1.13", Skeleton: skeleton, Inputs: inputs()}, mirrors.Set{}, reconcile.InCommand},
		// What mirrorctl refuses and the library carries: registries in the skeleton itself.
		{"skeleton-with-registries", reconcile.Template{TalosVersion: "v1.13", Skeleton: skeleton + "---\n" + string(merge(t, set, "v1.13")[0]), Inputs: inputs()}, set, reconcile.InCommand},
		{"skeleton-and-patches", reconcile.Template{TalosVersion: "v1.13", Skeleton: skeleton, Inputs: inputs(), StrategicPatches: merge(t, withCredentials(), "v1.13")}, withCredentials(), reconcile.InSecret},
		{"large", reconcile.Template{TalosVersion: "v1.13", StrategicPatches: merge(t, large(), "v1.13")}, large(), reconcile.InConfigMap},
	} {
		for _, apiVersion := range []string{"v1alpha3", "v1beta1"} {
			for _, shell := range slices.Sorted(maps.Keys(shells)) {
				t.Run(tt.name+"/"+apiVersion+"/"+shell, func(t *testing.T) {
					sh := shellOf(t, shell)
					namespace := strings.ToLower(tt.name + "-" + apiVersion + "-" + shell)
					c.namespace(t, namespace)
					want := c.provide(t, namespace)

					template := tt.template
					template.Name, template.Namespace, template.APIVersion = "md0", namespace, apiVersion
					template.Annotations = map[string]string{"example.com/note": hostile}
					objects, job := c.deploy(t, reconcile.Job{Template: template, Annotations: map[string]string{"example.com/note": hostile}})
					if objects.Transport() != tt.transport {
						t.Fatalf("the script is in a %s, want a %s", objects.Transport(), tt.transport)
					}
					box := c.container(t, job)
					r := box.run(sh)
					if r.Exit != 0 || strings.Contains(r.Stderr, "arning") {
						t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
					}
					first := c.template(t, apiVersion, namespace, "md0")

					again := box.run(sh)
					if again.Exit != 0 {
						t.Fatalf("the second time: exit code %d, standard error:\n%s", again.Exit, again.Stderr)
					}
					// kubectl says serverside-applied, whether that changed something or not.
					if tt.name != "large" && (!strings.HasSuffix(r.Stdout, "/md0 created\n") || !strings.HasSuffix(again.Stdout, "/md0 unchanged\n")) {
						t.Errorf("kubectl said %q, then %q", r.Stdout, again.Stdout)
					}
					got := c.template(t, apiVersion, namespace, "md0")
					if got.Metadata.ResourceVersion != first.Metadata.ResourceVersion {
						t.Error("the second time changed something")
					}

					spec := got.Spec.Template.Spec
					if got.APIVersion != "bootstrap.cluster.x-k8s.io/"+apiVersion || got.Metadata.Annotations["example.com/note"] != hostile || spec.TalosVersion != template.TalosVersion {
						t.Errorf("the server has %+v", got)
					}
					generate := cmp.Or(template.GenerateType, "worker")
					if template.Skeleton != "" {
						generate = "none" // with another one the provider would ignore data
					}
					if spec.GenerateType != generate {
						t.Errorf("generateType %q, want %q", spec.GenerateType, generate)
					}
					var patches []string
					for _, p := range template.StrategicPatches {
						patches = append(patches, string(p))
					}
					if !slices.Equal(spec.StrategicPatches, patches) {
						t.Errorf("strategicPatches %q, want %q", spec.StrategicPatches, patches)
					}
					if template.Skeleton != "" {
						var data map[string]any
						if err := yaml.Unmarshal([]byte(spec.Data), &data); err != nil {
							t.Fatal(err)
						}
						if gotText, wantText := encode(t, data), encode(t, want); gotText != wantText {
							t.Errorf("data\n%s\nwant\n%s", gotText, wantText)
						}
					} else if spec.Data != "" {
						t.Errorf("data %q", spec.Data)
					}
					if !got.effective(t).Equal(tt.set) {
						t.Errorf("machinery reads %+v, want %+v", got.effective(t), tt.set)
					}
					applied++
				})
			}
		}
	}
	verdict.Proved(t, "%d Jobs are accepted; in dash and busybox their scripts apply the template twice with the rights of the ServiceAccount, the second time without a change; machinery reads the Set from what the server has", applied)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestHostile: every text of the hostile corpus that an annotation can hold
// arrives in one, and as it was.
func TestHostile(t *testing.T) {
	c := start(t)
	const namespace = "hostile"
	c.namespace(t, namespace)
	patches := merge(t, set, "v1.13")
	manifests := func(annotations map[string]string, run string) (reconcile.Objects, error) {
		return reconcile.Manifests(reconcile.Job{RunID: run, Name: "hostile", Template: reconcile.Template{
			Name: "md0", Namespace: namespace, TalosVersion: "v1.13", Annotations: annotations, StrategicPatches: patches,
		}})
	}

	// As many texts in one template as kubectl applies with some room.
	var groups []map[string]string
	room, refused, held := 0, 0, 0
	for _, h := range shelltest.Hostile(t) {
		key, text := "example.com/"+h.Name, string(h.Data)
		if _, err := manifests(map[string]string{key: text}, ""); err != nil {
			if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
				t.Errorf("%s is refused: %v", h.Name, err)
			}
			refused++
			continue
		}
		if len(text) > room || len(groups) == 0 {
			groups = append(groups, map[string]string{})
			room = 60_000
		}
		groups[len(groups)-1][key] = text
		room -= len(text)
		held++
	}
	if held < 100 || refused == 0 {
		t.Fatalf("%d texts, and %d are refused", held, refused)
	}

	for _, shell := range slices.Sorted(maps.Keys(shells)) {
		t.Run(shell, func(t *testing.T) {
			sh := shellOf(t, shell)
			for i, group := range groups {
				objects, err := manifests(group, fmt.Sprint(shell, i))
				if err != nil {
					t.Fatal(err)
				}
				c.must(t, objects.Bytes(), "apply", "--server-side", "-f", "-")
				var j job
				c.get(t, &j, "job", objects.JobName(), "-n", namespace)
				if r := c.container(t, j).run(sh); r.Exit != 0 {
					t.Errorf("%q: exit code %d, standard error:\n%s", slices.Sorted(maps.Keys(group)), r.Exit, r.Stderr)
					continue
				}
				got := c.template(t, "v1beta1", namespace, "md0").Metadata.Annotations
				for key, text := range group {
					if got[key] != text {
						t.Errorf("%s: the server has %.200q, want %.200q", key, got[key], text)
					}
				}
			}
		})
	}
	verdict.Proved(t, "%d hostile texts are on the server as they were given, by %d Jobs in each of %d shells; %d are refused by Manifests: no UTF-8, or a NUL byte", held, len(groups), len(shells), refused)
}

// TestSizes: a template that outgrows what kubectl applies on the client, and
// shrinks again, is each time what was given, with nothing of the one before.
func TestSizes(t *testing.T) {
	c := start(t)
	const namespace = "sizes"
	c.namespace(t, namespace)
	c.provide(t, namespace)
	small, much := merge(t, set, "v1.13"), merge(t, large(), "v1.13")
	note := func(key string, n int) map[string]string {
		return map[string]string{"example.com/" + key: strings.Repeat("a", n)}
	}
	label := func(key string) map[string]string { return map[string]string{"example.com/" + key: "yes"} }
	steps := []struct {
		name       string
		template   reconcile.Template
		serverSide bool
	}{
		{"small", reconcile.Template{StrategicPatches: small, TalosVersion: "v1.13", Annotations: note("a", 4), Labels: label("a")}, false},
		{"large, with a skeleton", reconcile.Template{StrategicPatches: much, Skeleton: skeleton, Inputs: inputs(), TalosVersion: "v1.13", Annotations: note("b", 4), Labels: label("b")}, true},
		{"the skeleton alone", reconcile.Template{Skeleton: skeleton, Inputs: inputs()}, false},
		{"large, of many patches", reconcile.Template{StrategicPatches: append(merge(t, large(), "v1.13"), small...), TalosVersion: "v1.13", Annotations: note("c", 4)}, true},
		{"large, of one", reconcile.Template{StrategicPatches: much, Annotations: note("d", 4)}, true},
		{"small patches", reconcile.Template{StrategicPatches: small}, false},
		{"an annotation beside its copy", reconcile.Template{StrategicPatches: small, Annotations: note("a", 97_000)}, false},
		{"a larger one", reconcile.Template{StrategicPatches: small, Annotations: note("a", 99_000)}, true},
		{"small, after that", reconcile.Template{StrategicPatches: small}, false},
		{"half of what the server takes", reconcile.Template{StrategicPatches: small, Annotations: note("c", 131_073)}, true},
		{"nearly all that it takes", reconcile.Template{StrategicPatches: small, Annotations: note("d", 261_000)}, true},
		{"small, at the end", reconcile.Template{StrategicPatches: small, TalosVersion: "v1.12"}, false},
	}
	for _, tt := range steps {
		t.Run(tt.name, func(t *testing.T) {
			template := tt.template
			template.Name, template.Namespace = "md0", namespace
			objects, err := reconcile.Manifests(reconcile.Job{RunID: tt.name, Template: template})
			if err != nil {
				t.Fatal(err)
			}
			c.must(t, objects.Bytes(), "apply", "--server-side", "--force-conflicts", "-f", "-")
			var j job
			c.get(t, &j, "job", objects.JobName(), "-n", namespace)
			r := c.container(t, j).run(shellOf(t, "dash"))
			if r.Exit != 0 || r.Complaints() != "" {
				t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
			}
			if strings.Contains(r.Stdout, "serverside-applied") != tt.serverSide {
				t.Errorf("kubectl says %q", r.Stdout)
			}
			got := c.template(t, "v1beta1", namespace, "md0")
			delete(got.Metadata.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
			var patches []string
			for _, p := range template.StrategicPatches {
				patches = append(patches, string(p))
			}
			spec := got.Spec.Template.Spec
			if !slices.Equal(spec.StrategicPatches, patches) || (spec.Data != "") != (template.Skeleton != "") || spec.TalosVersion != template.TalosVersion ||
				!maps.Equal(got.Metadata.Annotations, template.Annotations) || !maps.Equal(got.Metadata.Labels, template.Labels) {
				t.Errorf("the server has %d patches, %d bytes of data, Talos version %q, annotations %q, labels %q", len(spec.StrategicPatches), len(spec.Data), spec.TalosVersion,
					slices.Sorted(maps.Keys(got.Metadata.Annotations)), got.Metadata.Labels)
			}
		})
	}
	verdict.Proved(t, "a template grows beyond what kubectl applies on the client, and shrinks, in %d steps, and nothing is left of the one before", len(steps))
}

// TestRefused: what the server refuses ends the script with 1 and with the
// server's own words. Nothing is there then, and what was there is as it was.
func TestRefused(t *testing.T) {
	c := start(t)
	refused := 0
	for _, tt := range []struct {
		name, old, new   string
		want, serverSide string // the message; serverSide where it is another there
	}{
		{"misspelt-in-spec", "strategicPatches:", "strategicPatch:", `unknown field "spec.template.spec.strategicPatch"`, `.spec.template.spec.strategicPatch: field not declared in schema`},
		{"misspelt-above", "  template:", "  templates:", `unknown field "spec.templates"`, `.spec.templates: field not declared in schema`},
		{"misspelt-metadata", "annotations:", "annotation:", `unknown field "metadata.annotation"`, `.metadata.annotation: field not declared in schema`},
		{"wrong-value", "generateType: worker", "generateType: workers", `Unsupported value: "workers"`, ""},
		{"wrong-kind", "talosVersion: v1.13", "talosVersion: 1.13", `spec.template.spec.talosVersion in body must be of type string: "number"`, `.spec.template.spec.talosVersion: expected string, got`},
		{"missing", "generateType: worker\n", "\n", "generateType: Required value", ""},
		{"no-such-version", "/VERSION", "/v1beta9", `no matches for kind "TalosConfigTemplate" in version "bootstrap.cluster.x-k8s.io/v1beta9"`, ""},
	} {
		for _, apiVersion := range []string{"v1alpha3", "v1beta1"} {
			if tt.name == "wrong-value" && apiVersion == "v1alpha3" {
				continue // the schema of v1alpha3 takes every generateType
			}
			for size, patches := range map[string][][]byte{"small": merge(t, set, "v1.13"), "server-side": merge(t, large(), "v1.13")} {
				want := tt.want
				if size == "server-side" {
					want = cmp.Or(tt.serverSide, want)
				}
				name := strings.Join([]string{tt.name, apiVersion, size}, "-")
				t.Run(name, func(t *testing.T) {
					c.namespace(t, name)
					template := reconcile.Template{
						Name: "md0", Namespace: name, APIVersion: apiVersion, TalosVersion: "v1.13",
						Annotations: map[string]string{"example.com/note": "text"}, StrategicPatches: patches,
					}
					_, job := c.deploy(t, reconcile.Job{Template: template})
					wrong := c.container(t, job)
					wrong.edit(t, strings.ReplaceAll(tt.old, "VERSION", apiVersion), tt.new)
					refuses := func() {
						t.Helper()
						before := c.must(t, nil, "get", "talosconfigtemplates", "-n", name, "-o", "yaml")
						for _, shell := range slices.Sorted(maps.Keys(shells)) {
							r := wrong.run(shellOf(t, shell))
							if r.Exit != 1 || !strings.Contains(r.Stderr, want) || r.Stdout != "" {
								t.Errorf("%s: exit code %d, want 1 and %q; standard error:\n%s\nstandard output:\n%s", shell, r.Exit, want, r.Stderr, r.Stdout)
							}
							refused++
						}
						if after := c.must(t, nil, "get", "talosconfigtemplates", "-n", name, "-o", "yaml"); after != before {
							t.Errorf("the server had\n%.2000s\nand has\n%.2000s", before, after)
						}
					}
					refuses()

					// The same where another template is there.
					template.TalosVersion = "v1.12"
					_, job = c.deploy(t, reconcile.Job{Template: template})
					if r := c.container(t, job).run(shellOf(t, "dash")); r.Exit != 0 {
						t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
					}
					refuses()
				})
			}
		}
	}
	verdict.Proved(t, "%d runs of wrong scripts, misspelt or with wrong values, each exit with 1 and the server's message, and change nothing", refused)
}

// TestInputs: an input that is not there, or that does not fit, ends the script
// with 1, and nothing is there then.
func TestInputs(t *testing.T) {
	c := start(t)
	runs := 0
	for _, tt := range []struct{ name, change, want string }{
		{"no-secret", "delete secret talos", "mirrorpatch: TALOS_CA: key tls.crt of secret no-secret/talos is empty or not there after 2 tries"},
		{"no-key", `patch secret talos --type=json -p [{"op":"remove","path":"/data/tls.crt"}]`, "mirrorpatch: TALOS_CA: key tls.crt of secret no-key/talos is empty or not there after 2 tries"},
		{"no-service", "delete service api", "mirrorpatch: API_ADDRESS: {.spec.clusterIP} of services no-service/api is empty or not there after 2 tries"},
		{"not-text", `patch secret talos -p {"data":{"a.note":"/w=="}}`, "NOTE: not set, empty or not of its form: want text that is valid UTF-8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			namespace := tt.name
			c.namespace(t, namespace)
			c.provide(t, namespace)
			_, job := c.deploy(t, reconcile.Job{Template: reconcile.Template{
				Name: "md0", Namespace: namespace, Skeleton: skeleton, Inputs: inputs(), Tries: 2, Interval: 1e9,
			}})
			box := c.container(t, job)
			c.must(t, nil, append(strings.Fields(tt.change), "-n", namespace)...)
			for _, shell := range slices.Sorted(maps.Keys(shells)) {
				r := box.run(shellOf(t, shell))
				if r.Exit != 1 || !strings.Contains(r.Stderr, tt.want) {
					t.Errorf("%s: exit code %d, want 1 and %q; standard error:\n%s", shell, r.Exit, tt.want, r.Stderr)
				}
				if got := c.must(t, nil, "get", "talosconfigtemplates", "-n", namespace, "-o", "name"); got != "" {
					t.Errorf("the server has %s", got)
				}
				runs++
			}
		})
	}
	verdict.Proved(t, "an input that is not there, or does not fit, ends the script with 1 and its name, and nothing is on the server: %d runs", runs)
}

// shellOf returns the command of a shell.
func shellOf(t *testing.T, name string) []string {
	t.Helper()
	sh := shells[name]
	if _, err := exec.LookPath(sh[0]); err != nil {
		servers.Missing(t, err.Error())
	}
	return sh
}
