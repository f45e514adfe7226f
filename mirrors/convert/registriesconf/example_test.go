package registriesconf_test

import (
	"fmt"

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
