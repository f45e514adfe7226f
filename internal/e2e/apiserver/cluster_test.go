// Package apiserver_test gives what package reconcile prints to a real API
// server, with the TalosConfigTemplate's own CRD, and runs the script of the
// Job with the real kubectl and the rights of the Job's ServiceAccount.
package apiserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
)

// cluster is an API server with an etcd, for all tests.
type cluster struct {
	dir       string
	kubectl   string
	url       string
	ca        string // file
	http      *http.Transport
	admin     string // kubeconfig
	processes []*servers.Process
}

var (
	once    sync.Once
	shared  *cluster
	problem error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.stop()
	}
	os.Exit(code)
}

// start returns the cluster, with the CRD. It ends the test where a part of it
// cannot be had.
func start(t *testing.T) *cluster {
	t.Helper()
	etcd, apiserver, kubectl := servers.Path(t, "etcd"), servers.Path(t, "kube-apiserver"), servers.Path(t, "kubectl")
	crd := crdFile(t)
	once.Do(func() { shared, problem = launch(etcd, apiserver, kubectl, crd) })
	if problem != nil {
		t.Fatal(problem)
	}
	return shared
}

// crdFile is the CRD of TalosConfigTemplate, which the bootstrap provider for
// Talos publishes: the file that MIRRORPATCH_CRD names, else one beside this tree.
func crdFile(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("MIRRORPATCH_CRD"); file != "" {
		if _, err := os.Stat(file); err != nil {
			t.Fatalf("MIRRORPATCH_CRD: %v", err)
		}
		return file
	}
	_, here, _, _ := runtime.Caller(0)
	found, err := filepath.Glob(filepath.Join(filepath.Dir(here), "../../../../*/corpus/talosconfigtemplates.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		servers.Missing(t, "MIRRORPATCH_CRD does not name the CRD of TalosConfigTemplate, a file that the Cluster API bootstrap provider for Talos publishes")
	}
	return found[0]
}

const adminToken = "made-up-admin-token"

func launch(etcd, apiserver, kubectl, crd string) (*cluster, error) {
	dir, err := os.MkdirTemp("", "apiserver-")
	if err != nil {
		return nil, err
	}
	c := &cluster{dir: dir, kubectl: kubectl}
	if err := c.launch(etcd, apiserver, crd); err != nil {
		c.stop()
		return nil, err
	}
	return c, nil
}

func (c *cluster) launch(etcd, apiserver, crd string) error {
	ports, err := servers.FreePorts(3)
	if err != nil {
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	c.url = fmt.Sprintf("https://127.0.0.1:%d", ports[2])

	p, err := servers.Start("etcd", c.file("etcd.log"), exec.Command(etcd, "--data-dir", c.file("etcd"), "--name", "e2e",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "e2e="+peer,
		"--unsafe-no-fsync"), healthy(client+"/health", http.DefaultTransport, ""))
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	bin := c.file("bin")
	if err := errors.Join(
		os.WriteFile(c.file("account.key"), private, 0o600),
		os.WriteFile(c.file("tokens"), []byte(adminToken+`,admin,admin,"system:masters"`+"\n"), 0o600),
		os.Mkdir(bin, 0o755),
		os.Symlink(c.kubectl, filepath.Join(bin, "kubectl")),
	); err != nil {
		return err
	}
	c.ca = c.file("certificates/apiserver.crt") // the server makes it, with its CA in it
	p, err = servers.Start("kube-apiserver", c.file("kube-apiserver.log"), exec.Command(apiserver,
		"--etcd-servers="+client,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]), "--endpoint-reconciler-type=none",
		"--cert-dir="+filepath.Dir(c.ca),
		"--service-account-key-file="+c.file("account.key"), "--service-account-signing-key-file="+c.file("account.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
		"--token-auth-file="+c.file("tokens"), "--authorization-mode=RBAC",
	), func(ctx context.Context) error {
		if c.http, err = trusting(c.ca); err != nil {
			return err
		}
		return healthy(c.url+"/readyz", c.http, adminToken)(ctx)
	})
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)

	if c.admin, err = c.kubeconfig("admin", adminToken); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"create", "-f", crd},
		{"wait", "--for=condition=Established", "--timeout=60s", "-f", crd},
	} {
		if r := c.run(c.admin, nil, args...); r.exit != 0 {
			return fmt.Errorf("kubectl %q: %s", args, r.stderr)
		}
	}
	return nil
}

func (c *cluster) stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
	os.RemoveAll(c.dir)
}

func (c *cluster) file(name string) string { return filepath.Join(c.dir, name) }

// trusting trusts the certificates of a file and no other.
func trusting(file string) (*http.Transport, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, nil
}

// healthy asks a server's own check of itself.
func healthy(url string, transport http.RoundTripper, token string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := transport.RoundTrip(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}

// kubeconfig writes a configuration of kubectl. Its namespace is none that a test uses.
func (c *cluster) kubeconfig(name, token string) (string, error) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": []any{map[string]any{"name": "e2e", "cluster": map[string]any{"server": c.url, "certificate-authority": c.ca}}},
		"users":    []any{map[string]any{"name": "e2e", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "e2e", "context": map[string]any{"cluster": "e2e", "user": "e2e", "namespace": "nowhere"}}},
	})
	if err != nil {
		return "", err
	}
	file := c.file("kubeconfig-" + name)
	return file, os.WriteFile(file, text, 0o600)
}

// result is one run of a command.
type result struct {
	stdout, stderr string
	exit           int
}

// env is the environment of kubectl: nothing of the machine but programs.
func (c *cluster) env(kubeconfig string) []string {
	return []string{"PATH=" + c.file("bin") + ":/usr/bin:/bin", "HOME=" + c.file("home"), "KUBECONFIG=" + kubeconfig}
}

func execute(cmd *exec.Cmd) (r result) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	r = result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		r.stderr, r.exit = err.Error(), -1
	}
	return r
}

// run runs kubectl.
func (c *cluster) run(kubeconfig string, stdin []byte, args ...string) result {
	cmd := exec.Command(c.kubectl, args...)
	cmd.Env, cmd.Stdin = c.env(kubeconfig), bytes.NewReader(stdin)
	return execute(cmd)
}

// must runs kubectl as the administrator. It wants no warning: there the
// server says, for one, that a Pod would not be admitted.
func (c *cluster) must(t *testing.T, stdin []byte, args ...string) string {
	t.Helper()
	r := c.run(c.admin, stdin, args...)
	if r.exit != 0 || r.stderr != "" {
		t.Fatalf("kubectl %q: exit code %d, %s", args, r.exit, r.stderr)
	}
	return r.stdout
}

// get reads an object.
func (c *cluster) get(t *testing.T, into any, args ...string) {
	t.Helper()
	text := c.must(t, nil, append(append([]string{"get"}, args...), "-o", "json")...)
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

// namespace makes one that enforces the restricted level of Pod Security, and
// warns of it where no Pod is made yet.
func (c *cluster) namespace(t *testing.T, name string) {
	t.Helper()
	if strings.Contains(c.must(t, nil, "get", "namespaces", "-o", "name"), "namespace/"+name+"\n") {
		return
	}
	c.must(t, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+name+`","labels":{`+
		`"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`), "create", "-f", "-")
}

// account returns a kubeconfig of a ServiceAccount, by a token that the server made for it.
func (c *cluster) account(t *testing.T, namespace, name string) string {
	t.Helper()
	token := strings.TrimSpace(c.must(t, nil, "create", "token", name, "-n", namespace))
	file, err := c.kubeconfig(namespace+"-"+name, token)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// proved says what a test showed, unless it failed.
func proved(t *testing.T, format string, args ...any) {
	t.Helper()
	if !t.Failed() {
		t.Logf(format, args...)
	}
}
