package escape

import (
	"slices"
	"strings"
)

// Helm is s as text of a Helm template: the template prints s and runs
// nothing. Each { becomes {{"{"}}, also one that is alone, since a live action
// may follow it. The text must stand outside of any action, and no action
// beside it may trim ({{- or -}}).
func Helm(s string) string { return string(AppendHelm(nil, s)) }

// AppendHelm appends what [Helm] writes to dst.
func AppendHelm(dst []byte, s string) []byte {
	if room := cap(dst) - len(dst); room < len(brace)*len(s) {
		dst = slices.Grow(dst, len(s)+(len(brace)-1)*strings.Count(s, "{"))
	}
	for {
		for len(s) > 0 && s[0] == '{' {
			dst = append(dst, brace...)
			s = s[1:]
		}
		i := strings.IndexByte(s, '{')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
	}
}

const brace = `{{"{"}}`
