package kubelettest_test

import (
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
)

// The outputs were taken from the expansion package of Kubernetes 1.36.3 and 1.33.0.
func TestExpand(t *testing.T) {
	env := map[string]string{"A": "$(B) $$", "B": "b", "date": "today", "": "empty", "x\ny": "two lines"}
	tests := []struct{ in, want, wantBytes string }{
		{"", "", ""},
		{"plain", "plain", "plain"},
		{"$(B)", "b", "b"},
		{"$(A)", "$(B) $$", "$(B) $$"}, // a value is not scanned again
		{"$(NOT)", "$(NOT)", "$(NOT)"},
		{"$()", "empty", "empty"},
		{"$(x\ny)", "two lines", "two lines"},
		{"$(date)", "today", "today"},
		{"$$(date)", "$(date)", "$(date)"},
		{"$$$(B)", "$b", "$b"},
		{"$$$$(B)", "$$(B)", "$$(B)"},
		{`\$(B)`, `\b`, `\b`}, // a backslash is no defence
		{"$", "$", "$"},
		{"$$", "$", "$"},
		{"$$$", "$$", "$$"},
		{"/tmp/x.$$", "/tmp/x.$", "/tmp/x.$"},
		{"$(B", "$(B", "$(B"},
		{"$(A$(B))", "$(A$(B))", "$(A$(B))"},
		{"${B} $((1+1)) $'a'", "${B} $((1+1)) $'a'", "${B} $((1+1)) $'a'"},
		{"$${B}", "${B}", "${B}"},
		{"$é", "$é", "$Ã\xa9"},
		{"$\xff$(B)", "$\uFFFDb", "$ÿb"},
		{"$é$(B)", "$éb", "$Ã\xa9b"},
	}
	for _, tt := range tests {
		if got := kubelettest.Expand(tt.in, env); got != tt.want {
			t.Errorf("Expand(%q) = %q, want %q", tt.in, got, tt.want)
		}
		if got := kubelettest.ExpandBytes(tt.in, env); got != tt.wantBytes {
			t.Errorf("ExpandBytes(%q) = %q, want %q", tt.in, got, tt.wantBytes)
		}
	}
}
