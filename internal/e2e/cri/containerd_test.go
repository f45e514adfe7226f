// Package cri_test pulls images as a kubelet does: through the CRI of a real
// containerd, by the hosts directory that package hosts writes for a Talos
// configuration, from registries on loopback that say what they were asked.
package cri_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	crand "crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"math/rand/v2"
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

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
)

// image is the one that a registry here has or has not.
var image = func() v1.Image {
	img, err := random.Image(512, 1)
	if err != nil {
		panic(err)
	}
	config, err := img.ConfigFile()
	if err == nil {
		config = config.DeepCopy()
		config.OS, config.Architecture = "linux", runtime.GOARCH
		img, err = mutate.ConfigFile(img, config)
	}
	if err != nil {
		panic(err)
	}
	return img
}()

// digests names the parts of the image in a log.
var digests = func() *strings.Replacer {
	manifest, err := image.Digest()
	config, err2 := image.ConfigName()
	layers, err3 := image.Layers()
	layer, err4 := layers[0].Digest()
	if err := errors.Join(err, err2, err3, err4); err != nil {
		panic(err)
	}
	return strings.NewReplacer(manifest.String(), "MANIFEST", config.String(), "CONFIG", layer.String(), "LAYER")
}()

// node is a machine as far as containerd sees it: names resolve to loopback,
// and it trusts a certificate that upstreams have.
type node struct {
	dir    string
	hosts  string // lines of /etc/hosts
	trusts bytes.Buffer

	mu    sync.Mutex
	asked []string
}

func newNode(t *testing.T) *node {
	t.Helper()
	dir, err := os.MkdirTemp("", "cri-") // short: the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return &node{dir: dir, hosts: "127.0.0.1 localhost\n"}
}

func (n *node) file(name string) string { return filepath.Join(n.dir, name) }

// certificate returns one for a host, which vouches for itself.
func certificate(t *testing.T, host string) (tls.Certificate, []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(crand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// server says how one registry behaves.
type server struct {
	image string // repository:tag that it has; empty: none
	plain bool   // http
	down  bool   // nothing listens
	user  string // the user:password that it wants
	token string // the identity token for which it gives an access token
}

// accessToken is what a server gives for the identity token.
const accessToken = "made-up-access-token"

// admits answers a request that the server does not let pass, and reports
// whether it does. For an identity token a client gets an access token first,
// by the refresh token's grant of OAuth 2.
func (s server) admits(w http.ResponseWriter, r *http.Request) bool {
	auth := r.Header.Get("Authorization")
	switch {
	case s.token != "" && r.URL.Path == "/token":
		if r.PostFormValue("grant_type") != "refresh_token" || r.PostFormValue("refresh_token") != s.token {
			http.Error(w, "another token", http.StatusBadRequest)
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":%q,"expires_in":300}`, accessToken)
		return false
	case s.token != "" && auth != "Bearer "+accessToken:
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="registry.internal"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	case s.user != "" && auth != "Basic "+base64.StdEncoding.EncodeToString([]byte(s.user)):
		w.Header().Set("WWW-Authenticate", `Basic realm="registry.internal"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return true
}

// upstream starts a registry at port 443 of a name, which the node trusts.
func (n *node) upstream(t *testing.T, host string, s server) {
	t.Helper()
	// Any address of 127.0.0.0/8 is this machine; port 443 of 127.0.0.1 may be in use.
	address := fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))
	n.hosts += address + " " + host + "\n"
	_, ca := n.listen(t, host, address+":443", s)
	n.trusts.Write(ca)
}

// mirror starts a registry, and returns its host:port and the certificate that vouches for it.
func (n *node) mirror(t *testing.T, host string, s server) (hostport string, ca []byte) {
	t.Helper()
	n.hosts += "127.0.0.1 " + host + "\n"
	return n.listen(t, host, "127.0.0.1:0", s)
}

var silent = log.New(io.Discard, "", 0)

func (n *node) listen(t *testing.T, host, address string, s server) (hostport string, ca []byte) {
	t.Helper()
	store := registry.New(registry.Logger(silent))
	if s.image != "" {
		push := httptest.NewServer(store)
		tag, err := name.NewTag(strings.TrimPrefix(push.URL, "http://")+"/"+s.image, name.Insecure)
		if err == nil {
			err = remote.Write(tag, image)
		}
		push.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) { // of a port that was named: a server of this machine has it at every address
		servers.Missing(t, fmt.Sprintf("a registry here must listen on %s: %v", address, err))
	}
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	hostport = net.JoinHostPort(host, port)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := host + ": " + r.Method + " " + digests.Replace(r.URL.RequestURI())
		if auth := r.Header.Get("Authorization"); auth != "" {
			line += " " + auth
		}
		if r.Method == http.MethodPost {
			r.ParseForm()
			line += " " + r.PostForm.Encode()
		}
		n.mu.Lock()
		n.asked = append(n.asked, line)
		n.mu.Unlock()
		if s.admits(w, r) {
			store.ServeHTTP(w, r)
		}
	}))
	srv.Listener.Close()
	srv.Listener = listener
	srv.Config.ErrorLog = silent
	var pair tls.Certificate
	pair, ca = certificate(t, host)
	if s.plain {
		srv.Start()
	} else {
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	if s.down {
		srv.Close()
	}
	return hostport, ca
}

// pull starts containerd with the Set, as a Talos node with it would, and pulls
// a reference through its CRI: the credentials are in the configuration, the
// rest is in the hosts directory. It returns all that the registries were asked,
// sorted, what crictl said where it failed, and what containerd
// complained of.
func (n *node) pull(t *testing.T, set mirrors.Set, certsD string, ref string) (asked []string, failure, complaints string) {
	t.Helper()
	containerd, crictl := servers.Path(t, "containerd"), servers.Path(t, "crictl")
	socket := n.file("c.sock")
	config := fmt.Sprintf(`version = 3
imports = [%q]
root = %q
state = %q
[grpc]
address = %q
[ttrpc]
address = %q
[[plugins."io.containerd.transfer.v1.local".unpack_config]]
platform = "linux/%s"
snapshotter = "native"
`, n.file("cri.toml"), n.file("root"), n.file("state"), socket, n.file("t.sock"), runtime.GOARCH)
	here := fmt.Sprintf(`[plugins."io.containerd.cri.v1.images"]
snapshotter = "native"
[plugins."io.containerd.cri.v1.runtime".cni]
conf_dir = %q
`, n.file("cni"))
	if err := errors.Join(
		os.WriteFile(n.file("config.toml"), []byte(config), 0o600),
		os.WriteFile(n.file("cri.toml"), merged(t, criPart, here, string(registriesPart(t, set, certsD))), 0o600),
		os.WriteFile(n.file("hosts"), []byte(n.hosts), 0o644),
		os.WriteFile(n.file("trusted.pem"), n.trusts.Bytes(), 0o644),
		os.WriteFile(n.file("crictl.yaml"), fmt.Appendf(nil, "timeout: %d\n", int(servers.Patience.Seconds())), 0o644),
	); err != nil {
		t.Fatal(err)
	}
	ctl := func(ctx context.Context, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, crictl, append([]string{"--config", n.file("crictl.yaml"), "--runtime-endpoint", "unix://" + socket, "--image-endpoint", "unix://" + socket}, args...)...)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	argv := servers.Alone(n.file("hosts"), containerd, "--config", n.file("config.toml"))
	cmd := exec.Command(argv[0], argv[1:]...)
	// No proxy, and no certificate of this machine.
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SSL_CERT_FILE=" + n.file("trusted.pem"), "SSL_CERT_DIR=/nonexistent"}
	p, err := servers.Start("containerd", n.file("containerd.log"), cmd, func(ctx context.Context) error {
		out, err := ctl(ctx, "images", "-o", "json")
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), servers.Patience)
	defer cancel()
	if out, err := ctl(ctx, "pull", ref); ctx.Err() != nil {
		t.Fatalf("crictl pull %s did not end within %s: %s", ref, servers.Patience, out)
	} else if err != nil {
		failure = fmt.Sprintf("%v: %s", err, out)
	} else {
		n.has(t, ref, func(args ...string) (string, error) { return ctl(ctx, args...) })
	}
	text, err := os.ReadFile(n.file("containerd.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=error") || strings.Contains(line, "level=fatal") {
			complaints += line
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.asked)
	return n.asked, failure, complaints
}

// has wants containerd to have the very image under the reference.
func (n *node) has(t *testing.T, ref string, ctl func(...string) (string, error)) {
	t.Helper()
	out, err := ctl("inspecti", "-o", "json", ref)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var got struct {
		Status struct{ ID string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	want, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.ID != want.String() {
		t.Errorf("containerd has the image %s, want %s", got.Status.ID, want)
	}
}

// write puts the files below a new folder.
func write(t *testing.T, folder string, files convert.Files) {
	t.Helper()
	for _, name := range files.Names() {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, files[name], 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}
