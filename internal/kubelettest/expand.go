// Package kubelettest expands $(NAME) in a container's command, arguments and
// environment as the kubelet does, for tests that cannot import the kubelet.
// The tests of internal/e2e prove it equal to the package
// k8s.io/kubernetes/third_party/forked/golang/expansion of two versions.
package kubelettest

import (
	"strings"
	"unicode/utf8"
)

// Expand is the expansion of Kubernetes 1.36.3. It replaces each $(NAME) that
// env knows by its value, $$ by $, and leaves an unknown $(NAME) as it is. A
// value is not scanned again.
//
// A $ before another character stays, and so does the character; a byte after
// a $ that begins no UTF-8 sequence becomes U+FFFD.
func Expand(s string, env map[string]string) string {
	return expand(s, env, utf8.DecodeRuneInString)
}

// ExpandBytes is the expansion of Kubernetes 1.33.0. It differs where a byte
// from 0x80 on follows a $: that byte alone becomes the rune of its number, so
// that "$é" comes out as "$Ã" and a lone 0xa9.
func ExpandBytes(s string, env map[string]string) string {
	return expand(s, env, func(s string) (rune, int) { return rune(s[0]), 1 })
}

func expand(s string, env map[string]string, first func(string) (rune, int)) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if after == "" {
			b.WriteByte('$')
			return b.String()
		}
		r, size := first(after)
		s = after[size:]
		switch r {
		case '$':
			b.WriteByte('$')
		case '(':
			name, rest, closed := strings.Cut(s, ")")
			if !closed {
				b.WriteString("$(")
				continue
			}
			if value, known := env[name]; known {
				b.WriteString(value)
			} else {
				b.WriteString("$(" + name + ")")
			}
			s = rest
		default:
			b.WriteByte('$')
			b.WriteRune(r)
		}
	}
}
