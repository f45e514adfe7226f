package mirrorpatch_test

import (
	"fmt"
	"log"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The way from what a node should pull from to a script that puts it into a cluster.
func Example() {
	set := mirrors.Set{Mirrors: map[string]mirrors.Mirror{
		"ghcr.io": {Endpoints: []mirrors.Endpoint{{URL: "https://harbor.example.com/v2/ghcr", OverridePath: true}}},
	}}
	version, err := configpatch.ParseVersion("v1.13")
	if err != nil {
		log.Fatal(err)
	}
	patch, err := configpatch.Merge(set, version) // applied by Talos's own code and read back, before it is returned
	if err != nil {
		log.Fatal(err)
	}
	script, err := reconcile.Script(reconcile.Template{
		Name: "workers", Namespace: "tenant-a", TalosVersion: "v1.13",
		Annotations:      map[string]string{"example.com/owner": "$(BOOTSTRAP_TOKEN) `id`\nEOF"}, // free text of a tenant
		StrategicPatches: [][]byte{patch.Bytes()},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(script)

	// Output:
	// LC_ALL=C
	// export LC_ALL
	// set -eu
	// kubectl apply -n 'tenant-a' -f - <<'EOF'
	// apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
	// kind: TalosConfigTemplate
	// metadata:
	//   name: workers
	//   namespace: tenant-a
	//   annotations:
	//     example.com/owner: |2-
	//       $(BOOTSTRAP_TOKEN) `id`
	//       EOF
	// spec:
	//   template:
	//     spec:
	//       generateType: worker
	//       talosVersion: v1.13
	//       strategicPatches:
	//         - |2
	//           apiVersion: v1alpha1
	//           kind: RegistryMirrorConfig
	//           name: ghcr.io
	//           endpoints:
	//               - url: https://harbor.example.com/v2/ghcr
	//                 overridePath: true
	// EOF
}
