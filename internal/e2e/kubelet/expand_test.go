// Package kubelet_test holds the proofs that need the kubelet's own expansion
// code, here of Kubernetes 1.36.3.
package kubelet_test

import (
	"hash/fnv"
	"testing"

	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// sameExpansion expands s with the kubelet's code, in an environment in which
// about half of the names that it asks for are known, and compares.
func sameExpansion(t *testing.T, s string, salt byte) {
	t.Helper()
	env := map[string]string{}
	unknown := expansion.MappingFuncFor()
	want := expansion.Expand(s, func(name string) string {
		h := fnv.New32a()
		h.Write([]byte{salt})
		h.Write([]byte(name))
		if h.Sum32()&1 == 0 {
			return unknown(name)
		}
		env[name] = "<$(A)$$" + name + ">"
		return env[name]
	})
	if got := kubelettest.Expand(s, env); got != want {
		t.Errorf("kubelettest.Expand(%q, %q) = %q, the kubelet gives %q", s, env, got, want)
	}
}

func FuzzExpand(f *testing.F) {
	for _, c := range shelltest.Hostile(f) {
		f.Add(string(c.Data), byte(0))
		f.Add(string(c.Data), byte(1))
	}
	for _, s := range []string{"$", "$$", "$$$", "$(", "$()", "$(A$(B))", "$é$(B)", "$\xff", "\\$(A)", "$(a\nb)"} {
		f.Add(s, byte(0))
	}
	f.Fuzz(func(t *testing.T, s string, salt byte) { sameExpansion(t, s, salt) })
}

// TestExpandEveryShortString leaves no string out that is made of up to six of
// the bytes on which the expansion can turn.
func TestExpandEveryShortString(t *testing.T) {
	const alphabet, longest = "$()A\xc3\xa9\xff", 6
	n := 0
	var try func(prefix string)
	try = func(prefix string) {
		sameExpansion(t, prefix, 0)
		n++
		if t.Failed() || len(prefix) == longest {
			return
		}
		for i := range len(alphabet) {
			try(prefix + alphabet[i:i+1])
		}
	}
	try("")
	if n < 137257 {
		t.Errorf("%d strings were tried, want 137257", n)
	}
	t.Logf("kubelettest.Expand equals the expansion of Kubernetes 1.36.3 on all %d strings of up to %d special bytes", n, longest)
}
