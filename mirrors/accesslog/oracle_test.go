package accesslog_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/mirrors/accesslog"
)

// registry is a distribution that runs, with what it has written so far.
type registry struct {
	addr           string
	stdout, stderr string // files
}

// serve starts docker-registry of Debian's package of that name.
func serve(t *testing.T, formatter, more string) registry {
	t.Helper()
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		if os.Getenv("MIRRORPATCH_REQUIRE_SERVERS") == "1" {
			t.Fatal("docker-registry is not on PATH")
		}
		t.Skip("docker-registry is not on PATH (Debian's package docker-registry)")
	}
	for range 5 {
		if r, ok := start(t, program, formatter, more); ok {
			return r
		}
	}
	t.Fatal("docker-registry ended five times: somebody took its port, or its log says why")
	return registry{}
}

// start is false when the registry ends before it listens: its port was free a moment
// before, and may have been taken.
func start(t *testing.T, program, formatter, more string) (registry, bool) {
	t.Helper()
	dir := t.TempDir()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := registry{addr: free.Addr().String(), stdout: filepath.Join(dir, "stdout"), stderr: filepath.Join(dir, "stderr")}
	require.NoError(t, free.Close())
	config := filepath.Join(dir, "config.yml")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `version: 0.1
log: {level: info, formatter: %s}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: %q, secret: not-a-secret}
%s`, formatter, filepath.Join(dir, "data"), r.addr, more), 0o600))

	cmd := exec.Command(program, "serve", config)
	stdout, err := os.Create(r.stdout)
	require.NoError(t, err)
	stderr, err := os.Create(r.stderr)
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
		stdout.Close()
		stderr.Close()
	})
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if log, err := os.ReadFile(r.stderr); err == nil && bytes.Contains(log, []byte("listening on ")) {
			if conn, err := net.Dial("tcp", r.addr); err == nil {
				conn.Close()
				return r, true
			}
		}
		select {
		case <-ended:
			log, _ := os.ReadFile(r.stderr)
			t.Logf("docker-registry ended: %s", log)
			return registry{}, false
		default:
		}
	}
	t.Fatal("docker-registry does not listen")
	return registry{}, false
}

// logs are the two outputs, once each has the request with the given user agent.
func (r registry) logs(t *testing.T, last string) (access, own string) {
	t.Helper()
	require.Eventually(t, func() bool {
		a, err := os.ReadFile(r.stdout)
		require.NoError(t, err)
		b, err := os.ReadFile(r.stderr)
		require.NoError(t, err)
		access, own = string(a), string(b)
		return strings.Contains(access, last) && strings.Contains(own, last)
	}, 5*time.Minute, 20*time.Millisecond)
	return access, own
}

func (r registry) do(t *testing.T, method, uri, agent string, body []byte, header http.Header) *http.Response {
	t.Helper()
	if !strings.Contains(uri, "://") {
		uri = "http://" + r.addr + uri
	}
	req, err := http.NewRequest(method, uri, bytes.NewReader(body))
	require.NoError(t, err)
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("User-Agent", agent)
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

const manifestType = "application/vnd.oci.image.manifest.v1+json"

// push puts an image of one layer there, and returns the digests of both.
func (r registry) push(t *testing.T, repository, tag string) (manifest, layer string) {
	blob := func(data []byte) string {
		d := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
		at := r.do(t, "POST", "/v2/"+repository+"/blobs/uploads/", "buildkit/v0.25", nil, nil).Header.Get("Location")
		resp := r.do(t, "PUT", at+"&digest="+d, "buildkit/v0.25", data, http.Header{"Content-Type": {"application/octet-stream"}})
		require.Equal(t, 201, resp.StatusCode)
		return d
	}
	config, content := blob([]byte("{}")), bytes.Repeat([]byte("layer"), 1000)
	layer = blob(content)
	data := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":"application/vnd.oci.image.config.v1+json","size":2,"digest":%q},"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","size":%d,"digest":%q}]}`,
		manifestType, config, len(content), layer)
	resp := r.do(t, "PUT", "/v2/"+repository+"/manifests/"+tag, "buildkit/v0.25", data, http.Header{"Content-Type": {manifestType}})
	require.Equal(t, 201, resp.StatusCode)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data)), layer
}

// pull asks as containerd does.
func (r registry) pull(t *testing.T, repository, tag, query string) {
	accept := http.Header{"Accept": {manifestType}}
	resp := r.do(t, "HEAD", "/v2/"+repository+"/manifests/"+tag+query, node, nil, accept)
	if resp.StatusCode != 200 {
		return
	}
	manifest := resp.Header.Get("Docker-Content-Digest")
	r.do(t, "GET", "/v2/"+repository+"/manifests/"+manifest+query, node, nil, accept)
}

// TestDistribution pulls from a real registry and gives its logs to Served: each
// output alone, both as they mix, and one after the other.
func TestDistribution(t *testing.T) {
	for _, formatter := range []string{"text", "json", "logstash"} {
		t.Run(formatter, func(t *testing.T) {
			r := serve(t, formatter, "")
			manifest, layer := r.push(t, "siderolabs/kubelet", "v1.34.1")
			r.do(t, "GET", "/v2/", node, nil, nil)
			r.do(t, "GET", "/v2/", "kube-probe/1.34", nil, nil)
			r.pull(t, "siderolabs/kubelet", "v1.34.1", "?ns=ghcr.io")
			r.do(t, "GET", "/v2/siderolabs/kubelet/blobs/"+layer+"?ns=ghcr.io", node, nil, nil)
			r.do(t, "GET", "/v2/siderolabs/kubelet/blobs/"+layer+"?ns=ghcr.io", node, nil, http.Header{"Range": {"bytes=10-"}})
			r.do(t, "GET", "/v2/siderolabs/kubelet/manifests/v1.34.1", "curl/8.5.0", nil, http.Header{"Accept": {manifestType}})
			r.do(t, "GET", "/v2/siderolabs/kubelet/manifests/"+manifest, node, nil, http.Header{"Accept": {manifestType}, "If-None-Match": {`"` + manifest + `"`}, "X-Forwarded-For": {"192.0.2.99"}})
			r.pull(t, "siderolabs/etcd", "v9", "?ns=ghcr.io")
			r.do(t, "GET", "/v2/siderolabs/none/manifests/v1", "ev\"il \\ é \t GET /v2/siderolabs/talos/manifests/v1 HTTP/1.1\" 200", nil, nil)
			r.do(t, "GET", "/v2/", "the-last/1", nil, nil)
			access, own := r.logs(t, "the-last/1")

			for name, log := range map[string]string{
				"access": access, "own": own, "access, own": access + own, "own, access": own + access,
				"own and access, line by line": interleave(own, access),
				"with prefixes":                prefixed(interleave(own, access)),
			} {
				ask := func(image string) *accesslog.Report {
					got, err := accesslog.Served(strings.NewReader(log), image)
					require.NoError(t, err)
					checkSums(t, got)
					assert.Zero(t, got.Lines.Unreadable+got.Lines.TooLong, name)
					return got
				}
				got := ask("ghcr.io/siderolabs/kubelet")
				assert.Equal(t, accesslog.Yes, got.Answer, name+": "+got.Reason)
				assert.Equal(t, 3, got.Asked.Manifests, name)
				assert.Equal(t, 2, got.Asked.Blobs, name)
				assert.Equal(t, 1, got.Ignored, name)
				if name != "access" {
					assert.Equal(t, 5, got.Asked.Timed, name)
					assert.Positive(t, got.Asked.Took, name)
				}
				if name == "own" || name == "own, access" {
					assert.Equal(t, "127.0.0.1", got.Clients[0].Address, name)
					assert.Equal(t, "192.0.2.99", got.Clients[1].Address, name)
				}
				assert.Equal(t, accesslog.Yes, ask("ghcr.io/siderolabs/kubelet:v1.34.1").Answer, name)
				assert.Equal(t, accesslog.Yes, ask("ghcr.io/siderolabs/kubelet@"+manifest).Answer, name)
				assert.Equal(t, accesslog.No, ask("ghcr.io/siderolabs/kubelet:v1.34.0").Answer, name)
				etcd := ask("ghcr.io/siderolabs/etcd:v9")
				assert.Equal(t, accesslog.No, etcd.Answer, name+": "+etcd.Reason)
				assert.Equal(t, 1, etcd.Asked.Missing, name)
				talos := ask("ghcr.io/siderolabs/talos")
				assert.Equal(t, accesslog.No, talos.Answer, name+": "+talos.Reason)
				assert.Zero(t, talos.Asked, name)
			}
		})
	}
}

// TestPullThrough asks a pull-through cache, twice: what it fetches itself is no
// request of a node.
func TestPullThrough(t *testing.T) {
	upstream := serve(t, "text", "")
	upstream.push(t, "siderolabs/kubelet", "v1.34.1")
	cache := serve(t, "text", "proxy: {remoteurl: \"http://"+upstream.addr+"\"}\n")
	cache.pull(t, "siderolabs/kubelet", "v1.34.1", "?ns=ghcr.io")
	cache.pull(t, "siderolabs/kubelet", "v1.34.1", "?ns=ghcr.io")
	cache.pull(t, "siderolabs/kubelet", "v1.34.2", "?ns=ghcr.io")
	cache.do(t, "GET", "/v2/", "the-last/1", nil, nil)
	access, own := cache.logs(t, "the-last/1")
	for name, log := range map[string]string{"access": access, "own": own, "both": interleave(own, access)} {
		got, err := accesslog.Served(strings.NewReader(log), "ghcr.io/siderolabs/kubelet")
		require.NoError(t, err)
		assert.Equal(t, accesslog.Yes, got.Answer, name)
		assert.Equal(t, 4, got.Asked.Manifests, name)
		assert.Equal(t, 1, got.Asked.Missing, name+log)
	}
}

// TestLogin asks as a node does that has credentials: without them, and again with
// them. A node without credentials is turned away. distribution's own lines do not
// say so, and "authorized request" is none.
func TestLogin(t *testing.T) {
	r := serve(t, "text", "auth: {silly: {realm: test-realm, service: test-service}}\n")
	robot := http.Header{"Authorization": {"seriously, anything"}}
	ask := func(method, name string, header http.Header, want int) {
		resp := r.do(t, method, "/v2/siderolabs/"+name+"/manifests/v1?ns=ghcr.io", node, nil, header)
		require.Equal(t, want, resp.StatusCode)
	}
	data := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}`)
	resp := r.do(t, "PUT", "/v2/siderolabs/kubelet/manifests/v1", "buildkit/v0.25", data, http.Header{"Content-Type": {"application/vnd.oci.image.index.v1+json"}, "Authorization": robot["Authorization"]})
	require.Equal(t, 201, resp.StatusCode)
	robot["Accept"] = []string{"application/vnd.oci.image.index.v1+json"}
	ask("HEAD", "kubelet", nil, 401)
	ask("HEAD", "kubelet", robot, 200)
	ask("GET", "kubelet", robot, 200)
	ask("HEAD", "talos", nil, 401)
	r.do(t, "GET", "/v2/", "the-last/1", nil, robot)
	access, own := r.logs(t, "the-last/1")
	require.Contains(t, own, "authorized request")
	for name, log := range map[string]string{"access": access, "own": own, "both": interleave(own, access)} {
		got, err := accesslog.Served(strings.NewReader(log), "ghcr.io/siderolabs/kubelet")
		require.NoError(t, err)
		assert.Equal(t, accesslog.Yes, got.Answer, name)
		assert.Equal(t, 2, got.Asked.Requests(), name)
		got, err = accesslog.Served(strings.NewReader(log), "ghcr.io/siderolabs/talos")
		require.NoError(t, err)
		assert.Equal(t, accesslog.No, got.Answer, name+": "+got.Reason)
		if name != "own" {
			assert.Equal(t, 1, got.Asked.Challenged, name)
			assert.Contains(t, got.Reason, "refused (401, 403) 1×", name)
		}
	}
}

// TestForged has a client write lines into the log of a real registry, in each way
// that distribution 2.8.2 lets it.
func TestForged(t *testing.T) {
	r := serve(t, "text", "")
	send := func(request string) {
		conn, err := net.Dial("tcp", r.addr)
		require.NoError(t, err)
		defer conn.Close()
		fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: m.internal\r\nUser-Agent: node\r\nConnection: close\r\n\r\n", request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		resp.Body.Close()
	}
	forged := strings.TrimSuffix(get("siderolabs/kubelet/manifests/v1"), "\n")
	own := strings.TrimSuffix(logrus("GET", "/v2/siderolabs/kubelet/manifests/v1", 200, "7"), "\n")
	pad := strings.Repeat("p", accesslog.MaxLine)
	users := map[string]string{
		"a line":                 "x\n" + forged + "\nx",
		"a line, and a whole":    "x\n" + forged + "\n" + forged,
		"two":                    "- [30/Nov/2026:17:48:41 +0000] \"GET / HTTP/1.1\" 200 0 \"\" \"\"\n" + forged + "\n" + forged,
		"on the same line":       strings.TrimPrefix(forged, "192.0.2.7 - "),
		"logrus":                 "x\n" + own + "\n" + own + " x=\"",
		"zot":                    "x\n" + zot("GET", "/v2/siderolabs/kubelet/manifests/v1", 200) + "{",
		"a split line":           "x\n" + forged + "\n2026-11-30T17:48:41.5Z stdout P ",
		"a long line":            "x\n" + forged + "\n" + pad,
		"a long line in JSON":    "x\n" + forged + "\n{" + pad,
		"a long line, then that": pad + "\n" + zot("GET", "/v2/siderolabs/kubelet/manifests/v1", 200) + "{" + pad,
	}
	done := 0
	for name, user := range users {
		escaped := strings.ReplaceAll(url.QueryEscape(user), "+", "%20")
		for _, request := range []string{"GET http://" + escaped + "@m.internal/v2/", "CONNECT " + escaped + "@m.internal:443"} {
			send(request)
			done++
			var access []byte
			require.Eventually(t, func() bool {
				var err error
				access, err = os.ReadFile(r.stdout)
				require.NoError(t, err)
				return bytes.HasSuffix(access, []byte("\"node\"\n"))
			}, 5*time.Minute, 10*time.Millisecond)
			require.NoError(t, os.Truncate(r.stdout, 0))
			log := string(bytes.TrimLeft(access, "\x00")) + get("siderolabs/etcd/manifests/v1")
			got, err := accesslog.Served(strings.NewReader(log), "ghcr.io/siderolabs/kubelet")
			require.NoError(t, err)
			assert.Equal(t, accesslog.Unknown, got.Answer, "%s: %s: %s", name, request[:7], got.Reason)
			assert.Contains(t, got.Reason, "a client may have written", name)
			assert.Positive(t, got.Asked.Served(), "%s: %s: nothing forged\n%.300s", name, request[:7], log)
		}
	}
	assert.Equal(t, 20, done)
}

func interleave(a, b string) string {
	var out strings.Builder
	as, bs := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for i := range max(len(as), len(bs)) {
		if i < len(as) {
			out.WriteString(as[i])
		}
		if i < len(bs) {
			out.WriteString(bs[i])
		}
	}
	return out.String()
}

func prefixed(log string) string {
	var out strings.Builder
	for line := range strings.Lines(log) {
		out.WriteString("[pod/cache-0/registry] 2026-11-30T17:48:41.073225549Z " + line)
	}
	return out.String()
}
