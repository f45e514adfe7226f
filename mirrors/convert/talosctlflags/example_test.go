package talosctlflags_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/talosctlflags"
)

func ExampleReadArgs() {
	src, _, err := talosctlflags.ReadArgs([]string{"gen", "config", "lab", "https://192.0.2.10:6443",
		"--registry-mirror", "docker.io=https://a.example.com", "--registry-mirror=docker.io=https://b.example.com,ghcr.io=https://c.example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	// Output: map[docker.io:{[{https://a.example.com false} {https://b.example.com false}] false} ghcr.io:{[{https://c.example.com false}] false}]
}

// The value of a shell variable is not here: where it may hold such a flag, it is an error.
func ExampleRead() {
	src, _, err := talosctlflags.Read([]byte(`talosctl gen config lab https://192.0.2.10:6443 \
  --registry-mirror 'ghcr.io=https://cache.example.com'  # the cache of the lab
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)

	_, _, err = talosctlflags.Read([]byte("talosctl gen config lab https://192.0.2.10:6443 --registry-mirror docker.io=https://$CACHE\n"))
	fmt.Println(err)
	// Output:
	// map[ghcr.io:{[{https://cache.example.com false}] false}]
	// line 1, column 85: --registry-mirror[0]: a shell expands "$", and its value is not here (write the value, or put the word in single quotes if it is meant as it stands)
}

func ExampleWrite() {
	files, report, err := talosctlflags.Write(mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}, {URL: "https://b.example.com"}}, SkipFallback: true},
		},
		Config: map[string]mirrors.HostConfig{"a.example.com": {TLS: &mirrors.TLS{InsecureSkipVerify: true}}},
	}, talosctlflags.ForClusterCreate())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", files["flags"])
	fmt.Println(report)
	// Output:
	// --registry-mirror ghcr.io=https://a.example.com
	// --registry-mirror ghcr.io=https://b.example.com
	// --registry-insecure-skip-verify a.example.com
	// loss: mirrors["ghcr.io"].skipFallback: there is no flag for it (patch the configuration instead)
}
