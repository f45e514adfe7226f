package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

var update = flag.Bool("update", false, "write the golden files")

// call runs the command.
func call(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// setups are the ways to call it, each with a golden file.
var setups = []struct {
	name string
	args []string
}{
	{"nodeport-cilium", []string{"--cache", "http://192.0.2.10", "--cilium", "--node-cidr", "192.0.2.0/24", "--node-cidr", "fd00:1::/64",
		"--fqdn", "factory.talos.dev=*.store.example.com", "--fqdn", "registry.internal:5000=blobs.internal"}},
	{"https-loadbalancer", []string{"--cache", "https://cache.example.com", "--ca", "testdata/ca.crt", "--tls-secret", "cache-tls",
		"--service", "LoadBalancer", "--service-annotation", "metallb.io/allow-shared-ip=caches", "--service-annotation", "metallb.io/loadBalancerIPs=192.0.2.10,fd00::10",
		"--first-port", "5001", "--namespace", "caches", "--cache-image", "registry.example.com/registry:3", "--storage", "100Gi"}},
	{"upstreams-legacy", []string{"--cache", "http://[fd00::10]", "--talos-version", "v1.11", "--upstream", "ghcr.io=30100", "--upstream", "registry.k8s.io=30101",
		"--upstream", "factory.talos.dev=30102", "--upstream", "quay.io=30103", "--upstream", "gcr.io=30104", "--upstream", "docker.io=30105", "--upstream", "registry.internal:5000=30106"}},
	{"harbor", []string{"--cache", "https://harbor.example.com", "--shape", "project"}},
	{"nexus", []string{"--cache", "https://nexus.example.com:8443", "--ca", "testdata/ca.crt", "--shape", "repository"}},
}

func TestGolden(t *testing.T) {
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			code, got, stderr := call("", append(s.args, "-f", "testdata/images.txt")...)
			if code != 0 || stderr != "" {
				t.Fatalf("exit code %d\n%s", code, stderr)
			}
			golden := filepath.Join("testdata", s.name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("not as in %s (run with -update, and look at the difference):\n%s", golden, got)
			}
		})
	}
}

// folder runs the command into a new folder.
func folder(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "deep", "out")
	code, stdout, stderr := call(stdin, append(args, "--out", dir)...)
	if code != 0 || stdout != "" {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	return dir
}

// TestPullsThroughTheCache: by the files that were written, both pullers go to
// the cache for every image, and to nothing else, with its certificates.
func TestPullsThroughTheCache(t *testing.T) {
	text, err := os.ReadFile("testdata/images.txt")
	if err != nil {
		t.Fatal(err)
	}
	images := readImages("images.txt", string(text))
	if len(images) != 11 {
		t.Fatalf("%d images", len(images))
	}
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			dir := folder(t, "", append(s.args, "-f", "testdata/images.txt")...)
			source, err := mirrors.Decode(read(t, dir, "registries.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if fs := source.Check(); fs.Err() != nil {
				t.Fatal(fs)
			}
			set := source.Set
			effective, err := configpatch.Read(read(t, dir, "merge.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			if !effective.Set.Equal(set) {
				t.Errorf("merge.yaml has another Set: %v", effective.Set)
			}
			origin, err := url.Parse(s.args[1])
			if err != nil {
				t.Fatal(err)
			}
			trusts := slices.Contains(s.args, "--ca")
			bases := map[string]string{} // of a registry
			for _, im := range images {
				order, err := set.PullOrder(im.reference)
				if err != nil {
					t.Fatal(err)
				}
				if order.ContainerdError+order.MachinedError != "" {
					t.Errorf("%s: %s%s", im.reference, order.ContainerdError, order.MachinedError)
				}
				for _, attempts := range [][]mirrors.Attempt{order.Containerd, order.Machined} {
					if len(attempts) != 1 {
						t.Fatalf("%s: %v, want one attempt", im.reference, attempts)
					}
					a := attempts[0]
					u, err := url.Parse(a.URL)
					if err != nil {
						t.Fatal(err)
					}
					if u.Hostname() != origin.Hostname() || u.Scheme != origin.Scheme || a.Fallback || (a.TLS == u.Host) != trusts || a.HTTPFallback {
						t.Errorf("%s: %+v", im.reference, a)
					}
					bases[order.Registry] = a.URL
				}
				if !strings.Contains(string(read(t, dir, "proof.txt")), im.reference+"\t"+bases[order.Registry]+"\n") {
					t.Errorf("proof.txt has not %s", im.reference)
				}
			}
			seen := map[string]bool{}
			for registry, base := range bases {
				if seen[base] {
					t.Errorf("%s: %s is another's as well", registry, base)
				}
				seen[base] = true
			}
			if len(bases) != 7 {
				t.Errorf("%d registries", len(bases))
			}
		})
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// kubernetes is what the tests look at of the objects.
type kubernetes struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Spec struct {
		Type     string
		Selector yaml.Node
		Ports    []struct {
			Name, TargetPort string
			Port, NodePort   int
		}
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				EnableServiceLinks, AutomountServiceAccountToken *bool
				SecurityContext                                  struct {
					RunAsNonRoot   bool
					RunAsUser      int
					SeccompProfile struct{ Type string }
				}
				Containers []struct {
					Env             []struct{ Name, Value string }
					Ports           []struct{ Name string }
					SecurityContext struct {
						AllowPrivilegeEscalation, ReadOnlyRootFilesystem *bool
						Capabilities                                     struct{ Drop []string }
					}
					VolumeMounts []struct{ Name, MountPath string }
				}
				Volumes []struct {
					Name                  string
					PersistentVolumeClaim struct{ ClaimName string }
				}
			}
		}
	}
}

func objects(t *testing.T, data []byte) (all []kubernetes) {
	t.Helper()
	// yaml.v3 takes a field's name in lower case for its key; Kubernetes writes camelCase.
	var lower func(n *yaml.Node)
	lower = func(n *yaml.Node) {
		for i, c := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && c.Value != "apiVersion" {
				c.Value = strings.ToLower(c.Value)
			}
			lower(c)
		}
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var n yaml.Node
		if err := dec.Decode(&n); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		lower(&n)
		var o kubernetes
		if err := n.Decode(&o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

// TestManifests: an object of each kind for each upstream, which find each
// other, and Pods as the restricted level wants them.
func TestManifests(t *testing.T) {
	for _, s := range setups {
		t.Run(s.name, func(t *testing.T) {
			dir := folder(t, "", append(s.args, "-f", "testdata/images.txt")...)
			if slices.Contains(s.args, "--shape") {
				if _, err := os.Stat(filepath.Join(dir, "caches.yaml")); err == nil {
					t.Error("there are caches for a host that is one")
				}
				return
			}
			namespace, own := "pull-through-cache", 1
			if i := slices.Index(s.args, "--namespace"); i >= 0 { // that of somebody, who labels it
				namespace, own = s.args[i+1], 0
			}
			kinds, remotes := map[string]int{}, map[string]bool{}
			names := map[string]bool{}
			claims := map[string]bool{}
			for _, o := range objects(t, read(t, dir, "caches.yaml")) {
				kinds[o.Kind]++
				if names[o.Kind+o.Metadata.Name] {
					t.Errorf("%s %s is there twice", o.Kind, o.Metadata.Name)
				}
				names[o.Kind+o.Metadata.Name] = true
				if o.Kind != "Namespace" && o.Metadata.Namespace != namespace {
					t.Errorf("%s %s is in %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
				}
				pod := o.Spec.Template.Spec
				switch o.Kind {
				case "PersistentVolumeClaim":
					claims[o.Metadata.Name] = true
				case "Deployment":
					c := pod.Containers[0]
					sc := c.SecurityContext
					if !pod.SecurityContext.RunAsNonRoot || pod.SecurityContext.RunAsUser == 0 || pod.SecurityContext.SeccompProfile.Type != "RuntimeDefault" ||
						*sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || !slices.Equal(sc.Capabilities.Drop, []string{"ALL"}) ||
						*pod.EnableServiceLinks || *pod.AutomountServiceAccountToken {
						t.Errorf("%s: %+v", o.Metadata.Name, pod)
					}
					if !claims[pod.Volumes[0].PersistentVolumeClaim.ClaimName] || c.VolumeMounts[0].MountPath != environment(o)["REGISTRY_STORAGE_FILESYSTEM_ROOTDIRECTORY"] {
						t.Errorf("%s: the store is not on the claim", o.Metadata.Name)
					}
					remotes[environment(o)["REGISTRY_PROXY_REMOTEURL"]] = true
				case "Service":
					var selector map[string]string
					if err := o.Spec.Selector.Decode(&selector); err != nil {
						t.Fatal(err)
					}
					if !names["Deployment"+o.Metadata.Name] || selector["app.kubernetes.io/instance"] != o.Metadata.Name || o.Spec.Ports[0].TargetPort != "http" {
						t.Errorf("service %s: %+v", o.Metadata.Name, o.Spec)
					}
				}
			}
			for _, want := range []string{"https://registry-1.docker.io", "https://ghcr.io", "https://registry.internal:5000", "https://factory.talos.dev",
				"https://quay.io", "https://gcr.io", "https://registry.k8s.io"} {
				if !remotes[want] {
					t.Errorf("no cache of %s", want)
				}
			}
			want := 0
			if slices.Contains(s.args, "--cilium") {
				want = 7
			}
			if kinds["Namespace"] != own || kinds["Deployment"] != 7 || kinds["Service"] != 7 || kinds["PersistentVolumeClaim"] != 7 || kinds["CiliumNetworkPolicy"] != want {
				t.Errorf("%v", kinds)
			}
		})
	}
}

func environment(o kubernetes) map[string]string {
	env := map[string]string{}
	for _, e := range o.Spec.Template.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	return env
}

// TestOneBalancer: a single upstream needs no address that is shared.
func TestOneBalancer(t *testing.T) {
	code, stdout, stderr := call("", "--cache", "http://192.0.2.10", "--service", "LoadBalancer", "nginx")
	if code != 0 || strings.Contains(stdout, "annotations:") {
		t.Errorf("exit code %d\n%s%s", code, stderr, stdout)
	}
}

func TestObjectNames(t *testing.T) {
	long := strings.Repeat("a.", 40) + "example.com"
	names := objectNames([]string{"a.example.com", "a-example.com", "[fd00::1]:5000", "registry.example.com", long, long + ":5000"})
	seen := map[string]bool{}
	for upstream, n := range names {
		if seen[n] || !label.MatchString(n) || !strings.HasPrefix(n, "cache-") {
			t.Errorf("%s is called %q", upstream, n)
		}
		seen[n] = true
	}
}

// TestWrongInput: all that is wrong is said at once, and nothing is printed.
func TestWrongInput(t *testing.T) {
	const cache = "http://192.0.2.10"
	for _, tt := range []struct {
		name, stdin string
		args        []string
		code        int
		want        []string
	}{
		{"no cache", "nginx\n", []string{"-f", "-"}, 2, []string{"airgap: --cache is missing\n"}},
		{"unknown flag", "", []string{"--nope"}, 2, []string{"-nope"}},
		{"no image", "# none\n\n", []string{"--cache", cache, "-f", "-"}, 1, []string{"there is no image"}},
		{"no file", "", []string{"--cache", cache, "-f", "testdata/none"}, 1, []string{"testdata/none"}},
		{"all images that are none", "nginx\nnginx:\n a b\nlocalhost:5000/x\nghcr.io/ok:v1\n127.0.0.1:5000/y\n[::1]:5000/z\nlocalhost/w\n",
			[]string{"--cache", cache, "-f", "-", "192.0.2.10:5000/own", "http://x"}, 1, []string{
				`standard input:2: "nginx:" is not an image reference`, `standard input:3: "a b" is not`, `standard input:4: "localhost:5000/x" is at the node itself`,
				"standard input:6:", "standard input:7:", "standard input:8:", `argument 1: "192.0.2.10:5000/own" is at the cache itself`, `argument 2: "http://x" is not`}},
		{"registries that are none", "UPPER/case\na_b.io/x/y\nghcr.io\nregistry.example.com:5000\n", []string{"--cache", cache, "-f", "-", "registry-1.docker.io/x/y", "Ghcr.io/a/b"}, 1, []string{
			`standard input:1: "UPPER/case": a registry is spelled in lower case`, `standard input:2: "a_b.io/x/y" has no registry`,
			`standard input:3: "ghcr.io" is the image docker.io/library/ghcr.io`, `standard input:4: "registry.example.com:5000" is the image`,
			`argument 1: "registry-1.docker.io/x/y": images of Docker Hub have the registry "docker.io"`, `argument 2: "Ghcr.io/a/b": a registry is spelled in lower case`}},
		{"cache with a path", "", []string{"--cache", cache + "/v2/proxy", "nginx"}, 2, []string{"has a path"}},
		{"cache with a port", "", []string{"--cache", cache + ":5000", "nginx"}, 2, []string{"has a port"}},
		{"cache without a scheme", "", []string{"--cache", "192.0.2.10", "nginx"}, 2, []string{"origin: "}},
		{"Docker Hub for a cache", "", []string{"--cache", "http://registry-1.docker.io", "nginx"}, 2, []string{`--cache: "registry-1.docker.io" is docker.io itself`}},
		{"Docker Hub with a dot", "", []string{"--cache", "http://docker.io.", "nginx"}, 2, []string{`--cache: "docker.io" is docker.io itself`}},
		{"another registry for a cache", "", []string{"--cache", "https://QUAY.io", "--shape", "project", "nginx"}, 2, []string{`--cache: "quay.io" is quay.io itself`}},
		{"where blobs are", "", []string{"--cache", "https://cdn01.quay.io", "--shape", "project", "nginx"}, 2, []string{`--cache: "cdn01.quay.io" is quay.io itself`}},
		{"Microsoft's registry", "", []string{"--cache", "https://mcr.microsoft.com.", "--shape", "project", "nginx"}, 2, []string{`--cache: "mcr.microsoft.com" is`}},
		{"an upstream for a cache", "", []string{"--cache", "http://registry.example.com.", "--upstream", "registry.example.com:5000=30500", "--upstream", "docker.io=x", "nginx"}, 2,
			[]string{`--upstream: "registry.example.com:5000" is at the cache itself`, `"x" is no port of docker.io`}},
		{"an image at the cache", "", []string{"--cache", "http://registry.example.com.", "registry.example.com:5000/a"}, 1, []string{`"registry.example.com:5000/a" is at the cache itself`}},
		{"an address written in two ways", "", []string{"--cache", "http://[fd00:0::10]", "[fd00::10]:5000/a"}, 1, []string{`"[fd00::10]:5000/a" is at the cache itself`}},
		{"no such shape", "", []string{"--cache", cache, "--shape", "star", "nginx"}, 2, []string{`--shape: "star"`}},
		{"upstreams that are none", "", []string{"--cache", cache, "--upstream", "ghcr.io", "--upstream", "docker.io=x", "--upstream", "quay.io=1", "--upstream", "quay.io=2", "nginx"}, 2,
			[]string{`"ghcr.io" is no upstream`, `"x" is no port of docker.io`, `"quay.io" is there twice`}},
		{"one port for two", "", []string{"--cache", cache, "--upstream", "ghcr.io=30500", "--upstream", "docker.io=30500", "nginx"}, 2, []string{"port 30500 is that of"}},
		{"an upstream that the cache has not", "", []string{"--cache", cache, "--upstream", "ghcr.io=30500", "nginx", "ghcr.io/a/b:1", "quay.io/c/d"}, 1, []string{
			"airgap: nginx: containerd would ask https://registry-1.docker.io/v2: no mirror has the key", "airgap: nginx: machined would ask", "airgap: quay.io/c/d: containerd would ask https://quay.io/v2", "[no-mirror]"}},
		{"caches that cannot be", "", []string{"--cache", cache, "--namespace", "A_b", "--cache-image", "UPPER", "--storage", "much", "--tls-secret", "x", "--node-cidr", "192.0.2.1/24", "--first-port", "5000", "nginx"}, 2,
			[]string{`--namespace: "A_b"`, "--cache-image:", `--storage: "much"`, "--tls-secret: the cache speaks http", `--node-cidr: "192.0.2.1/24"`, "port 5000 of docker.io is no node port", "are for --cilium"}},
		{"balancers with an address each", "", []string{"--cache", cache, "--service", "LoadBalancer", "nginx", "ghcr.io/a/b"}, 2, []string{
			"--service-annotation: missing, and each of the 2 Services", "metallb.io/allow-shared-ip=KEY", "lbipam.cilium.io/sharing-key=KEY"}},
		{"annotations that are none", "", []string{"--cache", cache, "--service-annotation", "a", "--service-annotation", "-/b=c", "--service-annotation", "a/b=c", "--service-annotation", "a/b=", "nginx"}, 2,
			[]string{`--service-annotation: "a" is none`, `--service-annotation: "-/b=c" is none`, `--service-annotation: "a/b" is there twice`}},
		{"https without a certificate", "", []string{"--cache", "https://cache.example.com", "nginx"}, 2, []string{"--tls-secret: missing"}},
		{"CA that is none", "", []string{"--cache", "https://cache.example.com", "--tls-secret", "x", "--ca", "testdata/images.txt", "nginx"}, 1, []string{"--ca: no certificate in testdata/images.txt"}},
		{"CA of nothing", "", []string{"--cache", "https://cache.example.com", "--tls-secret", "x", "--ca", os.DevNull, "nginx"}, 1, []string{"--ca: no certificate in " + os.DevNull}},
		{"no file and no CA", "", []string{"--cache", "https://cache.example.com", "-f", "testdata/none", "--ca", "testdata/neither"}, 1, []string{"testdata/none", "--ca: open testdata/neither"}},
		{"flags without caches.yaml", "", []string{"--cache", cache, "--shape", "project", "--cilium", "--service", "Bogus", "--tls-secret", "foo", "--namespace", "$$", "--first-port", "1", "nginx"}, 2,
			[]string{"--cilium does nothing with --shape project", "--service does nothing", "--tls-secret does nothing", "--namespace does nothing", "--first-port does nothing with --shape project"}},
		{"flags without manifests", "", []string{"--cache", cache, "--manifests=false", "--cilium", "--node-cidr", "192.0.2.0/24", "--fqdn", "docker.io=x.example.com", "--storage", "1Gi", "--cache-image", "x", "nginx"}, 2,
			[]string{"--cilium does nothing with --manifests=false", "--node-cidr does nothing", "--fqdn does nothing", "--storage does nothing", "--cache-image does nothing"}},
		{"two ways to give ports", "", []string{"--cache", cache, "--first-port", "30600", "--upstream", "docker.io=30500", "nginx"}, 2, []string{"--first-port does nothing with --upstream"}},
		{"flags that are empty", "", []string{"--cache", cache, "--ca", "", "-f", "", "nginx"}, 2, []string{"--ca is empty", "--f is empty"}},
		{"a flag behind an image", "", []string{"--cache", cache, "nginx", "--cilium"}, 2, []string{"--cilium is behind an image"}},
		{"wrong flags and images", "", []string{"--cache", cache, "--shape", "star", "--talos-version", "new", "nginx:"}, 2, []string{`argument 1: "nginx:"`, `--shape: "star"`, `cannot read "new"`}},
		{"CA for http", "", []string{"--cache", cache, "--ca", "testdata/ca.crt", "nginx"}, 2, []string{"tls"}},
		{"hosts that are none", "", []string{"--cache", cache, "--cilium", "--fqdn", "docker.io", "--fqdn", "docker.io=UPPER.example.com", "--fqdn", "ghcr.io=cdn.example.com", "nginx"}, 2,
			[]string{`"docker.io" is no host`, `"docker.io=UPPER.example.com" is no host`, `"ghcr.io" is not an upstream of this cache`}},
		{"policy for an address", "", []string{"--cache", cache, "--cilium", "192.0.2.99:5000/x"}, 2, []string{`the upstream "192.0.2.99:5000" is an address`}},
		{"Talos of no version", "", []string{"--cache", cache, "--talos-version", "new", "nginx"}, 2, []string{`cannot read "new"`}},
		{"Talos that cannot replace", "", []string{"--cache", cache, "--talos-version", "v1.5", "nginx"}, 2, []string{"skipFallback"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{tt.args, append([]string{"--out", dir}, tt.args...)} {
				code, stdout, stderr := call(tt.stdin, args...)
				if code != tt.code || stdout != "" {
					t.Errorf("exit code %d, want %d; standard output %q", code, tt.code, stdout)
				}
				for _, want := range tt.want {
					if !strings.Contains(stderr, want) {
						t.Errorf("standard error does not say %q:\n%s", want, stderr)
					}
				}
			}
			if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) > 0 {
				t.Errorf("there is %v, %v", left, err)
			}
		})
	}
}

// TestByteOrderMark: a list that an editor of Windows wrote is one.
func TestByteOrderMark(t *testing.T) {
	code, stdout, stderr := call("\ufeffnginx\r\nghcr.io/a/b\r\n", "--cache", "http://192.0.2.10", "-f", "-")
	if code != 0 || !strings.Contains(stdout, "\n2 images; ") {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
}

// TestRepeated: an image that is there twice is a warning, and pulled once.
func TestRepeated(t *testing.T) {
	code, stdout, stderr := call("nginx\nghcr.io/a/b\nnginx\n", "--cache", "http://192.0.2.10", "-f", "-", "ghcr.io/a/b")
	if code != 0 || !strings.Contains(stderr, `standard input:3: "nginx" is there already, at standard input:1`) || !strings.Contains(stderr, `argument 1: "ghcr.io/a/b" is there already`) {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	if !strings.Contains(stdout, "\n2 images; ") {
		t.Error("not two images")
	}
}

// TestWriteFolder: a folder is whole or not there.
func TestWriteFolder(t *testing.T) {
	dir := t.TempDir()
	files := []file{{"a", []byte("1")}, {"b", []byte("2")}}
	used := filepath.Join(dir, "used")
	os.MkdirAll(filepath.Join(used, "x"), 0o755)
	os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644)
	os.Mkdir(filepath.Join(dir, "empty"), 0o755)
	os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "dangling"))
	os.Symlink("empty", filepath.Join(dir, "link"))
	here := filepath.Join(dir, "here")
	os.Mkdir(here, 0o755)
	t.Chdir(here)
	for _, tt := range []struct{ out, want string }{
		{".", ". is the current folder"},
		{here, "is the current folder"},
		{filepath.Join(dir, "dangling"), "is a symbolic link"},
		{filepath.Join(dir, "dangling") + "/", "is a symbolic link"},
		{filepath.Join(dir, "link"), "is a symbolic link"},
		{used, "is not empty"},
		{filepath.Join(dir, "plain"), "not a directory"},
		{filepath.Join(dir, "plain", "below"), "not a directory"},
		{filepath.Join(dir, "empty"), ""},
		{filepath.Join(dir, "new", "deep"), ""},
	} {
		err := writeFolder(tt.out, files)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.out, err, tt.want)
		}
		if tt.want == "" && string(read(t, tt.out, "a"))+string(read(t, tt.out, "b")) != "12" {
			t.Errorf("%s is not whole", tt.out)
		}
	}
	// The second file cannot be written: nothing is left.
	if err := writeFolder(filepath.Join(dir, "half"), []file{{"a", nil}, {"no/such/folder", nil}}); err == nil {
		t.Error("a folder was written without its second file")
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if want := []string{"dangling", "empty", "here", "link", "new", "plain", "used"}; !slices.Equal(names, want) {
		t.Errorf("there is %v, want %v", names, want)
	}
}
