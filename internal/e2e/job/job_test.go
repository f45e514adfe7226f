// Package job_test runs the Job of package reconcile as a node would run it, in
// every shell.
package job_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/sandbox"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// hostile stands wherever free text can stand.
const hostile = "$(BOOTSTRAP_TOKEN) $$(A) ${TALOS_TOKEN} `id` \\$(BOOTSTRAP_TOKEN) {{ .Values.x }}\nEOF\nid\n\tEOF\n<no value>é"

var set = mirrors.Set{
	Mirrors: map[string]mirrors.Mirror{
		"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "http://cache.internal:5000"}, {URL: "https://mirror.gcr.io"}}},
		"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.internal/v2/ghcr", OverridePath: true}}, SkipFallback: true},
		"*":         {Endpoints: []mirrors.Endpoint{{URL: "https://[fd00::1]:5000"}}},
	},
}

// withCredentials is the same with credentials that hold the hostile text.
func withCredentials() mirrors.Set {
	s := set.DeepCopy()
	s.Config = map[string]mirrors.HostConfig{
		"harbor.internal": {Auth: &mirrors.Auth{Username: "robot$(BOOTSTRAP_TOKEN)", Password: mirrors.NewSecret(hostile)}},
	}
	return s
}

func patch(t *testing.T, s mirrors.Set) []byte {
	t.Helper()
	v, err := configpatch.ParseVersion("v1.13")
	if err != nil {
		t.Fatal(err)
	}
	p, err := configpatch.Merge(s, v)
	if err != nil {
		t.Fatal(err)
	}
	return p.Bytes()
}

// applied reads what kubectl apply got.
type applied struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace string
		Annotations     map[string]string
	}
	Spec struct {
		Template struct {
			Spec struct {
				GenerateType     string   `yaml:"generateType"`
				TalosVersion     string   `yaml:"talosVersion"`
				StrategicPatches []string `yaml:"strategicPatches"`
				Data             string
			}
		}
	}
}

func read(t *testing.T, r sandbox.Result) applied {
	t.Helper()
	if r.Exit != 0 {
		t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
	}
	var a applied
	dec := yaml.NewDecoder(strings.NewReader(r.Applied))
	dec.KnownFields(true)
	if err := dec.Decode(&a); err != nil {
		t.Fatalf("%v in\n%s", err, r.Applied)
	}
	if a.Kind != "TalosConfigTemplate" || a.Metadata.Name != "md0" || a.Metadata.Namespace != "tenant-a" || a.Metadata.Annotations["example.com/note"] != hostile {
		t.Fatalf("applied\n%s", r.Applied)
	}
	return a
}

// registries are those of a configuration, as Talos machinery reads it.
func registries(t *testing.T, config string) mirrors.Set {
	t.Helper()
	effective, err := configpatch.Read([]byte(config))
	if err != nil {
		t.Fatalf("%v in\n%s", err, config)
	}
	return effective.Set
}

// secrets are in the environment of every Job here, and placed by one only.
var secrets = map[string]string{
	"tenant-a talos-token":     "talos0.0123456789abcdef",
	"tenant-a bootstrap-token": "boots0.0123456789abcdef",
}

func template(t *testing.T, s mirrors.Set) reconcile.Template {
	return reconcile.Template{
		Name: "md0", Namespace: "tenant-a",
		Annotations:      map[string]string{"example.com/note": hostile},
		TalosVersion:     "v1.13.0",
		StrategicPatches: [][]byte{patch(t, s)},
		Tries:            2,
		Interval:         time.Second,
	}
}

// run makes the manifests and runs the Job in every shell. It returns what was
// run, for a line about it.
func run(t *testing.T, j reconcile.Job, want reconcile.Transport, c sandbox.Cluster, check func(t *testing.T, r sandbox.Result)) string {
	t.Helper()
	sandbox.Needed(t)
	objects, err := reconcile.Manifests(j)
	if err != nil {
		t.Fatal(err)
	}
	if objects.Transport() != want {
		t.Fatalf("the script is in a %s, want a %s", objects.Transport(), want)
	}
	p, files := sandbox.Manifests(t, objects.Bytes())
	shells := 0
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		check(t, c.Start(t, p, files, sh.Args))
		shells++
	})
	return fmt.Sprintf("%d bytes of script in a %s, %d shells, user %d, a read-only root file system",
		len(objects.Script().Bytes()), want, shells, p.SecurityContext.RunAsUser)
}

// TestStrategicPatches: the template without live inputs.
func TestStrategicPatches(t *testing.T) {
	ran := run(t, reconcile.Job{Template: template(t, set)}, reconcile.InCommand, sandbox.Cluster{}, func(t *testing.T, r sandbox.Result) {
		a := read(t, r)
		if p := a.Spec.Template.Spec.StrategicPatches; len(p) != 1 || p[0] != string(patch(t, set)) || !registries(t, p[0]).Equal(set) {
			t.Errorf("strategicPatches %q", p)
		}
	})
	verdict.Proved(t, "the Job applies the template with its strategic patches, which are the Set (%s)", ran)
}

// TestSecret: credentials go into a mounted Secret, and arrive.
func TestSecret(t *testing.T) {
	s := withCredentials()
	ran := run(t, reconcile.Job{Template: template(t, s)}, reconcile.InSecret, sandbox.Cluster{}, func(t *testing.T, r sandbox.Result) {
		a := read(t, r)
		if p := a.Spec.Template.Spec.StrategicPatches; len(p) != 1 || !registries(t, p[0]).Equal(s) {
			t.Errorf("strategicPatches %q", p)
		}
	})
	verdict.Proved(t, "credentials arrive through a mounted Secret, whatever text they are (%s)", ran)
}

// TestConfigMap: a script that is too large for a command goes into a mounted
// ConfigMap. Its document is larger than a pipe, so that some shells need
// the emptyDir for it.
func TestConfigMap(t *testing.T) {
	s := set.DeepCopy()
	for i := range 2000 {
		s.Mirrors[fmt.Sprintf("r%d.example.com", i)] = mirrors.Mirror{Endpoints: []mirrors.Endpoint{{URL: fmt.Sprintf("https://cache.internal/v2/r%d", i), OverridePath: true}}}
	}
	ran := run(t, reconcile.Job{Template: template(t, s)}, reconcile.InConfigMap, sandbox.Cluster{}, func(t *testing.T, r sandbox.Result) {
		a := read(t, r)
		if p := a.Spec.Template.Spec.StrategicPatches; len(p) != 1 || !registries(t, p[0]).Equal(s) {
			t.Errorf("strategicPatches of %d bytes are not the Set", len(strings.Join(p, "")))
		}
	})
	verdict.Proved(t, "a Job that is too large for a command applies 2003 mirrors (%s)", ran)
}

// skeletonJob is a whole configuration of a worker, with an input of each kind.
func skeletonJob(t *testing.T) (reconcile.Job, sandbox.Cluster, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "cozystack", "worker.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	skeleton := string(data)
	ca := base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nmade up\n-----END CERTIFICATE-----\n"))
	values := map[string]string{
		"TALOS_TOKEN": secrets["tenant-a talos-token"], "BOOTSTRAP_TOKEN": secrets["tenant-a bootstrap-token"],
		"TALOS_CA": ca, "KUBERNETES_CA": ca, "CLUSTER_ID": "Q0xVU1RFUi1JRC1NQURFLVVQLUNMVVNURVItSUQtMDE=", "SERVICE_IP": "10.95.0.10",
	}
	tmpl := template(t, set)
	tmpl.Skeleton = skeleton
	tmpl.Inputs = []reconcile.Input{
		{Name: "TALOS_TOKEN", Form: escape.Token, From: reconcile.FromEnv{Secret: "tenant-a", Key: "talos-token"}},
		{Name: "BOOTSTRAP_TOKEN", Form: escape.Token, From: reconcile.FromEnv{Secret: "tenant-a", Key: "bootstrap-token"}},
		{Name: "CLUSTER_ID", Form: escape.Base64URL, From: reconcile.FromEnv{Value: values["CLUSTER_ID"]}},
		{Name: "TALOS_CA", Form: escape.Base64, From: reconcile.FromSecret{Name: "tenant-a-talos", Key: "tls.crt"}},
		{Name: "KUBERNETES_CA", Form: escape.Base64, From: reconcile.FromSecret{Name: "tenant-a-ca", Key: "tls.crt"}},
		{Name: "SERVICE_IP", Form: escape.Address, From: reconcile.FromJSONPath{Resource: "services", Name: "tenant-a", JSONPath: "{.spec.clusterIP}"}},
	}
	c := sandbox.Cluster{Secrets: secrets, Gets: map[string]string{
		`tenant-a secret tenant-a-talos {.data.tls\.crt}`: ca,
		`tenant-a secret tenant-a-ca {.data.tls\.crt}`:    ca,
		`tenant-a services tenant-a {.spec.clusterIP}`:    values["SERVICE_IP"],
	}}
	for name, value := range values {
		skeleton = strings.ReplaceAll(skeleton, "${"+name+"}", value)
	}
	return reconcile.Job{Template: tmpl}, c, skeleton
}

// TestSkeleton: data from a skeleton, its inputs from where they are.
func TestSkeleton(t *testing.T) {
	j, c, want := skeletonJob(t)
	ran := run(t, j, reconcile.InCommand, c, func(t *testing.T, r sandbox.Result) {
		a := read(t, r)
		if a.Spec.Template.Spec.Data != want {
			t.Errorf("data\n%s\nwant\n%s", a.Spec.Template.Spec.Data, want)
		}
		registries(t, a.Spec.Template.Spec.Data) // machinery loads it
		for name, secret := range secrets {
			if strings.Count(r.Applied, secret) != strings.Count(want, secret) || strings.Contains(r.Stderr, secret) {
				t.Errorf("%s is where it was not placed", name)
			}
		}
	})
	verdict.Proved(t, "the skeleton arrives with the inputs from the cluster, and no secret where it was not placed (%s)", ran)
}

// TestRefusedInput: a value that is not what it must be ends the Job before
// anything is applied.
func TestRefusedInput(t *testing.T) {
	j, c, _ := skeletonJob(t)
	c.Gets["tenant-a services tenant-a {.spec.clusterIP}"] = "10.95.0.10\n  evil: true"
	ran := run(t, j, reconcile.InCommand, c, func(t *testing.T, r sandbox.Result) {
		if r.Exit != 1 || r.Applied != "" || !strings.Contains(r.Stderr, "SERVICE_IP") || strings.Contains(r.Stderr, "evil") {
			t.Errorf("exit code %d, applied %q, standard error:\n%s", r.Exit, r.Applied, r.Stderr)
		}
	})
	verdict.Proved(t, "an input that is not what it must be ends the Job with exit code 1, and nothing is applied (%s)", ran)
}

// TestWithoutEmptyDir is the control: with nothing mounted at /tmp, a shell that
// keeps a document in a file cannot run the Job, and applies nothing at all. One
// that has it in a pipe, as dash 0.5.12 and bash 5.2, runs it.
func TestWithoutEmptyDir(t *testing.T) {
	sandbox.Needed(t)
	objects, err := reconcile.Manifests(reconcile.Job{Template: template(t, set)})
	if err != nil {
		t.Fatal(err)
	}
	p, files := sandbox.Manifests(t, objects.Bytes())
	p.Containers[0].VolumeMounts = nil
	var failed, applied []string
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		switch r := (sandbox.Cluster{}).Start(t, p, files, sh.Args); {
		case r.Exit == 0:
			read(t, r)
			applied = append(applied, sh.Name)
		case r.Applied != "":
			t.Errorf("exit code %d, and applied %q", r.Exit, r.Applied)
		default:
			failed = append(failed, sh.Name)
		}
	})
	for name, fails := range map[string]bool{"mksh": true, "posh": true, "zsh": true, "dash": false, "bash": false} {
		if _, err := exec.LookPath(name); err == nil && slices.Contains(failed, name) != fails {
			t.Errorf("%s: the Job fails: %t, want %t: else this test proves nothing", name, !fails, fails)
		}
	}
	verdict.Proved(t, "without the emptyDir the Job fails in %v and applies nothing there, and in %v it applies all the same", failed, applied)
}
