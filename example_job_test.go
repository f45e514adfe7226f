package mirrorpatch_test

import (
	"fmt"
	"log"
	"os"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/cozystack"
)

// The whole way, from a chart's values to the manifests of the Job that applies
// the TalosConfigTemplate.
func Example_job() {
	values, err := os.ReadFile("testdata/cozystack/values.yaml")
	if err != nil {
		log.Fatal(err)
	}
	source, report, err := cozystack.Read(values)
	if err != nil {
		log.Fatal(err) // every mistake, with line and column
	}
	if !report.Lossless() {
		log.Fatal(report)
	}
	for _, f := range source.Check(mirrors.ForTalos("v1.13")) {
		fmt.Printf("# %d:%d: %s: %s\n", f.Line, f.Column, f.Severity, f)
	}
	version, err := configpatch.ParseVersion("v1.13")
	if err != nil {
		log.Fatal(err)
	}
	patch, err := configpatch.Merge(source.Set, version)
	if err != nil {
		log.Fatal(err)
	}
	objects, err := reconcile.Manifests(reconcile.Job{Template: reconcile.Template{
		Name: "workers", Namespace: "tenant-a", TalosVersion: "v1.13",
		StrategicPatches: [][]byte{patch.Bytes()},
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", objects.Bytes()) // kubectl apply -f -
	// Output:
	// # 47:11: info: talos.registryMirrors["docker.io"].endpoints[0]: "registry-cache.cozy-registry.svc.cozy.local" is a name of the cluster's DNS, which a node does not ask: its own resolver has to know the name
	// ---
	// apiVersion: v1
	// kind: ServiceAccount
	// metadata:
	//   name: workers
	//   namespace: tenant-a
	//   labels:
	//     app.kubernetes.io/managed-by: mirrorpatch
	// automountServiceAccountToken: false
	// ---
	// apiVersion: rbac.authorization.k8s.io/v1
	// kind: Role
	// metadata:
	//   name: workers
	//   namespace: tenant-a
	//   labels:
	//     app.kubernetes.io/managed-by: mirrorpatch
	// rules:
	//   - apiGroups:
	//       - bootstrap.cluster.x-k8s.io
	//     resources:
	//       - talosconfigtemplates
	//     verbs:
	//       - create
	//   - apiGroups:
	//       - bootstrap.cluster.x-k8s.io
	//     resources:
	//       - talosconfigtemplates
	//     resourceNames:
	//       - workers
	//     verbs:
	//       - get
	//       - patch
	// ---
	// apiVersion: rbac.authorization.k8s.io/v1
	// kind: RoleBinding
	// metadata:
	//   name: workers
	//   namespace: tenant-a
	//   labels:
	//     app.kubernetes.io/managed-by: mirrorpatch
	// roleRef:
	//   apiGroup: rbac.authorization.k8s.io
	//   kind: Role
	//   name: workers
	// subjects:
	//   - kind: ServiceAccount
	//     name: workers
	//     namespace: tenant-a
	// ---
	// apiVersion: batch/v1
	// kind: Job
	// metadata:
	//   name: workers-e850e0a7e81355bd
	//   namespace: tenant-a
	//   labels:
	//     app.kubernetes.io/managed-by: mirrorpatch
	// spec:
	//   ttlSecondsAfterFinished: 600
	//   activeDeadlineSeconds: 300
	//   backoffLimit: 3
	//   template:
	//     metadata:
	//       labels:
	//         app.kubernetes.io/managed-by: mirrorpatch
	//     spec:
	//       restartPolicy: Never
	//       serviceAccountName: workers
	//       automountServiceAccountToken: true
	//       enableServiceLinks: false
	//       securityContext:
	//         runAsNonRoot: true
	//         runAsUser: 65532
	//         runAsGroup: 65532
	//         seccompProfile:
	//           type: RuntimeDefault
	//       containers:
	//         - name: apply
	//           image: "docker.io/alpine/k8s:1.34.1"
	//           command:
	//             - /bin/sh
	//             - "-c"
	//             - |2
	//               LC_ALL=C
	//               export LC_ALL
	//               set -eu
	//               kubectl apply -n 'tenant-a' -f - <<'EOF'
	//               apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
	//               kind: TalosConfigTemplate
	//               metadata:
	//                 name: workers
	//                 namespace: tenant-a
	//               spec:
	//                 template:
	//                   spec:
	//                     generateType: worker
	//                     talosVersion: v1.13
	//                     strategicPatches:
	//                       - |2
	//                         apiVersion: v1alpha1
	//                         kind: RegistryMirrorConfig
	//                         name: docker.io
	//                         endpoints:
	//                             - url: http://registry-cache.cozy-registry.svc.cozy.local:5000
	//                             - url: https://mirror.gcr.io
	//                         ---
	//                         apiVersion: v1alpha1
	//                         kind: RegistryMirrorConfig
	//                         name: ghcr.io
	//                         endpoints:
	//                             - url: https://harbor.example.com/v2/ghcr-proxy
	//                               overridePath: true
	//                         ---
	//                         apiVersion: v1alpha1
	//                         kind: RegistryMirrorConfig
	//                         name: quay.io
	//                         endpoints:
	//                             - url: https://quay.mirror.internal:8443
	//                             - url: https://quay.mirror-b.internal:8443
	//                         ---
	//                         apiVersion: v1alpha1
	//                         kind: RegistryMirrorConfig
	//                         name: registry.k8s.io
	//                         endpoints:
	//                             - url: https://k8s.mirror.internal/repository/registry-k8s-io/v2
	//                         skipFallback: true
	//               EOF
	//           env:
	//             - name: HOME
	//               value: /tmp
	//           securityContext:
	//             allowPrivilegeEscalation: false
	//             readOnlyRootFilesystem: true
	//             capabilities:
	//               drop:
	//                 - ALL
	//           resources:
	//             requests:
	//               cpu: "50m"
	//               memory: "64Mi"
	//             limits:
	//               cpu: "500m"
	//               memory: "256Mi"
	//           volumeMounts:
	//             - name: tmp
	//               mountPath: /tmp
	//       volumes:
	//         - name: tmp
	//           emptyDir:
	//             sizeLimit: "128Mi"
}
