// Package kubelet_test holds the proofs that need the kubelet's own expansion
// of $(NAME), as Kubernetes 1.33.0 has it.
package kubelet_test

import (
	"sync/atomic"
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/e2e/servers/verdict"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest/proof"
)

// expansions counts what the kubelet's code was asked.
var expansions atomic.Int64

func expand(s string, mapping func(string) string) string {
	expansions.Add(1)
	return expansion.Expand(s, mapping)
}

func FuzzExpand(f *testing.F) {
	before := expansions.Load()
	proof.FuzzModel(f, expand, kubelettest.ExpandBytes)
	verdict.Proved(f, "kubelettest.ExpandBytes is the expansion of Kubernetes 1.33.0: %d texts", expansions.Load()-before)
}

func FuzzKubelet(f *testing.F) {
	before := expansions.Load()
	proof.FuzzEscape(f, expand)
	verdict.Proved(f, "what escape writes for a command comes out of the kubelet of Kubernetes 1.33.0 as it was: %d expansions", expansions.Load()-before)
}

func TestExpandShortStrings(t *testing.T) {
	n := proof.ModelOnShortStrings(t, expand, kubelettest.ExpandBytes)
	if n < 137257 {
		t.Errorf("%d strings were tried, want 137257", n)
	}
	verdict.Proved(t, "kubelettest.ExpandBytes is the expansion of Kubernetes 1.33.0 on all %d strings of up to six special bytes", n)
}
