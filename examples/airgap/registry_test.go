package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// standard is the configuration that the image registry:2 has at its place, and with
// deletion enabled, as some images have it. The variables of the Deployment change it.
const standard = `version: 0.1
log: {fields: {service: registry}}
storage:
  cache: {blobdescriptor: inmemory}
  delete: {enabled: true}
  filesystem: {rootdirectory: /var/lib/registry}
http:
  addr: :5000
  headers: {X-Content-Type-Options: [nosniff]}
health: {storagedriver: {enabled: true, interval: 10s, threshold: 3}}
`

// upstream is a registry with one image, team/app:v1.
type upstream struct {
	mu       sync.Mutex
	asked    map[string]int
	contents map[string][]byte // by path
	types    map[string]string
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func newUpstream(t *testing.T) (u *upstream, manifest, layer []byte) {
	t.Helper()
	layer = []byte(strings.Repeat("a layer, which is not compressed\n", 10_000))
	config := []byte(`{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":["` + digestOf(layer) + `"]}}`)
	const vendor = "application/vnd.docker."
	descriptor := func(mediaType string, data []byte) map[string]any {
		return map[string]any{"mediaType": mediaType, "size": len(data), "digest": digestOf(data)}
	}
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": vendor + "distribution.manifest.v2+json",
		"config": descriptor(vendor+"container.image.v1+json", config),
		"layers": []any{descriptor(vendor+"image.rootfs.diff.tar", layer)},
	})
	if err != nil {
		t.Fatal(err)
	}
	u = &upstream{asked: map[string]int{}, contents: map[string][]byte{}, types: map[string]string{}}
	for _, name := range []string{"v1", digestOf(manifest)} {
		u.contents["/v2/team/app/manifests/"+name] = manifest
		u.types["/v2/team/app/manifests/"+name] = vendor + "distribution.manifest.v2+json"
	}
	for _, data := range [][]byte{config, layer} {
		u.contents["/v2/team/app/blobs/"+digestOf(data)] = data
		u.types["/v2/team/app/blobs/"+digestOf(data)] = "application/octet-stream"
	}
	return u, manifest, layer
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked[r.Method+" "+r.URL.Path]++
	w.Header().Set("Docker-Distribution-API-Version", "registry/2.0")
	data, ok := u.contents[r.URL.Path]
	switch {
	case r.URL.Path == "/v2/":
	case !ok:
		http.NotFound(w, r)
	default:
		w.Header().Set("Content-Type", u.types[r.URL.Path])
		w.Header().Set("Docker-Content-Digest", digestOf(data))
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if r.Method != http.MethodHead {
			w.Write(data)
		}
	}
}

func (u *upstream) count(request string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked[request]
}

// TestRegistry: the variables of the Deployment make a real registry
// (docker-registry 2.8.2) a pull-through cache, which serves what it has when upstream is gone.
func TestRegistry(t *testing.T) {
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		if os.Getenv("MIRRORPATCH_REQUIRE_SERVERS") == "1" {
			t.Fatalf("%v (Debian's package docker-registry has it)", err)
		}
		t.Skipf("%v (Debian's package docker-registry has it)", err)
	}
	u, manifest, layer := newUpstream(t)
	server := httptest.NewServer(u)
	defer server.Close()

	// What differs on a node is where upstream is, where the store is and the port: here
	// it is a socket in a folder, which nobody else can take.
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	here := map[string]string{
		"REGISTRY_PROXY_REMOTEURL=https://ghcr.io":                    "REGISTRY_PROXY_REMOTEURL=" + server.URL,
		"REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY=/var/lib/registry": "REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY=" + filepath.Join(dir, "store"),
		"REGISTRY_HTTP_ADDR=:5000":                                    "REGISTRY_HTTP_ADDR=" + socket,
		"REGISTRY_PROXY_TTL=0":                                        "REGISTRY_PROXY_TTL=0",
		"REGISTRY_STORAGE_DELETE_ENABLED=false":                       "REGISTRY_STORAGE_DELETE_ENABLED=false",
	}
	text, err := yaml.Marshal((deployment{namespace: "caches", image: "registry"}).deployment("cache-ghcr-io", "ghcr.io"))
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "OTEL_TRACES_EXPORTER=none", "REGISTRY_HTTP_NET=unix")
	for name, value := range environment(objects(t, text)[0]) {
		changed, ok := here[name+"="+value]
		if !ok {
			t.Fatalf("the Deployment has %s=%s, which this test does not know", name, value)
		}
		delete(here, name+"="+value)
		env = append(env, changed)
	}
	if len(here) > 0 {
		t.Fatalf("the Deployment has not %v", here)
	}
	config := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(config, []byte(standard), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	runtime.LockOSThread() // Linux sends Pdeathsig when the thread ends that started the process
	defer runtime.UnlockOSThread()
	start := func(more ...string) (stop func()) {
		t.Helper()
		cmd := exec.Command(program, "serve", config)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(slices.Clip(env), more...), log, log
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return sync.OnceFunc(func() { cmd.Process.Kill(); cmd.Wait() })
	}
	stop := start()
	defer func() {
		stop()
		if t.Failed() {
			said, _ := os.ReadFile(log.Name())
			t.Logf("the registry said\n%s", said)
		}
	}()

	get := func(path string) (int, []byte) {
		req, err := http.NewRequest(http.MethodGet, "http://cache.internal"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "application/vnd.docker.distribution.manifest.v2+json")
		resp, err := client.Do(req)
		if err != nil {
			return 0, nil
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, nil
		}
		return resp.StatusCode, data
	}
	wait := func(what string, ready func() bool) {
		t.Helper()
		for began := time.Now(); !ready(); time.Sleep(50 * time.Millisecond) {
			if time.Since(began) > 3*time.Minute {
				t.Fatalf("%s: not after three minutes", what)
			}
		}
	}
	// As the Deployment's probes do.
	wait("the registry answers", func() bool { code, _ := get("/"); return code == 200 })

	blob := "/v2/team/app/blobs/" + digestOf(layer)
	if code, data := get("/v2/team/app/manifests/v1"); code != 200 || string(data) != string(manifest) {
		t.Fatalf("the manifest: %d %.200q", code, data)
	}
	if code, data := get(blob); code != 200 || string(data) != string(layer) {
		t.Fatalf("the layer: %d, %d bytes", code, len(data))
	}
	if u.count("GET "+blob) == 0 {
		t.Error("upstream was not asked for the layer")
	}
	// The registry writes what it hands on to its store beside that.
	stored := filepath.Join(dir, "store/docker/registry/v2/blobs/sha256", digestOf(layer)[7:9], digestOf(layer)[7:], "data")
	wait("the layer is in the store", func() bool { info, err := os.Stat(stored); return err == nil && info.Size() == int64(len(layer)) })
	server.Close()
	wait("the layer without upstream", func() bool { code, data := get(blob); return code == 200 && string(data) == string(layer) })
	if code, data := get("/v2/team/app/manifests/" + digestOf(manifest)); code != 200 || string(data) != string(manifest) {
		t.Errorf("the manifest without upstream: %d %.200q", code, data)
	}
	if code, _ := get("/v2/team/app/blobs/" + digestOf([]byte("another"))); code == 200 {
		t.Error("a layer that nobody has was served")
	}

	// A week later: the registry's own list says that the layer is to be removed. Without
	// REGISTRY_STORAGE_DELETE_ENABLED=false, 2.8.2 does so within a second.
	stop()
	key := "team/app@" + digestOf(layer)
	state := filepath.Join(dir, "store", "scheduler-state.json")
	if err := os.WriteFile(state, fmt.Appendf(nil, `{%q:{"Key":%[1]q,"ExpiryData":"2020-01-01T00:00:00Z","EntryType":0}}`, key), 0o644); err != nil {
		t.Fatal(err)
	}
	again := httptest.NewServer(u) // a registry asks upstream when it starts, or does not start
	defer again.Close()
	stop = start("REGISTRY_PROXY_REMOTEURL=" + again.URL)
	wait("the registry has come to what is to be removed", func() bool {
		now, err := os.ReadFile(state)
		return err == nil && json.Valid(now) && !strings.Contains(string(now), key)
	})
	if _, err := os.Stat(stored); err != nil {
		t.Errorf("the layer a week later: %v", err)
	}
	stop()
	again.Close()

	// Started when upstream is gone, as the README has it: a registry of its own, from the same store.
	stop = start("REGISTRY_PROXY_REMOTEURL=", `REGISTRY_STORAGE_MAINTENANCE_READONLY={"enabled":true}`)
	wait("the registry without upstream answers", func() bool { code, _ := get("/"); return code == 200 })
	if code, data := get("/v2/team/app/manifests/v1"); code != 200 || string(data) != string(manifest) {
		t.Errorf("the manifest from a registry without upstream: %d %.200q", code, data)
	}
	if code, data := get(blob); code != 200 || string(data) != string(layer) {
		t.Errorf("the layer from a registry without upstream: %d, %d bytes", code, len(data))
	}
	resp, err := client.Post("http://cache.internal/v2/team/app/blobs/uploads/", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a push into it: %s", resp.Status)
	}
}
