package mirrors_test

import (
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
