package k3s_test

import (
	"fmt"
	"testing/fstest"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
)

func ExampleRead() {
	src, report, err := k3s.Read([]byte(`
mirrors:
  docker.io:
    endpoint: [harbor.example.com]
    rewrite:
      "^(.*)$": "hub-proxy/$1"
  quay.io:
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	fmt.Println(report)
	// Output:
	// map[docker.io:{[{https://harbor.example.com/v2/hub-proxy true}] false}]
	// line 7, column 3: loss: mirrors["quay.io"]: without endpoints it enables the embedded registry mirror of k3s; Talos has none (drop it)
}

// The node was started with --disable-default-registry-endpoint, and its
// certificates lie on its disk.
func ExampleWithFiles() {
	node := fstest.MapFS{"etc/ssl/cache.crt": {Data: []byte("-----BEGIN CERTIFICATE-----\n…\n")}} // or os.DirFS("/")
	src, report, err := k3s.Read([]byte(`
mirrors:
  ghcr.io: {endpoint: [https://cache.example.com]}
configs:
  cache.example.com: {tls: {ca_file: /etc/ssl/cache.crt}}
`), k3s.WithFiles(node), k3s.DisableDefaultRegistryEndpoint())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("skipFallback:", src.Set.Mirrors["ghcr.io"].SkipFallback)
	fmt.Printf("ca: %.27s\n", src.Set.Config["cache.example.com"].TLS.CA)
	fmt.Println("lossless:", report.Lossless())
	// Output:
	// skipFallback: true
	// ca: -----BEGIN CERTIFICATE-----
	// lossless: true
}

// k3s has skipFallback for the whole node alone: the registry without it
// gets its own URL as the last endpoint.
func ExampleWrite() {
	files, report, err := k3s.Write(mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.example.com/v2/ghcr", OverridePath: true}}, SkipFallback: true},
		"quay.io": {Endpoints: []mirrors.Endpoint{{URL: "https://cache.example.com"}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", files["registries.yaml"])
	fmt.Println(report)
	// Output:
	// mirrors:
	//   ghcr.io:
	//     endpoint:
	//       - https://cache.example.com/v2/ghcr
	//   quay.io:
	//     endpoint:
	//       - https://cache.example.com
	//       - https://quay.io
	// decision: mirrors["ghcr.io"].skipFallback: k3s has it for a whole node (start the node with --disable-default-registry-endpoint)
}
