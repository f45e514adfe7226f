package mirrors_test

import (
	"encoding/json"
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"gopkg.in/yaml.v3"
)

func ExampleDecode() {
	src, err := mirrors.Decode([]byte(`
mirrors:
  ghcr.io:
    endpoints:
      - https://harbor.example.com/v2/ghcr
  docker.io:
    endpoints: [cache.example.com:5000]
config:
  harbor.example.com:443:
    auth: {username: robot, password: made-up}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range src.Check() {
		fmt.Printf("%d:%d: %s: %s [%s]\n", f.Line, f.Column, f.Severity, f, f.Rule)
	}
	// Output:
	// 5:9: error: mirrors["ghcr.io"].endpoints[0]: without overridePath the node asks for "/v2/ghcr/v2" (want overridePath: true) [endpoint-path]
	// 7:17: error: mirrors["docker.io"].endpoints[0]: "cache.example.com:5000" has no scheme (want "https://cache.example.com:5000" or "http://cache.example.com:5000") [endpoint-scheme]
	// 9:3: warning: config["harbor.example.com:443"]: no endpoint has this host, spelled this way (want "harbor.example.com", as the endpoint's URL has it) [config-unused]
}

// A file that cannot be read in full: every mistake at once.
func ExampleDecode_mistakes() {
	_, err := mirrors.Decode([]byte(`
mirrors:
  ghcr.io:
    endpoint: [https://cache.example.com]
  quay.io:
    endpoints: [ftp://cache.example.com]
    skipFallback: yes
`))
	fmt.Println(err)
	// Output:
	// line 4, column 5: mirrors["ghcr.io"]: unknown key "endpoint" (did you mean "endpoints"?)
	// line 6, column 17: mirrors["quay.io"].endpoints[0]: unsupported scheme "ftp" (want http or https)
	// line 7, column 19: mirrors["quay.io"].skipFallback: found a string (want true)
}

func ExampleSet_PullOrder() {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"*": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.example.com/v2/all", OverridePath: true}}, SkipFallback: true},
		},
		Config: map[string]mirrors.HostConfig{
			"registry.example.com": {TLS: &mirrors.TLS{InsecureSkipVerify: true}},
		},
	}
	order, err := set.PullOrder("registry.example.com/team/app:v1")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range order.Containerd {
		fmt.Println("containerd:", a.URL)
	}
	for _, a := range order.Machined {
		fmt.Println("machined:  ", a.URL)
	}
	fmt.Println(order.Why)
	// Output:
	// containerd: https://registry.example.com/v2
	// machined:   https://cache.example.com/v2/all
	// config["registry.example.com"] has TLS settings and the registry has no mirror of its own: containerd then does not use the "*" mirror for it, machined does
}

func ExampleSet_Fix() {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"index.docker.io": {Endpoints: []mirrors.Endpoint{
			{URL: "https://harbor.example.com/v2/hub"},
			{URL: "https://harbor.example.com/v2/hub"},
		}},
	}}
	fixed, changes := set.Fix()
	for _, c := range changes {
		fmt.Println(c)
	}
	text, err := yaml.Marshal(fixed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// mirrors["index.docker.io"].endpoints[1]: "https://harbor.example.com/v2/hub" is there before and goes [endpoint-duplicate]
	// mirrors["index.docker.io"].endpoints[0]: overridePath: true for "https://harbor.example.com/v2/hub" [endpoint-path]
	// mirrors["index.docker.io"]: the key is "docker.io" [registry-alias]
	// mirrors:
	//     docker.io:
	//         endpoints:
	//             - https://harbor.example.com/v2/hub
	//         overridePath: true
}

func ExampleSet_AirGapped() {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.internal"}}},
		"quay.io": {SkipFallback: true},
	}}
	leaks, err := set.AirGapped([]string{"ghcr.io/siderolabs/kubelet:v1.35.0", "quay.io/cilium/cilium:v1.18.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range leaks {
		fmt.Printf("%s: %s asks %s [%s]\n", l.Registry, l.Puller, l.URL, l.Rule)
	}
	// Output:
	// ghcr.io: containerd asks https://ghcr.io/v2 [fallback]
	// ghcr.io: machined asks https://ghcr.io/v2 [fallback]
	// quay.io: containerd asks https://quay.io/v2 [skip-fallback-alone]
}

// One project of a Harbor for each upstream.
func ExampleCachePerPath() {
	set, err := mirrors.CachePerPath("https://harbor.example.com", mirrors.ProjectPath,
		map[string]string{"docker.io": "hub", "ghcr.io": "ghcr"}, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	order, err := set.PullOrder("nginx")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(order.Containerd[0].URL)
	// Output: https://harbor.example.com/v2/hub
}

// The same file means something else to an older Talos.
func ExampleSource_Check() {
	src, err := mirrors.Decode([]byte(`
mirrors:
  ghcr.io:
    endpoints: [https://cache.example.com]
    skipFallback: true
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range src.Check(mirrors.ForTalos("v1.8.4")) {
		fmt.Printf("%d:%d: %s\n", f.Line, f.Column, f)
	}
	fmt.Println(len(src.Check(mirrors.ForTalos("v1.13"))), "findings for v1.13")
	// Output:
	// 5:19: mirrors["ghcr.io"].skipFallback: Talos 1.8.4 does not know skipFallback (want Talos 1.9 or later)
	// 0 findings for v1.13
}

// A controller has no file: the findings have paths alone.
func ExampleSet_Check() {
	set := mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "http://cache.internal:5000"}}}},
		Config:  map[string]mirrors.HostConfig{"cache.internal:5000": {TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
	}
	findings := set.Check()
	for _, f := range findings {
		fmt.Println(f.Severity, f)
	}
	if err := findings.Err(); err != nil {
		fmt.Println("reconciling stops here")
	}
	// Output:
	// error config["cache.internal:5000"].tls: an endpoint is http://cache.internal:5000: machined refuses TLS settings for it, and then tries no endpoint of that mirror and not the upstream (want https://cache.internal:5000 as the endpoint, or no tls)
	// warning config["cache.internal:5000"].tls.insecureSkipVerify: the certificate is not verified: whoever is in between can hand out any image (want ca with the certificate of the host's CA)
	// reconciling stops here
}

// A Set within the values of a program's own configuration.
func ExampleSet_UnmarshalYAML() {
	var config struct {
		Cluster    string      `yaml:"cluster"`
		Registries mirrors.Set `yaml:"registries"`
	}
	err := yaml.Unmarshal([]byte(`
cluster: lab
registries:
  mirrors:
    ghcr.io: {endpoints: [https://cache.example.com], skipfallback: true}
`), &config)
	fmt.Println(err)
	// Output:
	// line 5, column 55: mirrors["ghcr.io"]: unknown key "skipfallback" (did you mean "skipFallback"?)
}

// For findings with the paths of the whole document, decode the node itself.
func ExampleDecodeNode() {
	root, err := mirrors.ReadDocument([]byte(`
spec:
  registries:
    mirrors:
      ghcr.io: {endpoints: [cache.example.com]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	node := root.Content[1].Content[1] // the value of spec.registries
	src, err := mirrors.DecodeNode(node, "spec.registries")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range src.Check() {
		fmt.Printf("%d:%d: %s\n", f.Line, f.Column, f)
	}
	// Output:
	// 5:29: spec.registries.mirrors["ghcr.io"].endpoints[0]: "cache.example.com" has no scheme (want "https://cache.example.com" or "http://cache.example.com")
}

// A reader of another format says where it found what.
func ExampleNewSource() {
	src := mirrors.NewSource(mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "ftp://cache.example.com"}}},
	}})
	src.Mark(mirrors.Place{Section: "mirrors", Key: "ghcr.io", Field: "endpoints[0]"},
		mirrors.Position{Path: "proxies[2].target", Line: 17, Column: 13})
	fmt.Println(src.Check().Err())
	// Output:
	// line 17, column 13: proxies[2].target: unsupported scheme "ftp" (want http or https)
}

// A password does not get into a log, but it is stored.
func ExampleNewSecret() {
	auth := mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}
	fmt.Printf("%+v\n", auth)
	stored, err := json.Marshal(auth)
	fmt.Println(string(stored), err)
	// Output:
	// {Username:robot Password:[redacted] Auth: IdentityToken:}
	// {"username":"robot","password":"made-up"} <nil>
}

// URLs in messages, before anybody knows whether they parse.
func ExampleRedactURL() {
	fmt.Println(mirrors.RedactURL("https://robot:made-up@cache.example.com/v2?token=made-up"))
	// Output:
	// https://[redacted]@cache.example.com/v2?[redacted]
}

func ExampleSet_PullOrders() {
	orders, err := mirrors.DockerHubMirror().PullOrders([]string{"nginx", "ghcr.io/siderolabs/kubelet:v1.35.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range orders {
		for _, a := range o.Containerd {
			fmt.Println(o.Image, a.URL)
		}
	}

	_, err = mirrors.DockerHubMirror().PullOrders([]string{"nginx", "Nginx", "ghcr.io/"})
	fmt.Println(err)
	// Output:
	// nginx https://mirror.gcr.io/v2
	// nginx https://registry-1.docker.io/v2
	// ghcr.io/siderolabs/kubelet:v1.35.0 https://ghcr.io/v2
	// "Nginx" is not an image reference: invalid reference format: repository name (library/Nginx) must be lowercase (want one such as registry.k8s.io/pause:3.10)
	// "ghcr.io/" is not an image reference: invalid reference format (want one such as registry.k8s.io/pause:3.10)
}

// Docker Hub's public images come from Google's cache.
func ExampleDockerHubMirror() {
	text, err := yaml.Marshal(mirrors.DockerHubMirror())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// mirrors:
	//     docker.io:
	//         endpoints:
	//             - https://mirror.gcr.io
}

// One registry:2 for each upstream, on ports of one machine.
func ExampleCachePerPort() {
	set, err := mirrors.CachePerPort("http://192.0.2.10", map[string]int{"docker.io": 5000, "ghcr.io": 5001}, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := yaml.Marshal(set)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))

	_, err = mirrors.CachePerPort("192.0.2.10:5000", map[string]int{"docker.io": 5000, "ghcr.io": 5000}, true)
	fmt.Println(err)
	// Output:
	// mirrors:
	//     docker.io:
	//         endpoints:
	//             - http://192.0.2.10:5000
	//         skipFallback: true
	//     ghcr.io:
	//         endpoints:
	//             - http://192.0.2.10:5001
	//         skipFallback: true
	// origin: "192.0.2.10:5000" has no scheme (want "https://192.0.2.10:5000" or "http://192.0.2.10:5000")
	// mirrors["ghcr.io"]: port 5000 is that of "docker.io" as well (want a port for each upstream)
}

// One cache that tells the upstreams apart itself, such as Spegel, for all that
// a Talos cluster pulls from.
func ExampleSharedCache() {
	set, err := mirrors.SharedCache("http://127.0.0.1:30020", mirrors.Upstreams(), false)
	if err != nil {
		fmt.Println(err)
		return
	}
	order, err := set.PullOrder("quay.io/cilium/cilium:v1.18.0")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range order.Containerd {
		fmt.Println(a.URL)
	}
	// Output:
	// http://127.0.0.1:30020/v2
	// https://quay.io/v2
}

func ExampleUpstreams() {
	fmt.Println(mirrors.Upstreams())
	// Output:
	// [docker.io factory.talos.dev gcr.io ghcr.io quay.io registry.k8s.io]
}

// What Check and Decode know, as a table.
func ExampleRules() {
	for _, r := range mirrors.Rules() {
		if r.Name == mirrors.RuleSkipFallbackAlone {
			fmt.Printf("%s (%s)\nfinds: %s\nwhy:   %s\nfix:   %s\n", r.Name, r.Severity, r.Finds, r.Reason, r.Fix)
		}
	}
	// Output:
	// skip-fallback-alone (error (info with the image cache))
	// finds: skipFallback and no endpoint
	// why:   machined refuses to pull; containerd goes to the upstream, since its hosts file is empty.
	// fix:   Write an endpoint, or drop skipFallback.
}
