package servers

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
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Cluster is a kube-apiserver with an etcd, both on loopback. No controller
// runs in it, and no kubelet: what is stored is what was sent, by the rules of
// the API server alone.
type Cluster struct {
	URL        string // https://127.0.0.1:PORT
	CAFile     string // PEM certificates that the server is to be trusted by
	Token      string // a bearer token of the administrator, of the group system:masters
	Kubeconfig string // a file, for the administrator

	etcd      string // its URL
	dir       string
	kubectl   string
	transport *http.Transport
	processes []*Process
}

// adminToken is worth nothing but on loopback, as long as the tests run.
const adminToken = "made-up-admin-token"

// StartCluster starts an etcd and a kube-apiserver with RBAC and a token for
// the administrator, and waits until both are ready. More flags of
// kube-apiserver come after its own, so that they win: for one,
// "--feature-gates=NAME=true". A program that is not there is a [MissingError]:
// [End] ends a test with it.
//
// The caller stops the cluster: with t.Cleanup, or in TestMain where the tests
// of a package share one. On Linux it ends with the test binary in any case, but
// its folder stays then.
func StartCluster(flags ...string) (*Cluster, error) {
	etcd, err := find("etcd")
	apiserver, err2 := find("kube-apiserver")
	kubectl, err3 := find("kubectl")
	if err := errors.Join(err, err2, err3); err != nil {
		return nil, err
	}
	return startCluster(etcd, apiserver, kubectl, flags, FreePorts)
}

// startCluster starts anew, with other ports, when a port that was free is
// another's by the time a server listens.
func startCluster(etcd, apiserver, kubectl string, flags []string, freePorts func(int) ([]int, error)) (*Cluster, error) {
	for try := 1; ; try++ {
		dir, err := os.MkdirTemp("", "apiserver-")
		if err != nil {
			return nil, err
		}
		c := &Cluster{Token: adminToken, dir: dir, kubectl: kubectl}
		if err = c.start(etcd, apiserver, flags, freePorts); err == nil {
			return c, nil
		}
		c.Stop()
		if try == 5 || !PortTaken(err) {
			return nil, err
		}
	}
}

func (c *Cluster) start(etcd, apiserver string, flags []string, freePorts func(int) ([]int, error)) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	peer := fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	c.etcd = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	c.URL = fmt.Sprintf("https://127.0.0.1:%d", ports[2])

	name := filepath.Base(c.dir)
	p, err := Start("etcd", c.file("etcd.log"), exec.Command(etcd, "--data-dir", c.file("etcd"), "--name", name,
		"--listen-client-urls", c.etcd, "--advertise-client-urls", c.etcd,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", name+"="+peer,
		"--unsafe-no-fsync"), func(ctx context.Context) error { return etcdIs(ctx, c.etcd, name) })
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)

	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	private := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	if err := errors.Join(
		os.WriteFile(c.file("account.key"), private, 0o600),
		os.WriteFile(c.file("tokens"), []byte(c.Token+`,admin,admin,"system:masters"`+"\n"), 0o600),
		os.Mkdir(c.file("bin"), 0o755),
		os.Symlink(c.kubectl, c.file("bin/kubectl")),
	); err != nil {
		return err
	}
	c.CAFile = c.file("certificates/apiserver.crt") // the server makes it, with its CA in it
	p, err = Start("kube-apiserver", c.file("kube-apiserver.log"), exec.Command(apiserver, append([]string{
		"--etcd-servers=" + c.etcd,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[2]), "--endpoint-reconciler-type=none",
		"--cert-dir=" + filepath.Dir(c.CAFile),
		"--service-account-key-file=" + c.file("account.key"), "--service-account-signing-key-file=" + c.file("account.key"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
		"--token-auth-file=" + c.file("tokens"), "--authorization-mode=RBAC",
	}, flags...)...), func(ctx context.Context) error {
		if c.transport, err = trusting(c.CAFile); err != nil {
			return err
		}
		_, err := ask(ctx, c.Client(c.Token), http.MethodGet, c.URL+"/readyz", "")
		return err
	})
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	c.Kubeconfig, err = c.WriteKubeconfig("admin", c.Token)
	return err
}

// Stop ends the servers and removes the cluster's folder.
func (c *Cluster) Stop() {
	for i := len(c.processes) - 1; i >= 0; i-- {
		c.processes[i].Stop()
	}
	os.RemoveAll(c.dir)
}

func (c *Cluster) file(name string) string { return filepath.Join(c.dir, name) }

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

// etcdIs asks for an etcd that is ready and has the name. A port may be that of
// another cluster's by now.
func etcdIs(ctx context.Context, url, name string) error {
	if _, err := ask(ctx, http.DefaultClient, http.MethodGet, url+"/health", ""); err != nil {
		return err
	}
	body, err := ask(ctx, http.DefaultClient, http.MethodPost, url+"/v3/cluster/member/list", "{}")
	if err != nil {
		return err
	}
	if !bytes.Contains(body, []byte(`"`+name+`"`)) {
		return fmt.Errorf("%s is another etcd's: %s", url, body)
	}
	return nil
}

func ask(ctx context.Context, client *http.Client, method, url, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %s: %.1000q", method, url, response.Status, text)
	}
	return text, err
}

// Client returns a client that trusts the server and sends the token, so that
// it speaks for whom the token is.
func (c *Cluster) Client(token string) *http.Client {
	return &http.Client{Transport: bearer{c.transport, token}, Timeout: Patience}
}

type bearer struct {
	transport *http.Transport
	token     string
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+b.token)
	return b.transport.RoundTrip(request)
}

// WriteKubeconfig writes a kubeconfig for a token and returns its path: in the
// cluster's folder, by the name, which may have a slash. Its namespace is "nowhere", which is not there,
// so that nothing works that does not name its own.
func (c *Cluster) WriteKubeconfig(name, token string) (file string, err error) {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": []any{map[string]any{"name": "e2e", "cluster": map[string]any{"server": c.URL, "certificate-authority": c.CAFile}}},
		"users":    []any{map[string]any{"name": "e2e", "user": map[string]any{"token": token}}},
		"contexts": []any{map[string]any{"name": "e2e", "context": map[string]any{"cluster": "e2e", "user": "e2e", "namespace": "nowhere"}}},
	})
	if err != nil {
		return "", err
	}
	file = c.file(filepath.Join("kubeconfigs", name))
	return file, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, text, 0o600))
}

// AccountToken returns a token of a ServiceAccount that is there, made by the
// server.
func (c *Cluster) AccountToken(namespace, name string) (string, error) {
	r := c.Kubectl(c.Kubeconfig, nil, "create", "token", name, "-n", namespace)
	if r.Exit != 0 {
		return "", fmt.Errorf("ServiceAccount %s/%s: %s", namespace, name, r.Stderr)
	}
	return strings.TrimSpace(r.Stdout), nil
}

// AccountKubeconfig writes a kubeconfig for a ServiceAccount that is there and
// returns its path.
func (c *Cluster) AccountKubeconfig(namespace, name string) (file string, err error) {
	token, err := c.AccountToken(namespace, name)
	if err != nil {
		return "", err
	}
	return c.WriteKubeconfig(namespace+"/"+name, token)
}

// Env is the environment of a program that talks to the cluster: kubectl on
// PATH, the kubeconfig, a home folder that is not there, and nothing of the
// machine's own.
func (c *Cluster) Env(kubeconfig string) []string {
	return []string{"PATH=" + c.file("bin") + ":/usr/bin:/bin", "HOME=" + c.file("home"), "KUBECONFIG=" + kubeconfig}
}

// Kubectl runs kubectl with a kubeconfig and standard input.
func (c *Cluster) Kubectl(kubeconfig string, stdin []byte, args ...string) Result {
	return Run(c.Env(kubeconfig), stdin, c.kubectl, args...)
}

// Install creates the CustomResourceDefinitions of a file and waits until the
// server serves them.
func (c *Cluster) Install(file string) error {
	for _, args := range [][]string{
		{"create", "-f", file},
		{"wait", "--for=condition=Established", "--timeout=" + Patience.String(), "-f", file},
	} {
		if r := c.Kubectl(c.Kubeconfig, nil, args...); r.Exit != 0 {
			return fmt.Errorf("kubectl %q: %s", args, r.Stderr)
		}
	}
	return nil
}
