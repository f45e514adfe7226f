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

// Nodes that run already; the patches are those of configpatch.Replace.
func ExampleNodesScript() {
	script, err := reconcile.NodesScript(reconcile.Nodes{
		Addresses: []string{"192.0.2.11", "worker-2.example.com"},
		Patches: [][]byte{[]byte(`apiVersion: v1alpha1
kind: RegistryMirrorConfig
name: ghcr.io
endpoints:
  - url: https://cache.example.com
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
	// printf 'mirrorpatch: patching node %s\n' '192.0.2.11' >&2
	// talosctl patch machineconfig --nodes '192.0.2.11' --mode 'no-reboot' --patch 'apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// endpoints:
	//   - url: https://cache.example.com
	// '
	// printf 'mirrorpatch: patching node %s\n' 'worker-2.example.com' >&2
	// talosctl patch machineconfig --nodes 'worker-2.example.com' --mode 'no-reboot' --patch 'apiVersion: v1alpha1
	// kind: RegistryMirrorConfig
	// name: ghcr.io
	// endpoints:
	//   - url: https://cache.example.com
	// '
}

// Everything that is wrong with a template, at once.
func ExampleScript_mistakes() {
	_, err := reconcile.Script(reconcile.Template{
		Name:             "Workers",
		Namespace:        "tenant-a",
		StrategicPatches: [][]byte{[]byte("- op: add\n  path: /machine/type\n")},
		Skeleton:         "cluster:\n  token: ${JOIN_TOKEN}\n  controlPlane:\n    endpoint: https://api.example.com:6443\n",
		Inputs: []reconcile.Input{
			{Name: "JOIN_TOKEN", Form: escape.Token, From: reconcile.FromEnv{Secret: "join", Key: "token"}},
		},
	})
	fmt.Println(err)
	// Output:
	// name: invalid name "Workers" (want an RFC 1123 subdomain: at most 253 of a-z, 0-9, - and ., a letter or digit first and last in each part)
	// strategicPatches[0]: line 1: a list, as a JSON 6902 patch is (want a map: Talos applies JSON 6902 to no configuration of several documents)
	// skeleton: line 2: offset 18: ${JOIN_TOKEN} may be read as a number, a date, true or null (want quotes around the whole of it)
}
