package apiserver_test

import (
	"strings"
	"testing"
	"time"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// immutable says what the webhook of the bootstrap provider says, v0.6.0 and
// later, in the terms of a policy: the API server judges it by itself.
const immutable = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: immutable
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: [bootstrap.cluster.x-k8s.io]
        apiVersions: ["*"]
        operations: [UPDATE]
        resources: [talosconfigtemplates]
  validations:
    - expression: object.spec == oldObject.spec
      message: TalosConfigTemplate.Spec is immutable
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: immutable
spec:
  policyName: immutable
  validationActions: [Deny]
  matchResources:
    namespaceSelector:
      matchLabels:
        example.com/immutable: "yes"
`

// TestImmutable: where the spec of a template may not change, as the provider
// has it, the same one again is unchanged, another of the same name is refused,
// and with a hash in its name it is created by the rights that Manifests gives.
func TestImmutable(t *testing.T) {
	c := start(t)
	c.must(t, []byte(immutable), "create", "-f", "-")
	t.Cleanup(func() { c.must(t, []byte(immutable), "delete", "-f", "-") })
	for _, tt := range []struct {
		name          string
		first, second [][]byte
	}{
		{"small", merge(t, set, "v1.13"), replace(t, set, "v1.13")},
		{"server-side", merge(t, large(), "v1.13"), append(merge(t, large(), "v1.13"), merge(t, set, "v1.13")...)},
	} {
		for shell := range shells {
			t.Run(tt.name+"/"+shell, func(t *testing.T) {
				namespace := "immutable-" + tt.name + "-" + shell
				c.namespace(t, namespace)
				c.must(t, nil, "label", "namespace", namespace, "example.com/immutable=yes")
				c.awaitImmutable(t, namespace)
				run := func(template reconcile.Template) servers.Result {
					t.Helper()
					_, job := c.deploy(t, reconcile.Job{Name: "workers", Template: template})
					return c.container(t, job).run(shellOf(t, shell))
				}
				versions := func() string {
					t.Helper()
					return c.must(t, nil, "get", "talosconfigtemplates", "-n", namespace, "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
				}
				template := reconcile.Template{Name: "md0", Namespace: namespace, TalosVersion: "v1.13", StrategicPatches: tt.first}
				if r := run(template); r.Exit != 0 {
					t.Fatalf("exit code %d, standard error:\n%s", r.Exit, r.Stderr)
				}
				first := versions()
				if r := run(template); r.Exit != 0 || tt.name == "small" && !strings.HasSuffix(r.Stdout, "/md0 unchanged\n") || versions() != first {
					t.Errorf("the same again: exit code %d, %s%s", r.Exit, r.Stdout, r.Stderr)
				}

				template.StrategicPatches = tt.second
				if r := run(template); r.Exit != 1 || !strings.Contains(r.Stderr, "TalosConfigTemplate.Spec is immutable") || versions() != first {
					t.Errorf("another of the same name: exit code %d, want 1; %s%s", r.Exit, r.Stdout, r.Stderr)
				}

				hashed := template.Hashed()
				for range 2 {
					if r := run(hashed); r.Exit != 0 {
						t.Fatalf("with a hash in its name: exit code %d, standard error:\n%s", r.Exit, r.Stderr)
					}
				}
				if got := versions(); strings.Count(got, "\n") != 2 || !strings.Contains(got, first) || !strings.Contains(got, hashed.Name+" ") {
					t.Errorf("the server had %s, and has %s", first, got)
				}
				spec := c.template(t, "v1beta1", namespace, hashed.Name).Spec.Template.Spec
				if len(spec.StrategicPatches) != len(tt.second) || spec.StrategicPatches[0] != string(tt.second[0]) {
					t.Errorf("%s has %d patches that are others", hashed.Name, len(spec.StrategicPatches))
				}
			})
		}
	}
	verdict.Proved(t, "where the spec of a template cannot change: the same is unchanged, another is refused with the message and exit code 1, and under a name with a hash it is a second object, by the Role of its Manifests")
}

// awaitImmutable waits until the API server judges by the policy, which it
// reads some time after it was created.
func (c cluster) awaitImmutable(t *testing.T, namespace string) {
	t.Helper()
	trial := func(talosVersion string) []byte {
		return []byte(`{"apiVersion":"bootstrap.cluster.x-k8s.io/v1beta1","kind":"TalosConfigTemplate","metadata":{"name":"trial"},` +
			`"spec":{"template":{"spec":{"generateType":"worker","talosVersion":"` + talosVersion + `"}}}}`)
	}
	c.must(t, trial("v1.12"), "create", "-n", namespace, "-f", "-")
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if r := c.Kubectl(c.Kubeconfig, trial("v1.13"), "replace", "--dry-run=server", "-n", namespace, "-f", "-"); r.Exit != 0 {
			if !strings.Contains(r.Stderr, "TalosConfigTemplate.Spec is immutable") {
				t.Fatal(r.Stderr)
			}
			break
		}
		if time.Since(began) > servers.Patience {
			t.Fatal("the policy does not come into force")
		}
	}
	c.must(t, nil, "delete", "talosconfigtemplate", "trial", "-n", namespace)
}
