package configpatch_test

import (
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/config/configpatcher"

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

// What else the configuration says stays; machinery's encoding writes some empty
// fields out.
func ExampleMigrate() {
	config, err := configpatch.Migrate([]byte(`version: v1alpha1
machine:
  type: worker
  registries:
    mirrors:
      ghcr.io:
        endpoints: [https://harbor.example.com/v2/ghcr]
        overridePath: true
    config:
      harbor.example.com:
        auth: {username: robot, password: made-up}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s", config)
	// Output:
	// version: v1alpha1
	// machine:
	//     type: worker
	//     token: ""
	//     certSANs: []
	// cluster: null
	// ---
	// apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// endpoints:
	//     - url: https://harbor.example.com/v2/ghcr
	//       overridePath: true
	// ---
	// apiVersion: v1alpha1
	// kind: RegistryAuthConfig
	// name: harbor.example.com
	// username: robot
	// password: made-up
}

// The form follows the older of client and node.
func ExampleFormFor() {
	for _, s := range []string{"v1.11.6", "v1.12.1", "v1.12.2", "v1.13"} {
		v, err := configpatch.ParseVersion(s)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v, configpatch.FormFor(v))
	}
	// Output:
	// v1.11.6 legacy
	// v1.12.1 legacy
	// v1.12.2 documents
	// v1.13.0 documents
}

func ExampleOldest() {
	client, _ := configpatch.ParseVersion("v1.13.9")
	node, _ := configpatch.ParseVersion("v1.9")
	v := configpatch.Oldest(client, node)
	_, err := configpatch.Merge(exampleSet, v, configpatch.WithForm(configpatch.Documents))
	fmt.Println(err)
	// Output:
	// Talos 1.9.0 does not know the document form (want Talos 1.12.0 or later, or the legacy form)
}

// What is wrong with the registries of a configuration that is there.
func ExampleEffective_Check() {
	effective, err := configpatch.Read([]byte(`version: v1alpha1
machine:
  registries:
    mirrors:
      ghcr.io:
        endpoints:
          - https://harbor.example.com/v2/ghcr
---
apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: docker.io
endpoints:
  - url: https://cache.example.com
  - url: https://cache.example.com
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range effective.Check() {
		fmt.Printf("%d:%d: %s\n", f.Line, f.Column, f)
	}
	// Output:
	// 7:13: machine.registries.mirrors["ghcr.io"].endpoints[0]: without overridePath the node asks for "/v2/ghcr/v2" (want overridePath: true)
	// 14:10: RegistryMirrorConfig "docker.io": endpoints[1].url: "https://cache.example.com" is endpoints[0] as well; containerd then ignores every mirror of this registry (want each URL once)
}

// A caller who applies patches with machinery, as talosctl does.
func ExamplePatches_Load() {
	v, _ := configpatch.ParseVersion("v1.13")
	r, err := configpatch.Replace(exampleSet, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	patches, err := r.Patches.Load()
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := configpatcher.Apply(configpatcher.WithBytes([]byte("version: v1alpha1\nmachine: {type: worker}\n")), patches)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := out.Bytes()
	if err != nil {
		fmt.Println(err)
		return
	}
	effective, err := configpatch.Read(config)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(effective.Set.Equal(exampleSet))
	// Output:
	// true
}

// A patch may hold a password: what prints it shows its name and size.
func ExamplePatch_Bytes() {
	set := mirrors.Set{Config: map[string]mirrors.HostConfig{
		"cache.example.com": {Auth: &mirrors.Auth{Username: "robot", Password: mirrors.NewSecret("made-up")}},
	}}
	v, _ := configpatch.ParseVersion("v1.13")
	patch, err := configpatch.Merge(set, v)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(patch)
	fmt.Printf("%s", patch.Bytes())
	// Output:
	// mirrors.yaml (104 bytes)
	// apiVersion: v1alpha1
	// kind: RegistryAuthConfig
	// name: cache.example.com
	// username: robot
	// password: made-up
}
