package reconcile_test

import (
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/escape"
)

func ExampleScript() {
	script, err := reconcile.Script(reconcile.Template{
		Name:         "tenant-a-md0",
		Namespace:    "tenant-a",
		TalosVersion: "v1.13",
		StrategicPatches: [][]byte{[]byte(`apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: ghcr.io
endpoints:
  - url: http://cache.internal:5000
`)},
	})
	if err != nil {
		fmt.Println(err)
		return
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
	//   name: tenant-a-md0
	//   namespace: tenant-a
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
	//             - url: http://cache.internal:5000
	// EOF
}

// A skeleton's inputs are checked against their forms before anything is applied.
func ExampleManifests() {
	objects, err := reconcile.Manifests(reconcile.Job{
		Template: reconcile.Template{
			Name:      "tenant-a-md0",
			Namespace: "tenant-a",
			Skeleton:  "cluster:\n  controlPlane:\n    endpoint: https://${API_ADDRESS}:6443\n  ca:\n    crt: \"${K8S_CA}\"\n  token: \"${JOIN_TOKEN}\"\n",
			Inputs: []reconcile.Input{
				{Name: "API_ADDRESS", Form: escape.Address, From: reconcile.FromJSONPath{Resource: "services", Name: "tenant-a", JSONPath: "{.spec.clusterIP}"}},
				{Name: "K8S_CA", Form: escape.Base64, From: reconcile.FromSecret{Name: "tenant-a-ca", Key: "tls.crt"}},
				{Name: "JOIN_TOKEN", Form: escape.Token, From: reconcile.FromEnv{Secret: "tenant-a-join", Key: "token"}},
			},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(string(objects.Bytes())) {
		if strings.HasPrefix(line, "kind: ") {
			fmt.Print(line)
		}
	}
	fmt.Println("the script is in a", objects.Transport())
	// Output:
	// kind: ServiceAccount
	// kind: Role
	// kind: RoleBinding
	// kind: Job
	// the script is in a command
}
