// Package airgap_test gives the manifests of examples/airgap to a real API server.
package airgap_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// manifests are the objects for caches of seven upstreams.
func manifests(t *testing.T, args ...string) string {
	t.Helper()
	const airgap = "github.com/mirrorpatch/mirrorpatch/examples/airgap"
	out := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("go", append([]string{"run", airgap, "--out", out, "-f", "../../../examples/airgap/testdata/images.txt"}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	text, err := os.ReadFile(filepath.Join(out, "caches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// command is that of the README by which the caches go on without upstream.
func command(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../../examples/airgap/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```console\n")
	line, _, end := strings.Cut(strings.TrimSpace(rest), "\n")
	args := strings.Fields(line)
	if !ok || !end || args[0] != "kubectl" {
		t.Fatalf("the README has the command %q", line)
	}
	for i, arg := range args {
		args[i] = strings.Trim(arg, "'")
	}
	return args[1:]
}

// TestManifests: the server takes every object, without a warning, and again
// with nothing to change, and admits a Pod of each Deployment under the
// restricted level. A Pod that breaks it is refused. The README's command makes each
// Deployment one without upstream. (A CiliumNetworkPolicy
// needs Cilium's CRD, and is left out.)
func TestManifests(t *testing.T) {
	c, err := servers.StartCluster()
	if err != nil {
		servers.End(t, err)
	}
	t.Cleanup(c.Stop)
	kubectl := func(stdin string, args ...string) (exit int, stdout, stderr string) {
		r := c.Kubectl(c.Kubeconfig, []byte(stdin), args...)
		return r.Exit, r.Stdout, r.Stderr
	}
	must := func(stdin string, args ...string) string {
		t.Helper()
		r := c.Kubectl(c.Kubeconfig, []byte(stdin), args...)
		if r.Exit != 0 || r.Complaints() != "" {
			t.Fatalf("kubectl %q: exit code %d, %s", args, r.Exit, r.Stderr)
		}
		return r.Stdout
	}

	accepted, admitted := 0, 0
	for _, way := range []struct {
		namespace string
		args      []string
	}{
		{"pull-through-cache", []string{"--cache", "http://192.0.2.10"}},
		{"caches", []string{"--cache", "https://cache.example.com", "--tls-secret", "cache-tls", "--service", "LoadBalancer", "--service-annotation", "metallb.io/allow-shared-ip=caches", "--first-port", "5001", "--namespace", "caches"}},
	} {
		text := manifests(t, way.args...)
		if way.namespace != "pull-through-cache" { // which the manifests have
			must("", "create", "namespace", way.namespace)
			must("", "label", "namespace", way.namespace, "pod-security.kubernetes.io/enforce=restricted")
		}
		accepted += strings.Count(must(text, "apply", "-f", "-"), " created\n")
		if again := must(text, "apply", "-f", "-"); strings.Count(again, " unchanged\n") != strings.Count(again, "\n") {
			t.Errorf("applied again: %s", again)
		}
		// No controller runs here that would make it, or the Pods.
		if exit, _, stderr := kubectl("", "create", "serviceaccount", "default", "-n", way.namespace); exit != 0 && !strings.Contains(stderr, "already exists") {
			t.Fatal(stderr)
		}
		for _, document := range strings.Split(text, "\n---\n") {
			var o struct {
				Kind string
				Spec struct{ Template map[string]any }
			}
			if err := yaml.Unmarshal([]byte(document), &o); err != nil {
				t.Fatal(err)
			}
			if o.Kind != "Deployment" {
				continue
			}
			pod := o.Spec.Template
			pod["apiVersion"], pod["kind"] = "v1", "Pod"
			pod["metadata"].(map[string]any)["generateName"] = "trial-"
			trial := func() string {
				t.Helper()
				text, err := json.Marshal(pod)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			must(trial(), "create", "--dry-run=server", "-n", way.namespace, "-f", "-")
			admitted++
			delete(pod["spec"].(map[string]any)["securityContext"].(map[string]any), "runAsNonRoot")
			if exit, _, stderr := kubectl(trial(), "create", "--dry-run=server", "-n", way.namespace, "-f", "-"); exit == 0 || !strings.Contains(stderr, `violates PodSecurity "restricted`) {
				t.Errorf("a Pod that may be root: exit code %d, %s", exit, stderr)
			}
		}
	}
	must("", command(t)...)
	const variables = `{range .items[*].spec.template.spec.containers[*].env[*]}{.name}={.value}{"\n"}{end}`
	env := must("", "get", "deployments", "-n", "pull-through-cache", "-o", "jsonpath="+variables)
	if strings.Contains(env, "REGISTRY_PROXY_REMOTEURL") || strings.Count(env, `REGISTRY_STORAGE_MAINTENANCE_READONLY={"enabled":true}`+"\n") != 7 {
		t.Errorf("after the README's command: %s", env)
	}
	if accepted != 1+2*7*3 || admitted != 2*7 {
		t.Errorf("%d objects created, %d Pods admitted", accepted, admitted)
	}
	verdict.Proved(t, "the API server takes %d objects of examples/airgap, and admits %d Pods under the restricted level", accepted, admitted)
}
