package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mirrorpatch/mirrorpatch/examples/controller/api/v1alpha1"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// blocks are the commands of the README, in their order, each with the output that
// is shown below it.
func blocks(t *testing.T) (found [][2]string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```\n(?:\n((?:    [^\n]*\n)+))?").FindAllStringSubmatch(string(text), -1) {
		found = append(found, [2]string{m[1], strings.TrimSpace(m[2])})
	}
	require.Len(t, found, 3)
	return found
}

// TestCommand follows the README on a new API server, with the command as a process
// of its own in the place of the Deployment's Pod; then it serves v1alpha3 alone.
func TestCommand(t *testing.T) {
	crd, err := servers.CRD()
	if err != nil {
		servers.End(t, err)
	}
	cluster, err := servers.StartCluster()
	if err != nil {
		servers.End(t, err)
	}
	t.Cleanup(cluster.Stop)
	require.NoError(t, cluster.Install(crd))
	r := &rig{cluster: cluster}
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	r.client, err = client.New(r.config(cluster.Token), client.Options{Scheme: scheme})
	require.NoError(t, err)

	readme := func(i int) {
		t.Helper()
		commands := blocks(t)[i]
		result := servers.Run(cluster.Env(cluster.Kubeconfig), nil, "sh", "-ec", commands[0])
		require.Zero(t, result.Exit, "%s: %s", commands[0], result.Stderr)
		assert.Empty(t, result.Stderr, "a warning, such as of Pod Security")
		if commands[1] != "" {
			lines := strings.Split(result.Stdout, "\n")
			assert.Equal(t, commands[1], lines[len(lines)-1])
		}
	}
	readme(0)
	stop := r.command(t)
	readme(1)
	r.create(t, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "cabpt-validating-webhook-configuration"},
		"webhooks": []any{map[string]any{"name": "vtalosconfigtemplate.cluster.x-k8s.io", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Ignore",
			"clientConfig": map[string]any{"url": "https://192.0.2.1/"}}},
	}})
	readme(2)
	stop()

	// The sample's template is the same, by Talos's own code, as the sample's spec.
	workers := template("v1beta1", "clusters", "workers", nil)
	var sample v1alpha1.RegistryMirrors
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "cache"}, &sample))
	want := mirrors.Set{Mirrors: sample.Spec.Mirrors, Config: setOfSample(password).Config}
	assert.True(t, machineOf(t, r.read(t, workers)).Equal(want))

	require.NoError(t, r.kubectl("patch", "crd", "talosconfigtemplates.bootstrap.cluster.x-k8s.io", "--type=json", "-p", `[{"op": "replace", "path": "/spec/versions/1/served", "value": false}]`))
	old := template("v1alpha3", "clusters", "old", map[string]any{"generateType": "worker"})
	eventually(t, func() error { // the server takes its time to forget a version
		if err := r.kubectl("get", "--raw", "/apis/bootstrap.cluster.x-k8s.io/v1beta1"); err == nil {
			return fmt.Errorf("v1beta1 is still served")
		}
		return nil
	})
	r.create(t, old)
	stop = r.command(t)
	r.has(t, old, want)
	stop()
	verdict.Proved(t, "the README's commands do what it says, and v1alpha3 alone is enough")
}

// command runs the command as the ServiceAccount, waits until it is ready, and
// returns what ends it.
func (r *rig) command(t *testing.T) (stop func()) {
	t.Helper()
	kubeconfig, err := r.cluster.AccountKubeconfig("mirrorpatch-system", "mirrorpatch-controller")
	require.NoError(t, err)
	ports, err := servers.FreePorts(1)
	require.NoError(t, err)
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "--health-probe-bind-address="+address)
	cmd.Env = []string{asController + "=1", "KUBECONFIG=" + kubeconfig, "NAMESPACES=clusters"}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	require.NoError(t, cmd.Start())
	ended := false
	end := func() error {
		if ended {
			return nil
		}
		ended = true
		cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	}
	t.Cleanup(func() {
		end()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the command said:\n%s", text)
		}
	})
	for _, path := range []string{"/healthz", "/readyz"} {
		eventually(t, func() error {
			response, err := http.Get("http://" + address + path)
			if err != nil {
				return err
			}
			response.Body.Close()
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s", path, response.Status)
			}
			return nil
		})
	}
	return func() {
		t.Helper()
		require.NoError(t, end(), "SIGTERM ends it with exit code 0")
	}
}

// TestCalls are wrong calls of the command.
func TestCalls(t *testing.T) {
	t.Setenv("NAMESPACES", "")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for want, args := range map[string][]string{
		`unknown argument "x"`: {"x"},
		"no configuration":     {"--namespaces=a"}, // of the cluster
	} {
		assert.ErrorContains(t, run(args), want)
	}
	_, err := NewManager(nil, Options{})
	assert.ErrorContains(t, err, "no namespace to work in")
}
