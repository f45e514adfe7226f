package cozystack_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
)

func ExampleRead() {
	src, report, err := cozystack.Read([]byte(`
storageClass: replicated
talos:
  registryMirrors:
    ghcr.io:
      endpoints: [https://harbor.example.com/v2/ghcr-proxy]
      overridePath: true
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	fmt.Println(report)
	// Output:
	// map[ghcr.io:{[{https://harbor.example.com/v2/ghcr-proxy true}] false}]
	// ignored: storageClass
}

func ExampleWrite() {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"docker.io": {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://mirror.example.com"}}},
	}}
	for _, opts := range [][]cozystack.Option{nil, {cozystack.ForPlatform()}} {
		files, report, err := cozystack.Write(set, opts...)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s%s\n", files["values.yaml"], report)
	}
	// Output:
	// talos:
	//   registryMirrors:
	//     docker.io:
	//       endpoints:
	//         - https://mirror.example.com
	//       skipFallback: true
	//
	// registries:
	//   mirrors:
	//     docker.io:
	//       endpoints:
	//         - https://mirror.example.com
	// loss: mirrors["docker.io"].skipFallback: the platform's values have no skipFallback (block the registry in the network)
}
