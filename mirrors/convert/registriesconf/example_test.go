package registriesconf_test

import (
	"fmt"
	"testing/fstest"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/registriesconf"
)

func ExampleRead() {
	src, report, err := registriesconf.Read([]byte(`
[[registry]]
prefix = "docker.io"
location = "last.example.com"
[[registry.mirror]]
location = "harbor.example.com/hub"

[[registry]]
prefix = "*.corp.example.com"
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	fmt.Println(report)
	// Output:
	// map[docker.io:{[{https://harbor.example.com/v2/hub true} {https://last.example.com false}] true}]
	// line 8, column 3: loss: registry[1]: the prefix "*.corp.example.com" stands for many registries; Talos knows single ones, and "*" for all (write a mirror for each registry)
}

func ExampleWrite() {
	files, report, err := registriesconf.Write(mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.example.com/v2/ghcr", OverridePath: true}}},
		},
		Config: map[string]mirrors.HostConfig{
			"harbor.example.com": {Auth: &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", files["registries.conf"])
	fmt.Println(report)
	// Output:
	// [[registry]]
	// location = 'ghcr.io'
	//
	// [[registry.mirror]]
	// location = 'harbor.example.com/ghcr'
	// loss: config["harbor.example.com"].auth: registries.conf has no credentials (write them to auth.json, the format docker-config)
}

// What podman machine or a distribution has put beside registries.conf counts too.
func ExampleWithDropIns() {
	folder := fstest.MapFS{ // or os.DirFS("/etc/containers")
		"registries.conf.d/10-hub.conf": {Data: []byte("[[registry]]\nlocation = \"docker.io\"\n[[registry.mirror]]\nlocation = \"mirror.gcr.io\"\n")},
	}
	src, _, err := registriesconf.Read([]byte("[[registry]]\nlocation = \"docker.io\"\n"), registriesconf.WithDropIns(folder))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	// Output:
	// map[docker.io:{[{https://mirror.gcr.io false}] false}]
}
