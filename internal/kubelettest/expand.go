// Package kubelettest expands $(NAME) in a container's command, arguments and
// environment as the kubelet does, for tests that cannot import the kubelet.
// The tests of internal/e2e prove it equal to
// k8s.io/kubernetes/third_party/forked/golang/expansion.
package kubelettest

import "strings"

// Expand replaces each $(NAME) that env knows by its value, $$ by $, and
// leaves an unknown $(NAME) as it is. A value is not scanned again.
//
// As the kubelet does, it writes a byte from 0x80 on that follows a $ as the
// rune of that number: it turns "$\xff" into "$ÿ".
func Expand(s string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '(' {
			if s[i] != '$' {
				b.WriteByte('$')
			}
			b.WriteRune(rune(s[i]))
			continue
		}
		name, _, closed := strings.Cut(s[i+1:], ")")
		if !closed {
			b.WriteString("$(")
			continue
		}
		if value, known := env[name]; known {
			b.WriteString(value)
		} else {
			b.WriteString("$(" + name + ")")
		}
		i += len(name) + 1
	}
	return b.String()
}
