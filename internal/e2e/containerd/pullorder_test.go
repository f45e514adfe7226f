package containerd_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

// recipe makes a Set out of bytes; free is text that stands where a name of a
// registry or a URL can stand.
type recipe struct {
	bytes []byte
	free  []string
}

// below takes the next number, less than n.
func (r *recipe) below(n int) int {
	if len(r.bytes) == 0 {
		return 0
	}
	b := int(r.bytes[0])
	r.bytes = r.bytes[1:]
	return b % n
}

func (r *recipe) of(pool ...string) string { return pool[r.below(len(pool))] }

func (r *recipe) text() string {
	if len(r.free) == 0 {
		return ""
	}
	return r.free[r.below(len(r.free))]
}

func (r *recipe) host() string {
	return r.of("m1.internal", "m2.internal:5000", "M3.internal", "h.internal:443", "p.internal:80", "192.0.2.7:5000", "[fd00::1]:5000", "[fd00::1]",
		"localhost", "localhost:5000", "localhost:80", "127.0.0.1:443", "[::1]:5000", "httpbin.internal:5000",
		"docker.io", "registry-1.docker.io", "index.docker.io", "ghcr.io", "quay.io", "xn--e1afmkfd.internal")
}

func (r *recipe) registry() string {
	switch r.below(8) {
	case 0:
		return "*"
	case 1:
		return r.of("*.internal", "Docker.io", "https://ghcr.io", "fd00::1", "a_5000_", "_default")
	case 2:
		return r.text()
	}
	return r.host()
}

func (r *recipe) url() string {
	switch r.below(10) {
	case 0:
		return r.text()
	case 1:
		return r.host() // no scheme
	case 2:
		return r.of("https://user:password@m1.internal/v2", "https:///v2", "http:m:5000", "https://m1.internal:99999", "http://", "//m1.internal",
			"oci://m1.internal", "https://m1.internal ", "https://m1.internal/a b", "https://m1.internal/%zz", "https://fd00::1/", "HTTPS://m1.internal",
			"https://m1.internal/v2?x=y#z", "https://m'1.internal", "https://m1.internal/\\\"'", "https://m1.internal/\tx", "http", "https", "", "https://[fd00::1%25eth0]:5000")
	}
	return r.of("https", "http", "https") + "://" + r.host() + r.of("", "", "/", "/v2", "/v2/", "/v2/proxy", "/v2/proxy/", "/proxy", "/repository/x/v2", "/a/../v2", "/myv2", "/v2/../x", "//", "/%2e%2e/v2", "/é")
}

func (r *recipe) set() mirrors.Set {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{}, Config: map[string]mirrors.HostConfig{}}
	var urls []string
	for range r.below(4) {
		var m mirrors.Mirror
		for range r.below(5) {
			u := r.url()
			if len(urls) > 0 && r.below(8) == 0 {
				u = urls[r.below(len(urls))]
			}
			urls = append(urls, u)
			m.Endpoints = append(m.Endpoints, mirrors.Endpoint{URL: u, OverridePath: r.below(3) == 0})
		}
		m.SkipFallback = r.below(2) == 0
		set.Mirrors[r.registry()] = m
	}
	for i := range r.below(4) {
		host := r.registry()
		if len(urls) > 0 && r.below(2) == 0 {
			if u, err := url.Parse(urls[r.below(len(urls))]); err == nil {
				host = u.Host
			}
		}
		var t mirrors.TLS
		switch r.below(6) {
		case 0:
			t.InsecureSkipVerify = true
		case 1:
			t.CA = mirrors.PEM(privateCA.pem)
		case 2:
			t.CA = "no PEM"
		case 3:
			id := identities()[i]
			t.ClientIdentity = &mirrors.ClientIdentity{Certificate: id.Certificate, Key: mirrors.NewSecret("no key")}
		case 4: // a TLS section that says nothing
		default:
			// The certificate's name tells later by which key it came.
			id := identities()[i]
			t.ClientIdentity = &id
			t.CA = mirrors.PEM(privateCA.pem)
		}
		set.Config[host] = mirrors.HostConfig{TLS: &t}
	}
	return set
}

// identities are client certificates with the names 0, 1, 2, 3.
var identities = sync.OnceValue(func() (ids [4]mirrors.ClientIdentity) {
	for i := range ids {
		certificate, key := privateCA.issue(fmt.Sprint(i))
		ids[i] = mirrors.ClientIdentity{Certificate: mirrors.PEM(certificate), Key: mirrors.NewSecret(string(key))}
	}
	return ids
})

// onDisk reports whether the Set's hosts directory can be written at all, and
// in one way only: a name with a slash is no directory, and of two registries
// that share one, Talos writes either.
func onDisk(set mirrors.Set) bool {
	dirs := map[string]string{}
	for _, names := range [][]string{keys(set.Mirrors), keys(set.Config)} {
		for _, name := range names {
			dir := directoryName(name)
			if other, taken := dirs[dir]; taken && other != name {
				return false
			}
			dirs[dir] = name
			if dir == "" || dir == "." || dir == ".." || len(dir) > 200 || strings.ContainsAny(dir, "/\x00") || !utf8.ValidString(dir) {
				return false
			}
		}
	}
	for _, m := range set.Mirrors {
		for _, e := range m.Endpoints {
			u, err := url.Parse(e.URL)
			if !utf8.ValidString(e.URL) || err == nil && (len(u.Host) > 200 || strings.ContainsAny(u.Host, "/\x00")) {
				return false
			}
		}
	}
	return true
}

func keys[V any](m map[string]V) (names []string) {
	for k := range m {
		names = append(names, k)
	}
	return names
}

// withImageCache is the Set that Talos 1.13.9 works with once its image cache
// is ready.
func withImageCache(set mirrors.Set) mirrors.Set {
	set = set.DeepCopy()
	if _, there := set.Mirrors["*"]; !there {
		set.Mirrors["*"] = mirrors.Mirror{}
	}
	for name, m := range set.Mirrors {
		m.Endpoints = append([]mirrors.Endpoint{{URL: "http://127.0.0.1:3172"}}, m.Endpoints...)
		set.Mirrors[name] = m
	}
	return set
}

// samePullOrder compares what PullOrder says about containerd with what
// containerd does, for each registry that the Set could concern. It returns
// the number of lookups.
func samePullOrder(t *testing.T, set mirrors.Set, imageCache bool) (lookups int) {
	t.Helper()
	given, options := set, []mirrors.CheckOption(nil)
	if imageCache {
		set, options = withImageCache(set), []mirrors.CheckOption{mirrors.WithImageCache()}
	}
	if !onDisk(set) {
		return 0
	}
	root := t.TempDir()
	dirs, hostsErr := hostsDirectory(set, root)
	if hostsErr == nil {
		write(t, root, dirs)
		sameFiles(t, set, root, dirs)
	}
	registries := append(keys(set.Mirrors), keys(set.Config)...)
	registries = append(registries, "docker.io", "m1.internal", "localhost:5000", "m2.internal:5000", "other.internal", "[fd00::1]:5000")
	seen := map[string]bool{}
	for _, registry := range registries {
		order, err := given.PullOrder(registry+"/acme/app:v1", options...)
		if err != nil || seen[order.Registry] {
			continue // no registry, as far as an image reference can say
		}
		seen[order.Registry] = true
		lookups++

		ctx, errs := logErrors(context.Background())
		list, err := config.ConfigureHosts(ctx, config.HostOptions{HostDir: config.HostDirFromRoot(root)})(order.Registry)
		logged := errs()
		var got, want []string
		for _, h := range list {
			got = append(got, describe(t, set, h))
		}
		for _, a := range order.Containerd {
			line := a.URL
			switch {
			case a.HTTPFallback:
				line += " http-fallback"
			case a.TLS != "" && set.Config[a.TLS].TLS.ClientIdentity != nil:
				line += " tls=" + a.TLS
			case a.TLS != "":
				line += " tls"
			case a.Fallback && docker.IsLocalhost(order.Registry) && strings.HasPrefix(a.URL, "https:"):
				line += " tls" // containerd does not verify its own machine
			}
			want = append(want, line)
		}
		problem := func(format string, args ...any) {
			t.Errorf("%s: %s\nPullOrder  %q error %q\ncontainerd %q error %v, logged %q\n%+v",
				order.Registry, fmt.Sprintf(format, args...), want, order.ContainerdError, got, err, logged, set)
			for dir, files := range dirs {
				t.Errorf("%s/hosts.toml:\n%s", dir, files["hosts.toml"])
			}
		}
		switch {
		case err != nil:
			if len(order.Containerd) > 0 || order.ContainerdError == "" {
				problem("containerd refuses to pull")
			}
		case hostsErr != nil:
			if order.ContainerdError == "" {
				problem("Talos writes no hosts directory: %v", hostsErr)
			}
		case len(logged) > 0:
			if order.ContainerdError == "" {
				problem("containerd cannot read the file")
			}
			if strings.HasPrefix(logged[0], "toml:") && !strings.Contains(order.ContainerdError, "[redacted]") && order.ContainerdError != logged[0] {
				problem("another error")
			}
			// What certificates lie in the directory is then used for the upstream.
			strip := func(s []string) (urls []string) {
				for _, u := range s {
					urls = append(urls, strings.Fields(u)[0])
				}
				return urls
			}
			if !slices.Equal(strip(got), strip(want)) {
				problem("another list")
			}
		default:
			if order.ContainerdError != "" {
				problem("containerd has no error")
			}
			if !slices.Equal(got, want) {
				problem("another list")
			}
		}
	}
	return lookups
}

// sameFiles compares the files of package hosts, which refuses a Set in which
// Check finds errors, with what Talos writes.
func sameFiles(t *testing.T, set mirrors.Set, root string, dirs map[string]map[string]string) {
	t.Helper()
	files, _, err := hosts.Write(set, hosts.InFolder(root))
	if err != nil {
		if set.Check().Err() == nil {
			t.Errorf("Check has no error, hosts.Write has: %v\n%+v", err, set)
		}
		return
	}
	want := convert.Files{}
	for dir, names := range dirs {
		for name, text := range names {
			want[dir+"/"+name] = []byte(text)
		}
	}
	if !maps.EqualFunc(files, want, bytes.Equal) {
		t.Errorf("hosts.Write makes\n%q\nTalos\n%q\n%+v", files, want, set)
	}
	written++
}

// written counts the Sets that package hosts took.
var written int

// describe writes a host of containerd's list as the test writes an attempt.
func describe(t *testing.T, set mirrors.Set, h docker.RegistryHost) string {
	t.Helper()
	line := h.Scheme + "://" + h.Host + h.Path
	rt := h.Client.Transport
	if fmt.Sprintf("%T", rt) == "*docker.httpFallback" {
		return line + " http-fallback" // its TLS settings cannot be seen from here
	}
	c := rt.(*http.Transport).TLSClientConfig
	switch {
	case len(c.Certificates) > 0:
		leaf := c.Certificates[0].Leaf
		for key, host := range set.Config {
			if host.TLS.ClientIdentity != nil && identities()[leaf.Subject.CommonName[0]-'0'].Certificate == host.TLS.ClientIdentity.Certificate {
				line += " tls=" + key
			}
		}
	case c.RootCAs != nil || c.InsecureSkipVerify:
		line += " tls"
	}
	return line
}

// TestPullOrder compares on Sets made by a fixed sequence of random numbers.
func TestPullOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	sets, lookups := 0, 0
	for lookups < 10000 && !t.Failed() {
		data := make([]byte, 96)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		if n := samePullOrder(t, (&recipe{bytes: data}).set(), sets%4 == 0); n > 0 {
			sets++
			lookups += n
		}
	}
	if written < 100 {
		t.Errorf("package hosts took %d of the Sets, want 100 at least", written)
	}
	verdict.Proved(t, "PullOrder agrees with ConfigureHosts of containerd 2.4.2 on %d lookups in %d random Sets; hosts.Write makes the files of Talos 1.13.9 for the %d in which Check finds no error", lookups, sets, written)
}

func FuzzPullOrder(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for i := range 50 {
		data := make([]byte, 64)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data, "https://m1.internal/v2\x00reg.internal:5000\x00http://127.0.0.1:3172", i%2 == 0)
	}
	lookups := 0
	f.Fuzz(func(t *testing.T, data []byte, free string, imageCache bool) {
		lookups += samePullOrder(t, (&recipe{bytes: data, free: strings.Split(free, "\x00")}).set(), imageCache)
	})
	verdict.Proved(f, "PullOrder agrees with ConfigureHosts of containerd 2.4.2 on Sets made of any bytes: %d lookups", lookups)
}
