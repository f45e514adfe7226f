package servers

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// TestPortTaken: ports that others took since they were free cost another try,
// and the servers of another cluster are not taken for one's own.
func TestPortTaken(t *testing.T) {
	etcd, apiserver, kubectl := Path(t, "etcd"), Path(t, "kube-apiserver"), Path(t, "kubectl")
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	first, err := StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.Stop)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var etcdPort, apiserverPort int
	if _, err := fmt.Sscanf(first.etcd+" "+first.URL, "http://127.0.0.1:%d https://127.0.0.1:%d", &etcdPort, &apiserverPort); err != nil {
		t.Fatal(err)
	}

	taken := []struct{ server, port int }{
		{0, etcdPort}, {0, l.Addr().(*net.TCPAddr).Port}, // for etcd's clients: another etcd's, and what does not answer
		{1, l.Addr().(*net.TCPAddr).Port}, // for its peers
		{2, apiserverPort},                // for the API server
	}
	tries := 0
	second, err := startCluster(etcd, apiserver, kubectl, nil, func(n int) ([]int, error) {
		ports, err := FreePorts(n)
		if tries < len(taken) {
			ports[taken[tries].server] = taken[tries].port
		}
		tries++
		return ports, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	if tries != len(taken)+1 {
		t.Errorf("%d tries, want %d", tries, len(taken)+1)
	}
	r := second.Kubectl(second.Kubeconfig, nil, "create", "namespace", "of-the-second")
	if r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	if r := first.Kubectl(first.Kubeconfig, nil, "get", "namespace", "of-the-second"); r.Exit != 1 || !strings.Contains(r.Stderr, "(NotFound)") {
		t.Errorf("the first cluster: exit code %d, %s%s", r.Exit, r.Stdout, r.Stderr)
	}

	// It gives up, and leaves nothing behind.
	_, err = startCluster(etcd, apiserver, kubectl, nil, func(int) ([]int, error) { return []int{etcdPort, etcdPort, etcdPort}, nil })
	if err == nil || !PortTaken(err) {
		t.Errorf("error %v, want one of a port that is taken", err)
	}
	if found, err := os.ReadDir(temporary); err != nil || len(found) != 2 {
		t.Errorf("%v, %v; want the folders of two clusters", found, err)
	}
	verdict.Proved(t, "a cluster starts with the fifth set of ports when one of each set before is taken, and shares nothing with the cluster that took two of them")
}

// TestCluster: the flags of the caller win, and a token is the right of its
// owner alone.
func TestCluster(t *testing.T) {
	c, err := StartCluster("--runtime-config=autoscaling/v2=false")
	if err != nil {
		End(t, err)
	}
	t.Cleanup(c.Stop)
	if r := c.Kubectl(c.Kubeconfig, nil, "api-versions"); r.Exit != 0 || strings.Contains(r.Stdout, "autoscaling/v2") || !strings.Contains(r.Stdout, "autoscaling/v1") {
		t.Errorf("exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	if r := c.Kubectl(c.Kubeconfig, nil, "create", "serviceaccount", "a", "-n", "default"); r.Exit != 0 {
		t.Fatal(r.Stderr)
	}
	token, err := c.AccountToken("default", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		token string
		want  int
	}{{c.Token, http.StatusOK}, {token, http.StatusForbidden}, {"another", http.StatusUnauthorized}} {
		response, err := c.Client(tt.token).Get(c.URL + "/api/v1/secrets")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != tt.want {
			t.Errorf("status %s, want %d", response.Status, tt.want)
		}
	}
	file, err := c.AccountKubeconfig("default", "a")
	if err != nil {
		t.Fatal(err)
	}
	if r := c.Kubectl(file, nil, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"); r.Stdout != "system:serviceaccount:default:a" {
		t.Errorf("exit code %d: %s%s", r.Exit, r.Stdout, r.Stderr)
	}
	if _, err := c.AccountToken("default", "b"); err == nil || !strings.Contains(err.Error(), "ServiceAccount default/b: ") {
		t.Errorf("error %v", err)
	}
	verdict.Proved(t, "a flag of the caller switches an API off; the administrator, a ServiceAccount and nobody are told apart")
}

func TestRun(t *testing.T) {
	env := []string{"PATH=/usr/bin:/bin", "A=b"}
	for _, tt := range []struct {
		name     string
		patience time.Duration
		command  []string
		want     Result
	}{
		{"output", Patience, []string{"sh", "-c", "cat; echo $A; echo err >&2; exit 3"}, Result{"in\nb\n", "err\n", 3}},
		{"killed", Patience, []string{"sh", "-c", "echo err >&2; kill -9 $$"}, Result{"", "err\n\nsignal: killed", -1}},
		{"not there", Patience, []string{"/no/such/program"}, Result{"", "fork/exec /no/such/program: no such file or directory", -1}},
		{"endless", time.Millisecond, []string{"sh", "-c", "exec sleep 1000"}, Result{"", "sh -c did not end within 1ms", -1}},
		{"asked to end", 200 * time.Millisecond, []string{"sh", "-c", "trap 'echo asked; kill $!; exit 3' TERM; sleep 1000 & wait"}, Result{"asked\n", "sh -c did not end within 200ms", -1}},
		{"a child holds the pipes", time.Millisecond, []string{"sh", "-c", "sleep 3; exit 0"}, Result{"", "sh -c did not end within 1ms", -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(tt.patience, time.Second, env, []byte("in\n"), tt.command[0], tt.command[1:]...); got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
		})
	}
	verdict.Proved(t, "the output and the exit code of a program arrive, and why it has none: killed, not there, did not end")
}

func TestComplaints(t *testing.T) {
	const waits = "I1130 19:04:56.012345   12345 request.go:752] Waited for 1.2s due to client-side throttling, not priority and fairness, request: GET:https://127.0.0.1:1/api\n"
	for _, tt := range []struct{ stderr, want string }{
		{"", ""},
		{waits, ""},
		{waits + "Warning: the Pod would violate\n" + waits, "Warning: the Pod would violate\n"},
		{"E1130 19:04:56.012345   12345 memcache.go:265] no list\n", "E1130 19:04:56.012345   12345 memcache.go:265] no list\n"},
		{"x " + waits + "last", "x " + waits + "last"},
	} {
		if got := (Result{Stderr: tt.stderr}).Complaints(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.stderr, got, tt.want)
		}
	}
	verdict.Proved(t, "that kubectl waits is no complaint, and warnings and errors are")
}

func TestCRD(t *testing.T) {
	beside := t.TempDir()
	write := func(folder, text string) string {
		t.Helper()
		dir := filepath.Join(beside, folder, "corpus")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "talosconfigtemplates.yaml")
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	if file, err := crd("", beside); err == nil || !strings.HasPrefix(err.Error(), "MIRRORPATCH_CRD does not name") {
		t.Errorf("none: %q, %v", file, err)
	}
	a := write("a", "x")
	write("b", "x")
	if file, err := crd("", beside); file != a || err != nil {
		t.Errorf("two that are the same: %q, %v", file, err)
	}
	c := write("c", "y")
	if file, err := crd("", beside); err == nil || !strings.Contains(err.Error(), "these differ") || !strings.Contains(err.Error(), c) {
		t.Errorf("one differs: %q, %v", file, err)
	}
	if file, err := crd(c, beside); file != c || err != nil {
		t.Errorf("named: %q, %v", file, err)
	}
	for _, named := range []string{c + "x", beside} {
		if file, err := crd(named, beside); err == nil || !strings.HasPrefix(err.Error(), "MIRRORPATCH_CRD: ") {
			t.Errorf("named, no file: %q, %v", file, err)
		}
	}
	verdict.Proved(t, "the CRD is the file that was named, else the one beside the tree; none, and two that differ, are errors")
}

// TestVersions: the programs are of the versions that the go.mod files name.
func TestVersions(t *testing.T) {
	for _, tt := range []struct{ program, file, module string }{
		{"containerd", "../go.mod", "github.com/containerd/containerd/v2"},
		{"ctr", "../go.mod", "github.com/containerd/containerd/v2"},
		{"kubectl", "kubernetes.mod", "k8s.io/kubernetes"},
		{"kube-apiserver", "kubernetes.mod", "k8s.io/kubernetes"},
		{"kube-apiserver", "../go.mod", "k8s.io/kubernetes"},
	} {
		text, err := os.ReadFile(tt.file)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`(?m)^(?:require)?\s*` + regexp.QuoteMeta(tt.module) + ` (v\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s has no %s", tt.file, tt.module)
		}
		for _, p := range Programs {
			if p.Name == tt.program && p.Version != string(found[1]) {
				t.Errorf("%s is %s, and %s has %s", p.Name, p.Version, tt.file, found[1])
			}
		}
	}
	verdict.Proved(t, "the programs have the versions of the go.mod files")
}
