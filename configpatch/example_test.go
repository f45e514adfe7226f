package configpatch_test

import (
	"fmt"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

var exampleSet = mirrors.Set{
	Mirrors: map[string]mirrors.Mirror{
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.example.com/v2/ghcr", OverridePath: true}}},
	},
}

func ExampleMerge() {
	client, _ := configpatch.ParseVersion("v1.13.9")
	node, _ := configpatch.ParseVersion("v1.11.6")
	patch, err := configpatch.Merge(exampleSet, configpatch.Oldest(client, node))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", patch.Bytes())
	// Output:
	// machine:
	//     registries:
	//         mirrors:
	//             ghcr.io:
	//                 endpoints:
	//                     - https://harbor.example.com/v2/ghcr
	//                 overridePath: true
}

func ExampleReplace() {
	v, _ := configpatch.ParseVersion("v1.13")
	r, err := configpatch.Replace(exampleSet, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	// talosctl patch machineconfig -p @1-ensure.yaml -p @2-delete.yaml -p @3-set.yaml
	for _, patch := range r.Patches {
		fmt.Printf("# %s\n%s", patch.Name(), patch.Bytes())
	}
	// Output:
	// # 1-ensure.yaml
	// machine:
	//     registries:
	//         mirrors:
	//             ghcr.io: {}
	// ---
	// apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// # 2-delete.yaml
	// machine:
	//     registries:
	//         mirrors:
	//             ghcr.io:
	//                 $patch: delete
	// ---
	// apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// $patch: delete
	// # 3-set.yaml
	// apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// endpoints:
	//     - url: https://harbor.example.com/v2/ghcr
	//       overridePath: true
}

func ExampleConverge() {
	current := []byte(`machine:
  registries:
    mirrors:
      ghcr.io: {endpoints: [https://old.example.com]}
      quay.io: {endpoints: [https://others.example.com]}
`)
	v, _ := configpatch.ParseVersion("v1.13")
	plan, err := configpatch.Converge(current, exampleSet, v, configpatch.Own("ghcr.io"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range plan.Changes {
		fmt.Println("#", change)
	}
	fmt.Printf("%s", plan.Patch.Bytes())
	again, _ := configpatch.Converge(plan.Result(), exampleSet, v, configpatch.Own("ghcr.io"))
	fmt.Println("# needs another patch:", again.Patch != nil)
	// Output:
	// # mirror ghcr.io: changed
	// machine:
	//     registries:
	//         mirrors:
	//             ghcr.io:
	//                 $patch: delete
	// ---
	// apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// endpoints:
	//     - url: https://harbor.example.com/v2/ghcr
	//       overridePath: true
	// # needs another patch: false
}

func ExampleRead() {
	effective, err := configpatch.Read([]byte(`machine:
  registries:
    mirrors:
      ghcr.io: {endpoints: [https://old.example.com]}
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: ghcr.io
endpoints:
  - url: https://new.example.com
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, _ := effective.Registries(false)
	fmt.Printf("%s", text)
	// Output:
	// mirrors:
	//     # RegistryMirrorConfig, line 6; it hides machine.registries, line 4
	//     ghcr.io:
	//         endpoints:
	//             - https://new.example.com
}

func ExampleParseVersion() {
	_, err := configpatch.ParseVersion("latest")
	fmt.Println(err)
	// Output: version: cannot read "latest" (want a Talos version such as v1.13 or v1.13.9)
}
