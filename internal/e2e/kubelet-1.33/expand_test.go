// Package kubelet_test holds the proofs that need the kubelet's own expansion
// of $(NAME), as Kubernetes 1.33.0 has it.
package kubelet_test

import (
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest/proof"
)

func FuzzExpand(f *testing.F) { proof.FuzzModel(f, expansion.Expand, kubelettest.ExpandBytes) }

func FuzzKubelet(f *testing.F) { proof.FuzzEscape(f, expansion.Expand) }

func TestExpandShortStrings(t *testing.T) {
	n := proof.ModelOnShortStrings(t, expansion.Expand, kubelettest.ExpandBytes)
	if n < 137257 {
		t.Errorf("%d strings were tried, want 137257", n)
	}
	t.Logf("kubelettest.ExpandBytes is the expansion of Kubernetes 1.33.0 on all %d strings of up to six special bytes", n)
}
