package containerd_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes"
	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

// network is the only one that a test's pulls can reach: host:port of a
// registry as it is dialled, and the server on loopback that answers there.
type network struct {
	mu       sync.Mutex
	servers  map[string]net.Addr
	requests []string // in the order in which the servers saw them
	strays   []string // dialled, and not known
}

func newNetwork() *network { return &network{servers: map[string]net.Addr{}} }

func (n *network) dial(ctx context.Context, kind, address string) (net.Conn, error) {
	n.mu.Lock()
	to, known := n.servers[address]
	if !known {
		n.strays = append(n.strays, address)
	}
	n.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("%s is not on this network", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, to.Network(), to.String())
}

// server says how one registry behaves.
type server struct {
	images   []string   // repository:tag, the repository as its path on this server
	ca       *authority // who vouches for it; nil is plain http
	clients  *authority // who vouches for its clients; nil asks for no certificate
	user     string     // the user:password that it wants
	token    string     // the identity token for which it gives an access token
	below    string     // the path below which its API is
	down     bool       // nothing listens
	loopback string     // the address to listen on; 127.0.0.1:0 when empty
}

// accessToken is what a server gives for the identity token.
const accessToken = "made-up-access-token"

// add starts a registry that answers at host:port until the test ends, or, for
// the empty string, at the address that it returns.
func (n *network) add(t *testing.T, hostport string, s server) string {
	t.Helper()
	store := registry.New(registry.Logger(silent))
	push(t, store, s.images)

	address := s.loopback
	if address == "" {
		address = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if hostport == "" {
		hostport = listener.Addr().String()
	}

	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		line := fmt.Sprintf("%s: %s %s", hostport, r.Method, digests.Replace(r.URL.RequestURI()))
		if r.Host != hostport && r.Host+":443" != hostport && r.Host+":80" != hostport {
			line += " Host=" + r.Host
		}
		if auth := r.Header.Get("Authorization"); auth != "" {
			line += " " + auth
		}
		if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			line += " certificate=" + r.TLS.PeerCertificates[0].Subject.CommonName
		}
		if r.URL.Path == "/token" {
			r.ParseForm()
			line += " " + r.Form.Get("grant_type") + "=" + r.Form.Get("refresh_token")
		}
		n.mu.Lock()
		n.requests = append(n.requests, line)
		n.mu.Unlock()

		switch auth := r.Header.Get("Authorization"); {
		case s.token != "" && r.URL.Path == "/token":
			if r.Form.Get("refresh_token") != s.token {
				http.Error(w, "another token", http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"access_token":%q,"expires_in":300}`, accessToken)
		case s.token != "" && auth != "Bearer "+accessToken:
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://`+r.Host+`/token",service="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		case s.user != "" && auth != "Basic "+base64.StdEncoding.EncodeToString([]byte(s.user)):
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			http.StripPrefix(s.below, store).ServeHTTP(w, r)
		}
	})

	srv := httptest.NewUnstartedServer(handler)
	srv.Listener.Close()
	srv.Listener = listener
	srv.Config.ErrorLog = silent
	if s.ca == nil {
		srv.Start()
	} else {
		host, _, _ := net.SplitHostPort(hostport)
		cert, err := tls.X509KeyPair(s.ca.issue(host))
		if err != nil {
			t.Fatal(err)
		}
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		if s.clients != nil {
			srv.TLS.ClientAuth = tls.RequireAndVerifyClientCert
			srv.TLS.ClientCAs = x509.NewCertPool()
			srv.TLS.ClientCAs.AddCert(s.clients.cert)
		}
		srv.StartTLS()
	}
	t.Cleanup(srv.Close)
	if s.down {
		srv.Close()
	}
	n.mu.Lock()
	n.servers[hostport] = listener.Addr()
	n.mu.Unlock()
	return hostport
}

var silent = log.New(io.Discard, "", 0)

// image is the one that every registry has, under several names.
var image = func() v1.Image {
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "amd64"})
	if err == nil {
		img, err = mutate.AppendLayers(img, static.NewLayer([]byte("a layer"), types.DockerLayer))
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

// push puts the image into a registry that no log sees yet.
func push(t *testing.T, store http.Handler, images []string) {
	t.Helper()
	srv := httptest.NewServer(store)
	defer srv.Close()
	for _, i := range images {
		tag, err := name.NewTag(strings.TrimPrefix(srv.URL, "http://")+"/"+i, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(tag, image); err != nil {
			t.Fatal(err)
		}
	}
}

// pull has containerd pull an image by the Set, as a node with it would, and
// returns what the registries were asked. The Set goes the whole way: into a
// Talos configuration of that form, out of it, and into a hosts directory.
func (n *network) pull(t *testing.T, set mirrors.Set, form configpatch.Form, ref string) ([]string, error) {
	t.Helper()
	version, err := configpatch.ParseVersion("1.13")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := configpatch.Converge([]byte(machineConfig), set, version, configpatch.WithForm(form))
	if err != nil {
		t.Fatal(err)
	}
	effective, err := configpatch.Read(plan.Result())
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	files, _, err := hosts.Write(effective.Set, hosts.InFolder(root)) // what it reports is that credentials go another way
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files.Names() {
		path := filepath.Join(root, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, files[file], 0o600)); err != nil {
			t.Fatal(err)
		}
	}

	options := config.HostOptions{
		HostDir:     config.HostDirFromRoot(root),
		Credentials: credentials(effective.Set),
		UpdateClient: func(c *http.Client) error {
			tr, ok := c.Transport.(*http.Transport)
			if !ok { // it would leave the network
				t.Fatalf("containerd has a transport of type %T", c.Transport)
			}
			tr.DialContext = n.dial
			tr.Proxy = nil
			return nil
		},
	}
	n.requests = nil
	ctx, _ := logErrors(t.Context())
	err = fetch(ctx, t, docker.NewResolver(docker.ResolverOptions{Hosts: config.ConfigureHosts(ctx, options)}), ref)
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.requests), err
}

const machineConfig = `version: v1alpha1
machine:
  type: worker
  token: made-up.0123456789abcdef
cluster:
  controlPlane:
    endpoint: https://192.0.2.1:6443
`

// credentials are those that the CRI plugin offers to a host: Talos gives them
// to it under the host that serves the registry, and the plugin takes the user,
// else the identity token, else the two joined in auth. The tests of cri have
// the plugin itself do it.
func credentials(set mirrors.Set) func(host string) (string, string, error) {
	return func(host string) (string, string, error) {
		for key, c := range set.Config {
			if serving, err := docker.DefaultHost(key); err != nil || serving != host || c.Auth == nil {
				continue
			}
			if c.Auth.Username != "" {
				return c.Auth.Username, c.Auth.Password.Reveal(), nil
			}
			if !c.Auth.IdentityToken.IsZero() {
				return "", c.Auth.IdentityToken.Reveal(), nil
			}
			joined, err := base64.StdEncoding.DecodeString(c.Auth.Auth.Reveal())
			user, password, _ := strings.Cut(string(joined), ":")
			return user, password, err
		}
		return "", "", nil
	}
}

// fetch resolves the reference, and reads the manifest, the configuration and
// the layer.
func fetch(ctx context.Context, t *testing.T, resolver remotes.Resolver, ref string) error {
	t.Helper()
	named, manifest, err := resolver.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	fetcher, err := resolver.Fetcher(ctx, named)
	if err != nil {
		return err
	}
	read := func(d ocispec.Descriptor) ([]byte, error) {
		r, err := fetcher.Fetch(ctx, d)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	data, err := read(manifest)
	if err != nil {
		return err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	for _, d := range append([]ocispec.Descriptor{m.Config}, m.Layers...) {
		data, err := read(d)
		if err != nil {
			return err
		}
		if digest.FromBytes(data) != d.Digest {
			t.Errorf("%s came as %q", d.Digest, data)
		}
	}
	return nil
}

func endpoints(urls ...string) (es []mirrors.Endpoint) {
	for _, u := range urls {
		es = append(es, mirrors.Endpoint{URL: u})
	}
	return es
}

// whole is what a registry is asked for the whole of acme/app:v1: below path,
// with that query and, from then on, that rest of the line.
func whole(hostport, path, query, rest string) []string {
	return []string{
		hostport + ": HEAD " + path + "/acme/app/manifests/v1" + query + rest,
		hostport + ": GET " + path + "/acme/app/manifests/MANIFEST" + query + rest,
		hostport + ": GET " + path + "/acme/app/blobs/CONFIG" + query + rest,
		hostport + ": GET " + path + "/acme/app/blobs/LAYER" + query + rest,
	}
}

// challenged is the same by a registry that wants credentials: the resolver and
// the fetcher both learn so by their first request. Between that and the next
// one stands what is asked for a token.
func challenged(hostport, query, rest string, token ...string) (lines []string) {
	anonymous, all := whole(hostport, "/v2", query, ""), whole(hostport, "/v2", query, rest)
	for i := range all {
		if i < 2 {
			lines = append(append(lines, anonymous[i]), token...)
		}
		lines = append(lines, all[i])
	}
	return lines
}

// alternately asks the first for each request, and then the second.
func alternately(first, second []string) (lines []string) {
	for i := range first {
		lines = append(lines, first[i], second[i])
	}
	return lines
}

// TestPull pulls by Sets through registries on loopback, and asserts each
// request that they see: path, ns=, Host where it is not the endpoint's,
// Authorization, client certificate. Every name that is dialled resolves to
// loopback, or is an error.
func TestPull(t *testing.T) {
	acme := []string{"acme/app:v1"}
	upstream := server{images: acme, ca: publicCA}
	certificate, key := privateCA.issue("node-7")
	private := mirrors.HostConfig{TLS: &mirrors.TLS{CA: mirrors.PEM(privateCA.pem)}}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("robot:made-up-password"))
	const ns = "?ns=ghcr.io"

	tests := []struct {
		name    string
		ref     string // ghcr.io/acme/app:v1 when empty
		servers map[string]server
		set     mirrors.Set
		want    []string
		wantErr string
	}{
		{
			name:    "a plain http mirror needs no other setting",
			servers: map[string]server{"cache.internal:5000": {images: acme}, "ghcr.io:443": upstream},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("http://cache.internal:5000")}}},
			want:    whole("cache.internal:5000", "/v2", ns, ""),
		},
		{
			name:    "the * mirror takes what has no mirror of its own, and is told which",
			ref:     "quay.io/acme/app:v1",
			servers: map[string]server{"star.internal:5000": {images: acme}, "cache.internal:5000": {images: acme}, "quay.io:443": upstream},
			set: mirrors.Set{Mirrors: map[string]mirrors.Mirror{
				"*":       {Endpoints: endpoints("http://star.internal:5000")},
				"ghcr.io": {Endpoints: endpoints("http://cache.internal:5000")},
			}},
			want: whole("star.internal:5000", "/v2", "?ns=quay.io", ""),
		},
		{
			name:    "a mirror of its own hides the * mirror, whole",
			servers: map[string]server{"star.internal:5000": {images: acme}, "cache.internal:5000": {}, "ghcr.io:443": upstream},
			set: mirrors.Set{Mirrors: map[string]mirrors.Mirror{
				"*":       {Endpoints: endpoints("http://star.internal:5000")},
				"ghcr.io": {Endpoints: endpoints("http://cache.internal:5000")},
			}},
			want: alternately(whole("cache.internal:5000", "/v2", ns, ""), whole("ghcr.io:443", "/v2", "", "")),
		},
		{
			name:    "overridePath with the path of a Harbor project",
			servers: map[string]server{"harbor.internal:443": {images: []string{"proxy-ghcr/acme/app:v1"}, ca: privateCA}, "ghcr.io:443": upstream},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.internal/v2/proxy-ghcr", OverridePath: true}}}},
				Config:  map[string]mirrors.HostConfig{"harbor.internal": private},
			},
			want: whole("harbor.internal:443", "/v2/proxy-ghcr", ns, ""),
		},
		{
			name:    "a Nexus repository, whose path ends in v2",
			servers: map[string]server{"nexus.internal:443": {images: []string{"acme/app:v1"}, ca: publicCA, below: "/repository/ghcr"}},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://nexus.internal/repository/ghcr/v2"), SkipFallback: true}}},
			want:    whole("nexus.internal:443", "/repository/ghcr/v2", ns, ""),
		},
		{
			name:    "two mirrors are asked in their order",
			servers: map[string]server{"a.internal:5000": {}, "b.internal:5000": {images: acme}, "ghcr.io:443": upstream},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("http://a.internal:5000", "http://b.internal:5000")}}},
			want:    alternately(whole("a.internal:5000", "/v2", ns, ""), whole("b.internal:5000", "/v2", ns, "")),
		},
		{
			name:    "the upstream is asked last, without ns",
			servers: map[string]server{"cache.internal:5000": {}, "ghcr.io:443": upstream},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("http://cache.internal:5000")}}},
			want:    alternately(whole("cache.internal:5000", "/v2", ns, ""), whole("ghcr.io:443", "/v2", "", "")),
		},
		{
			name:    "the upstream is asked when no mirror answers",
			servers: map[string]server{"cache.internal:5000": {down: true}, "ghcr.io:443": upstream},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("http://cache.internal:5000")}}},
			want:    whole("ghcr.io:443", "/v2", "", ""),
		},
		{
			name:    "skipFallback: the upstream is never asked",
			servers: map[string]server{"a.internal:5000": {}, "b.internal:5000": {}, "ghcr.io:443": upstream},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("http://a.internal:5000", "http://b.internal:5000"), SkipFallback: true}}},
			want:    []string{"a.internal:5000: HEAD /v2/acme/app/manifests/v1" + ns, "b.internal:5000: HEAD /v2/acme/app/manifests/v1" + ns},
			wantErr: "not found",
		},
		{
			name:    "the CA of a mirror",
			servers: map[string]server{"cache.internal:5000": {images: acme, ca: privateCA}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal:5000"), SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"cache.internal:5000": private},
			},
			want: whole("cache.internal:5000", "/v2", ns, ""),
		},
		{
			name:    "without its CA a mirror is not trusted",
			servers: map[string]server{"cache.internal:5000": {images: acme, ca: privateCA}},
			set:     mirrors.Set{Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal:5000"), SkipFallback: true}}},
			wantErr: "certificate signed by unknown authority",
		},
		{
			name:    "insecureSkipVerify trusts it",
			servers: map[string]server{"cache.internal:5000": {images: acme, ca: privateCA}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal:5000"), SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"cache.internal:5000": {TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
			},
			want: whole("cache.internal:5000", "/v2", ns, ""),
		},
		{
			name:    "port 443, spelled out: its key has the port",
			servers: map[string]server{"m.internal:443": {images: acme, ca: privateCA}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://m.internal:443"), SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"m.internal:443": private},
			},
			want: whole("m.internal:443", "/v2", ns, ""),
		},
		{
			name:    "port 443, spelled out: the key without it does nothing",
			servers: map[string]server{"m.internal:443": {images: acme, ca: privateCA}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://m.internal:443"), SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"m.internal": private},
			},
			wantErr: "certificate signed by unknown authority",
		},
		{
			name:    "a client certificate",
			servers: map[string]server{"cache.internal:5000": {images: acme, ca: privateCA, clients: privateCA}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal:5000"), SkipFallback: true}},
				Config: map[string]mirrors.HostConfig{"cache.internal:5000": {TLS: &mirrors.TLS{
					CA:             mirrors.PEM(privateCA.pem),
					ClientIdentity: &mirrors.ClientIdentity{Certificate: mirrors.PEM(certificate), Key: mirrors.NewSecret(string(key))},
				}}},
			},
			want: whole("cache.internal:5000", "/v2", ns, " certificate=node-7"),
		},
		{
			name:    "credentials by user",
			servers: map[string]server{"cache.internal:443": {images: acme, ca: publicCA, user: "robot:made-up-password"}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal"), SkipFallback: true}},
				Config: map[string]mirrors.HostConfig{"cache.internal": {Auth: &mirrors.Auth{
					Username: "robot", Password: mirrors.NewSecret("made-up-password")}}},
			},
			want: challenged("cache.internal:443", ns, " "+basic),
		},
		{
			name:    "credentials by auth",
			servers: map[string]server{"cache.internal:443": {images: acme, ca: publicCA, user: "robot:made-up-password"}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal"), SkipFallback: true}},
				Config: map[string]mirrors.HostConfig{"cache.internal": {Auth: &mirrors.Auth{
					Auth: mirrors.NewSecret(base64.StdEncoding.EncodeToString([]byte("robot:made-up-password")))}}},
			},
			want: challenged("cache.internal:443", ns, " "+basic),
		},
		{
			name:    "credentials by identity token",
			servers: map[string]server{"cache.internal:443": {images: acme, ca: publicCA, token: "made-up-token"}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal"), SkipFallback: true}},
				Config:  map[string]mirrors.HostConfig{"cache.internal": {Auth: &mirrors.Auth{IdentityToken: mirrors.NewSecret("made-up-token")}}},
			},
			want: challenged("cache.internal:443", ns, " Bearer "+accessToken, "cache.internal:443: POST /token refresh_token=made-up-token"),
		},
		{
			name:    "credentials under another host are not sent",
			servers: map[string]server{"cache.internal:5000": {images: acme, ca: publicCA, user: "robot:made-up-password"}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://cache.internal:5000"), SkipFallback: true}},
				Config: map[string]mirrors.HostConfig{"cache.internal": {Auth: &mirrors.Auth{
					Username: "robot", Password: mirrors.NewSecret("made-up-password")}}},
			},
			want:    []string{"cache.internal:5000: HEAD /v2/acme/app/manifests/v1" + ns},
			wantErr: "no basic auth credentials",
		},
		{
			name:    "Docker Hub: the mirror is that of docker.io, the credentials are those of the host that serves it",
			ref:     "docker.io/acme/app:v1",
			servers: map[string]server{"cache.internal:5000": {}, "registry-1.docker.io:443": {images: acme, ca: publicCA, user: "robot:made-up-password"}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"docker.io": {Endpoints: endpoints("http://cache.internal:5000")}},
				Config: map[string]mirrors.HostConfig{"registry-1.docker.io": {Auth: &mirrors.Auth{
					Username: "robot", Password: mirrors.NewSecret("made-up-password")}}},
			},
			want: []string{
				"cache.internal:5000: HEAD /v2/acme/app/manifests/v1?ns=docker.io",
				"registry-1.docker.io:443: HEAD /v2/acme/app/manifests/v1",
				"registry-1.docker.io:443: HEAD /v2/acme/app/manifests/v1 " + basic,
				"cache.internal:5000: GET /v2/acme/app/manifests/MANIFEST?ns=docker.io",
				"registry-1.docker.io:443: GET /v2/acme/app/manifests/MANIFEST",
				"registry-1.docker.io:443: GET /v2/acme/app/manifests/MANIFEST " + basic,
				"cache.internal:5000: GET /v2/acme/app/blobs/CONFIG?ns=docker.io",
				"registry-1.docker.io:443: GET /v2/acme/app/blobs/CONFIG " + basic,
				"cache.internal:5000: GET /v2/acme/app/blobs/LAYER?ns=docker.io",
				"registry-1.docker.io:443: GET /v2/acme/app/blobs/LAYER " + basic,
			},
		},
		{
			name:    "a registry without a mirror: its CA",
			ref:     "reg.internal:5000/acme/app:v1",
			servers: map[string]server{"reg.internal:5000": {images: acme, ca: privateCA}},
			set:     mirrors.Set{Config: map[string]mirrors.HostConfig{"reg.internal:5000": private}},
			want:    whole("reg.internal:5000", "/v2", "", ""),
		},
		{
			name:    "a registry with TLS settings is not asked of the * mirror",
			ref:     "reg.internal:5000/acme/app:v1",
			servers: map[string]server{"reg.internal:5000": {images: acme, ca: privateCA}, "star.internal:5000": {images: acme}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"*": {Endpoints: endpoints("http://star.internal:5000")}},
				Config:  map[string]mirrors.HostConfig{"reg.internal:5000": private},
			},
			want: whole("reg.internal:5000", "/v2", "", ""),
		},
		{
			name:    "fallback to a registry with a private CA does not use it",
			ref:     "reg.internal:5000/acme/app:v1",
			servers: map[string]server{"reg.internal:5000": {images: acme, ca: privateCA}, "cache.internal:5000": {}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"reg.internal:5000": {Endpoints: endpoints("http://cache.internal:5000")}},
				Config:  map[string]mirrors.HostConfig{"reg.internal:5000": private},
			},
			want:    []string{"cache.internal:5000: HEAD /v2/acme/app/manifests/v1?ns=reg.internal%3A5000"},
			wantErr: "not found",
		},
		{
			name:    "unless it is its own last endpoint",
			ref:     "reg.internal:5000/acme/app:v1",
			servers: map[string]server{"reg.internal:5000": {images: acme, ca: privateCA}, "cache.internal:5000": {}},
			set: mirrors.Set{
				Mirrors: map[string]mirrors.Mirror{"reg.internal:5000": {Endpoints: endpoints("http://cache.internal:5000", "https://reg.internal:5000")}},
				Config:  map[string]mirrors.HostConfig{"reg.internal:5000": private},
			},
			want: alternately(whole("cache.internal:5000", "/v2", "?ns=reg.internal%3A5000", ""), whole("reg.internal:5000", "/v2", "", "")),
		},
	}
	n := 0
	for _, form := range []configpatch.Form{configpatch.Legacy, configpatch.Documents} {
		for _, tt := range tests {
			t.Run(fmt.Sprint(form, "/", tt.name), func(t *testing.T) {
				net := newNetwork()
				for hostport, s := range tt.servers {
					net.add(t, hostport, s)
				}
				if tt.ref == "" {
					tt.ref = "ghcr.io/acme/app:v1"
				}
				net.check(t, tt.set, form, tt.ref, tt.want, tt.wantErr)
				n += len(tt.want)
			})
		}
	}
	verdict.Proved(t, "the resolver of containerd 2.4.2 asks what it should, %d requests in %d pulls, through Talos configurations of both forms", n, 2*len(tests))
}

// TestPullIPv6 pulls from an address in brackets, dialled as it is.
func TestPullIPv6(t *testing.T) {
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		servers.Missing(t, fmt.Sprintf("this machine has no IPv6 loopback: %v", err))
	} else {
		l.Close()
	}
	net := newNetwork()
	at := net.add(t, "", server{images: []string{"acme/app:v1"}, ca: privateCA, loopback: "[::1]:0"})
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"ghcr.io": {Endpoints: endpoints("https://" + at), SkipFallback: true}},
		Config:  map[string]mirrors.HostConfig{at: {TLS: &mirrors.TLS{CA: mirrors.PEM(privateCA.pem)}}},
	}
	for _, form := range []configpatch.Form{configpatch.Legacy, configpatch.Documents} {
		net.check(t, set, form, "ghcr.io/acme/app:v1", whole(at, "/v2", "?ns=ghcr.io", ""), "")
	}
	verdict.Proved(t, "containerd 2.4.2 pulls from https://%s with the CA under that key", at)
}

// check pulls and compares.
func (n *network) check(t *testing.T, set mirrors.Set, form configpatch.Form, ref string, want []string, wantErr string) {
	t.Helper()
	got, err := n.pull(t, set, form, ref)
	if !slices.Equal(got, want) {
		t.Errorf("the registries were asked\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if (err != nil) != (wantErr != "") || err != nil && !strings.Contains(err.Error(), wantErr) {
		t.Errorf("error %v, want %q", err, wantErr)
	}
	for _, stray := range n.strays {
		t.Errorf("%s would have been dialled", stray)
	}
	explained(t, set, ref, got)
}

// explained compares with what PullOrder says: the image is resolved at its
// URLs, in its order. A URL at which nothing answers leaves no request.
func explained(t *testing.T, set mirrors.Set, ref string, requests []string) {
	t.Helper()
	order, err := set.PullOrder(ref)
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	for _, line := range requests {
		hostport, rest, resolving := strings.Cut(line, ": HEAD ")
		if !resolving {
			continue
		}
		base, _, _ := strings.Cut(rest, "/acme/app/")
		is := func(a mirrors.Attempt) bool {
			u, err := url.Parse(a.URL)
			if err != nil {
				t.Fatal(err)
			}
			port := u.Port()
			if port == "" {
				port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
			}
			return net.JoinHostPort(u.Hostname(), port) == hostport && u.Path == base
		}
		for next < len(order.Containerd) && !is(order.Containerd[next]) {
			next++
		}
		if next == len(order.Containerd) {
			t.Errorf("%s: PullOrder does not have it there: %+v", line, order.Containerd)
			return
		}
	}
}
