package dockerdaemon_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/dockerdaemon"
)

func ExampleRead() {
	src, report, err := dockerdaemon.Read([]byte(`{
  "registry-mirrors": ["https://mirror.example.com/"],
  "insecure-registries": ["10.0.0.0/8"],
  "log-driver": "json-file"
}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(src.Set.Mirrors)
	fmt.Println(report)
	// Output:
	// map[docker.io:{[{https://mirror.example.com false}] false}]
	// line 3, column 27: loss: insecure-registries[0]: Talos has no settings for a range of addresses (name each registry: config[HOST].tls.insecureSkipVerify)
	// ignored: log-driver
}

func ExampleWrite() {
	files, report, err := dockerdaemon.Write(mirrors.Set{
		Mirrors: map[string]mirrors.Mirror{
			"docker.io": {Endpoints: []mirrors.Endpoint{{URL: "https://mirror.example.com"}}},
			"ghcr.io":   {Endpoints: []mirrors.Endpoint{{URL: "https://mirror.example.com"}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", files["daemon.json"])
	fmt.Println(report)
	// Output:
	// {
	//   "registry-mirrors": [
	//     "https://mirror.example.com"
	//   ]
	// }
	// loss: mirrors["ghcr.io"]: Docker has mirrors for docker.io only (pull by the mirror's own name)
}
