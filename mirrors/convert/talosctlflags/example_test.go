package talosctlflags_test

import (
	"fmt"

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
