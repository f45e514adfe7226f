package reconcile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
)

// A change of what the nodes should pull from is a new template, since the one
// that is there cannot change.
func ExampleTemplate_Hashed() {
	template := reconcile.Template{
		Name: "workers", Namespace: "tenant-a",
		StrategicPatches: [][]byte{[]byte("machine: {registries: {mirrors: {ghcr.io: {endpoints: [https://cache.internal]}}}}\n")},
	}
	fmt.Println(template.Hashed().Name)

	template.StrategicPatches[0] = []byte("machine: {registries: {mirrors: {ghcr.io: {endpoints: [https://cache-b.internal]}}}}\n")
	objects, err := reconcile.Manifests(reconcile.Job{Template: template.Hashed(), Name: "workers"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(template.Hashed().Name, "by", objects.JobName())
	// Output:
	// workers-a03e401d2c1687ce
	// workers-cab3ca7b5208a44a by workers-ed36ae1b6092d3fb
}

func TestHashed(t *testing.T) {
	patch := [][]byte{[]byte("machine: {type: worker}\n")}
	base := reconcile.Template{Name: "workers", Namespace: "tenant-a", TalosVersion: "v1.13", StrategicPatches: patch}
	with := func(change func(*reconcile.Template)) reconcile.Template {
		c := base
		change(&c)
		return c
	}
	for _, c := range []struct {
		name   string
		change func(*reconcile.Template)
		same   bool
	}{
		{"nothing", func(t *reconcile.Template) {}, true},
		{"labels", func(t *reconcile.Template) { t.Labels = map[string]string{"a": "b"} }, true},
		{"annotations", func(t *reconcile.Template) { t.Annotations = map[string]string{"a": "b"} }, true},
		{"the API version", func(t *reconcile.Template) { t.APIVersion = "v1alpha3" }, true},
		{"the namespace", func(t *reconcile.Template) { t.Namespace = "tenant-b" }, true},
		{"the default, written out", func(t *reconcile.Template) { t.GenerateType = "worker" }, true},
		{"how it is applied", func(t *reconcile.Template) { t.Tries, t.Sensitive = 3, true }, true},
		{"the type", func(t *reconcile.Template) { t.GenerateType = "controlplane" }, false},
		{"the version", func(t *reconcile.Template) { t.TalosVersion = "v1.12" }, false},
		{"a patch", func(t *reconcile.Template) { t.StrategicPatches = [][]byte{[]byte("machine: {type: worker} \n")} }, false},
		{"two patches", func(t *reconcile.Template) { t.StrategicPatches = append(patch, patch...) }, false},
		{"a byte moved to the next", func(t *reconcile.Template) {
			t.StrategicPatches = [][]byte{[]byte("machine: {type: worker}"), []byte("\n")}
		}, false},
		{"a skeleton", func(t *reconcile.Template) { t.Skeleton = "machine: {}\n" }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := with(c.change).Hashed().Name; c.same {
				assert.Equal(t, base.Hashed().Name, got)
			} else {
				assert.NotEqual(t, base.Hashed().Name, got)
			}
		})
	}

	assert.Equal(t, "workers", base.Name, "the receiver keeps its name")
	long := with(func(t *reconcile.Template) { t.Name = strings.Repeat("a", 45) + "-." + strings.Repeat("b", 100) }).Hashed()
	assert.Regexp(t, `^a{45}-[0-9a-f]{16}$`, long.Name)

	for name, template := range map[string]reconcile.Template{"short": base, "cut": long} {
		objects, err := reconcile.Manifests(reconcile.Job{Template: template.Hashed(), Name: "apply"})
		require.NoError(t, err, name)
		script, err := reconcile.Script(template.Hashed())
		require.NoError(t, err, name)
		assert.Contains(t, script.String(), "\n  name: "+template.Hashed().Name+"\n")
		assert.Contains(t, string(objects.Bytes()), "resourceNames:\n      - "+template.Hashed().Name+"\n", "the Role is for that name")
	}

	_, err := reconcile.Script(reconcile.Template{Namespace: "tenant-a", StrategicPatches: patch}.Hashed())
	assert.ErrorContains(t, err, "name", "a template without a name stays one")
}
