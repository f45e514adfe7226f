package hosts_test

import (
	"fmt"
	"strings"
	"testing/fstest"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/hosts"
)

func ExampleRead() {
	dir := fstest.MapFS{"ghcr.io/hosts.toml": {Data: []byte(`
server = "https://last.example.com"
[host."https://cache.example.com/v2/ghcr"]
  override_path = true
  dial_timeout = "3s"
`)}}
	src, report, err := hosts.Read(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%+v\n", src.Set.Mirrors["ghcr.io"])
	fmt.Println(report)
	// Output:
	// {Endpoints:[{URL:https://cache.example.com/v2/ghcr OverridePath:true} {URL:https://last.example.com OverridePath:false}] SkipFallback:true}
	// ghcr.io/hosts.toml: line 5, column 3: loss: host["https://cache.example.com/v2/ghcr"].dial_timeout: Talos has no dial_timeout; containerd's default is 30s (drop it)
}

func ExampleWrite() {
	files, _, err := hosts.Write(mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"m.example.com:5000": {SkipFallback: true, Endpoints: []mirrors.Endpoint{{URL: "https://a.example.com"}, {URL: "https://b.example.com"}}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range files.Names() {
		fmt.Print("# ", name, "\n", strings.TrimSpace(string(files[name])), "\n")
	}
	// Output:
	// # m.example.com_5000_/hosts.toml
	// server = 'https://b.example.com'
	// capabilities = ['pull', 'resolve']
	// [host]
	//   [host.'https://a.example.com']
	//     capabilities = ['pull', 'resolve']
}
