// Package apiserver_test gives what package reconcile prints to a real API
// server, with the TalosConfigTemplate's own CRD, and runs the script of the
// Job with the real kubectl and the rights of the Job's ServiceAccount.
package apiserver_test

import (
	"encoding/json"
	"os"
	"sync"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// cluster is an API server with the CRD, for all tests.
type cluster struct {
	*servers.Cluster
}

var shared struct {
	once    sync.Once
	cluster cluster
	crd     string
	err     error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.cluster.Cluster != nil {
		shared.cluster.Stop()
	}
	os.Exit(code)
}

// start returns the cluster. It ends the test where a part of it cannot be had.
// The tests run beside each other, each in namespaces of its own.
func start(t *testing.T) cluster {
	t.Helper()
	t.Parallel()
	shared.once.Do(func() {
		if shared.crd, shared.err = servers.CRD(); shared.err != nil {
			return
		}
		if shared.cluster.Cluster, shared.err = servers.StartCluster(); shared.err != nil {
			return
		}
		shared.err = shared.cluster.Install(shared.crd)
	})
	if shared.err != nil {
		servers.End(t, shared.err)
	}
	t.Logf("the CRD is %s", shared.crd)
	return shared.cluster
}

// must runs kubectl as the administrator. It wants no warning: there the
// server says, for one, that a Pod would not be admitted.
func (c cluster) must(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	r := c.Kubectl(c.Kubeconfig, stdin, args...)
	if r.Exit != 0 || r.Complaints() != "" {
		t.Fatalf("kubectl %q: exit code %d, %s", args, r.Exit, r.Stderr)
	}
	return r.Stdout
}

// get reads an object.
func (c cluster) get(t *testing.T, into any, args ...string) {
	t.Helper()
	text := c.must(t, nil, append(append([]string{"get"}, args...), "-o", "json")...)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// namespace makes one that enforces the restricted level of Pod Security, and
// warns of it where no Pod is made yet. One that is there is made so.
func (c cluster) namespace(t *testing.T, name string) {
	t.Helper()
	c.must(t, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`","labels":{`+
		`"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`), "apply", "--server-side", "-f", "-")
}

// account returns a kubeconfig of a ServiceAccount, by a token that the server made for it.
func (c cluster) account(t *testing.T, namespace, name string) string {
	t.Helper()
	file, err := c.AccountKubeconfig(namespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
