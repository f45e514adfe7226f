// Package kubelet_test holds the proofs that need the kubelet's own expansion
// of $(NAME), as Kubernetes 1.36.3 has it.
package kubelet_test

import (
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest/proof"
)

func FuzzExpand(f *testing.F) { proof.FuzzModel(f, expansion.Expand, kubelettest.Expand) }

func FuzzKubelet(f *testing.F) { proof.FuzzEscape(f, expansion.Expand) }

func TestExpandShortStrings(t *testing.T) {
	n := proof.ModelOnShortStrings(t, expansion.Expand, kubelettest.Expand)
	if n < 137257 {
		t.Errorf("%d strings were tried, want 137257", n)
	}
	t.Logf("kubelettest.Expand is the expansion of Kubernetes 1.36.3 on all %d strings of up to six special bytes", n)
}
