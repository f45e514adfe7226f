package convert_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/k3s"
)

// From one format to another: what either of them cannot say is told, by the
// reader with its place in the file, by the writer with its place in the Set.
func Example() {
	src, report, err := k3s.Read([]byte(`
mirrors:
  quay.io: {endpoint: [https://cache.example.com/quay/v2]}
  ghcr.io: {endpoint: [https://cache.example.com], rewrite: {"^org/(.*)$": "$1"}}
configs:
  cache.example.com: {auth: {username: robot, password: made-up}}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report)
	files, report, err := hosts.Write(src.Set)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report)
	fmt.Println(files.Names())
	// Output:
	// line 4, column 62: loss: mirrors["ghcr.io"].rewrite["^org/(.*)$"]: Talos has no rewrites; only one that puts a prefix before every repository has a URL that does the same (write endpoints that serve the images under their own names)
	// loss: config["cache.example.com"].auth: hosts.toml has no credentials; Talos gives them to containerd in its configuration of the CRI plugin (configure them there, plugins.'io.containerd.cri.v1.images'.registry.configs)
	// [ghcr.io/hosts.toml quay.io/hosts.toml]
}
