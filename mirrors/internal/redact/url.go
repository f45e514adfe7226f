// Package redact takes what may be a secret out of a URL before it is shown.
package redact

import "strings"

// URL replaces what may be the userinfo of a URL, also of one that does not
// parse: everything before the last @ (a password may hold a slash). What
// stands after the first ? or #, which may be a token, is replaced too.
func URL(s string) string {
	start := 0
	if i := strings.Index(s, "://"); i >= 0 && IsScheme(s[:i]) {
		start = i + len("://")
	} else if strings.HasPrefix(s, "//") {
		start = 2
	}
	if at := strings.LastIndexByte(s, '@'); at >= start {
		s = s[:start] + "[redacted]" + s[at:]
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 && i+1 < len(s) {
		s = s[:i+1] + "[redacted]"
	}
	return s
}

// IsScheme reports whether s is a scheme of a URL by RFC 3986.
func IsScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return s != ""
}
