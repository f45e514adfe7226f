package job_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"github.com/mirrorpatch/mirrorpatch/configpatch/reconcile"
	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
)

// TestManifests reads every object into the type that Kubernetes has for it,
// unknown fields refused, and judges the Pod by the code of the admission
// that enforces Pod Security.
func TestManifests(t *testing.T) {
	skeleton, _, _ := skeletonJob(t)
	large := template(t, set)
	large.StrategicPatches = append(large.StrategicPatches, []byte("machine:\n  env:\n    NOTE: "+strings.Repeat("x", 150000)+"\n"))
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}

	checked := 0
	for _, tt := range []struct {
		job   reconcile.Job
		kinds []string
	}{
		{reconcile.Job{Template: template(t, set)}, []string{"ServiceAccount", "Role", "RoleBinding", "Job"}},
		{skeleton, []string{"ServiceAccount", "Role", "RoleBinding", "Job"}},
		{reconcile.Job{Template: template(t, withCredentials())}, []string{"ServiceAccount", "Role", "RoleBinding", "Secret", "Job"}},
		{reconcile.Job{Template: large, ServiceAccount: "there", Labels: map[string]string{"example.com/team": "a"}}, []string{"Role", "RoleBinding", "ConfigMap", "Job"}},
	} {
		objects, err := reconcile.Manifests(tt.job)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for _, document := range bytes.Split(objects.Bytes(), []byte("\n---\n")) {
			var head struct{ Kind string }
			if err := yaml.Unmarshal(document, &head); err != nil {
				t.Fatal(err)
			}
			typed := map[string]any{
				"ServiceAccount": &corev1.ServiceAccount{}, "Secret": &corev1.Secret{}, "ConfigMap": &corev1.ConfigMap{},
				"Role": &rbacv1.Role{}, "RoleBinding": &rbacv1.RoleBinding{}, "Job": &batchv1.Job{},
			}[head.Kind]
			if typed == nil {
				t.Errorf("kind %q in\n%s", head.Kind, document)
				continue
			}
			if err := yaml.UnmarshalStrict(document, typed); err != nil {
				t.Errorf("%v in\n%s", err, document)
			}
			kinds = append(kinds, head.Kind)
			if job, is := typed.(*batchv1.Job); is {
				pod := job.Spec.Template
				if got := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec)); !got.Allowed {
					t.Errorf("the restricted level refuses the Pod: %s (%s)", got.ForbiddenReason(), got.ForbiddenDetail())
				}
				// The control: the same Pod as root is refused.
				root := pod.Spec.DeepCopy()
				root.SecurityContext.RunAsNonRoot, root.SecurityContext.RunAsUser = nil, new(int64)
				if policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &pod.ObjectMeta, root)).Allowed {
					t.Error("the restricted level takes a Pod that runs as root")
				}
			}
		}
		slices.Sort(kinds)
		slices.Sort(tt.kinds)
		if !slices.Equal(kinds, tt.kinds) {
			t.Errorf("kinds %q, want %q", kinds, tt.kinds)
		}
		checked += len(kinds)
	}
	verdict.Proved(t, "%d manifests are objects of Kubernetes 1.36.3 in every field, and the restricted level of Pod Security admits each Job's Pod", checked)
}
