package apiserver_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerconfig"
)

// admit creates the Pod of the Job's template, on trial: the server does
// everything but keep it. No controller runs here that would.
func (c cluster) admit(t *testing.T, j job) {
	t.Helper()
	pod := map[string]any{}
	if err := json.Unmarshal(j.Spec.Template, &pod); err != nil {
		t.Fatal(err)
	}
	c.must(t, podOf(t, pod), "create", "--dry-run=server", "-n", j.Metadata.Namespace, "-f", "-")
}

func podOf(t *testing.T, template map[string]any) []byte {
	t.Helper()
	template["apiVersion"], template["kind"] = "v1", "Pod"
	template["metadata"].(map[string]any)["generateName"] = "trial-"
	delete(template["metadata"].(map[string]any), "creationTimestamp")
	text, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// limits are Jobs with every option, each as long, as large or as small as
// Manifests takes it, by three ways of the script.
func limits(t *testing.T) map[string]reconcile.Job {
	t.Helper()
	label := func(c string) string { return strings.Repeat(c, 63) }
	attempts := math.MaxInt32
	labels := map[string]string{label("l"): label("v"), label("p") + ".example.com/" + label("l"): "", "app.kubernetes.io/managed-by": "me"}
	annotations := map[string]string{"example.com/note": hostile, "example.com/empty": "", label("a"): "yes"}
	j := reconcile.Job{
		Template: simple(t, label("t")).Template,
		// With its namespace and a dot it is the name of a Role, at most 253 bytes.
		Name:      strings.Join([]string{label("a"), label("b"), label("c")[:61]}, "."),
		Namespace: label("n"),
		Image:     "[fd00::1]:5000/" + strings.Repeat("p/", 100) + "kubectl:v1@sha256:" + strings.Repeat("0", 64),
		Labels:    labels, Annotations: annotations, RunID: hostile,
		TTL: math.MaxInt32 * time.Second, Deadline: math.MaxInt32 * time.Second, BackoffLimit: &attempts,
	}
	j.Template.Name = strings.Join([]string{label("a"), label("b"), label("c"), label("d")[:61]}, ".")
	j.Template.Labels, j.Template.Annotations = labels, annotations

	none := 0
	mounted := j
	mounted.TTL, mounted.Deadline, mounted.BackoffLimit, mounted.Image = reconcile.DeleteAtOnce, time.Second, &none, "i"
	mounted.Template.Annotations = map[string]string{"example.com/much": strings.Repeat("a", 140_000)}
	sensitive := j
	sensitive.Template.Sensitive = true
	return map[string]reconcile.Job{"command": j, "mounted": mounted, "sensitive": sensitive}
}

// TestManifests gives the server every stream of manifests that the tests of
// package reconcile keep, those of limits, and the Secret of package dockerconfig.
func TestManifests(t *testing.T) {
	c := start(t)
	golden, err := filepath.Glob("../../../configpatch/reconcile/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	streams := map[string]string{}
	for _, file := range golden {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// In these files something else stands for the hash and the script.
		streams[filepath.Base(file)] = strings.NewReplacer("(the hash)", "0123456789abcdef", "(the script)", "exit 0").Replace(string(text))
	}
	secret, _, err := dockerconfig.Write(mirrors.Set{Config: map[string]mirrors.HostConfig{
		"m.example.com": {Auth: &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret(hostile)}},
	}}, dockerconfig.AsSecret("tenant-a", "pull"))
	if err != nil {
		t.Fatal(err)
	}
	streams["dockerconfig"] = string(secret["secret.yaml"])
	for name, j := range limits(t) {
		objects, err := reconcile.Manifests(j)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		streams["limits, in a "+string(objects.Transport())] = string(objects.Bytes())
	}
	if len(streams) != len(golden)+4 || len(golden) < 4 {
		t.Fatalf("%d streams of manifests", len(streams))
	}

	accepted, admitted := 0, 0
	for name, stream := range streams {
		t.Run(name, func(t *testing.T) {
			var jobs []job
			for dec := yaml.NewDecoder(strings.NewReader(stream)); ; {
				var o struct {
					Kind     string
					Metadata struct{ Name, Namespace string }
					Spec     struct {
						Template struct {
							Spec struct {
								ServiceAccountName string `yaml:"serviceAccountName"`
							}
						}
					}
				}
				if err := dec.Decode(&o); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				c.namespace(t, o.Metadata.Namespace)
				if o.Kind == "Job" {
					var j job
					j.Metadata = o.Metadata
					jobs = append(jobs, j)
					if account := o.Spec.Template.Spec.ServiceAccountName; strings.Count(stream, "kind: ServiceAccount\nmetadata:") == 0 {
						// One that is there already, as the Job says.
						c.must(t, nil, "create", "serviceaccount", account, "-n", o.Metadata.Namespace)
					}
				}
			}
			out := c.must(t, []byte(stream), "apply", "-f", "-")
			before := c.versions(t, stream)
			// kubectl says "configured" of a Secret with stringData, which the server keeps as data.
			c.must(t, []byte(stream), "apply", "-f", "-")
			if after := c.versions(t, stream); after != before {
				t.Errorf("the second time something changed: from\n%s\nto\n%s", before, after)
			}
			for _, j := range jobs {
				c.get(t, &j, "job", j.Metadata.Name, "-n", j.Metadata.Namespace)
				c.admit(t, j)
				if strings.HasPrefix(name, "limits") {
					if r := c.container(t, j).run(shellOf(t, "dash")); r.Exit != 0 || r.Complaints() != "" {
						t.Errorf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
					}
				}
			}
			accepted += strings.Count(out, "\n")
			admitted += len(jobs)
		})
	}
	verdict.Proved(t, "%d objects of %d streams are accepted without a warning, twice, and the Pods of %d Jobs are admitted where the restricted level is enforced: those of the golden files, where a made-up hash and the script exit 0 stand for theirs, and those with every option at its limit, whose scripts run", accepted, len(streams), admitted)
}

// versions are those that the server has of the objects of a stream.
func (c cluster) versions(t *testing.T, stream string) string {
	t.Helper()
	return c.must(t, []byte(stream), "get", "-f", "-", "-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}{.kind} {.metadata.resourceVersion}`)
}

// TestRestricted: the namespaces of these tests do enforce the restricted
// level. Each setting of the Pod is needed to be admitted.
func TestRestricted(t *testing.T) {
	c := start(t)
	const namespace = "restricted"
	c.namespace(t, namespace)
	_, made := c.deploy(t, simple(t, namespace))
	settings := []string{"spec.securityContext.runAsNonRoot", "spec.securityContext.seccompProfile",
		"spec.containers.0.securityContext.allowPrivilegeEscalation", "spec.containers.0.securityContext.capabilities"}
	for _, setting := range settings {
		t.Run(setting, func(t *testing.T) {
			pod := map[string]any{}
			if err := json.Unmarshal(made.Spec.Template, &pod); err != nil {
				t.Fatal(err)
			}
			at, path := pod, strings.Split(setting, ".")
			for i, step := range path[:len(path)-1] {
				switch next := at[step].(type) {
				case map[string]any:
					at = next
				case []any:
					at = next[0].(map[string]any)
					path[i+1] = ""
				default:
					if step != "" {
						t.Fatalf("the Pod has no %s", setting)
					}
				}
			}
			last := path[len(path)-1]
			if _, found := at[last]; !found {
				t.Fatalf("the Pod has no %s", setting)
			}
			delete(at, last)
			r := c.Kubectl(c.Kubeconfig, podOf(t, pod), "create", "--dry-run=server", "-n", namespace, "-f", "-")
			if r.Exit == 0 || !strings.Contains(r.Stderr, `violates PodSecurity "restricted:latest"`) {
				t.Fatalf("exit code %d, standard error: %s", r.Exit, r.Stderr)
			}
		})
	}
	verdict.Proved(t, "the Pod is refused by the restricted level without any one of %d settings that it has", len(settings))
}
