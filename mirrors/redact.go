package mirrors

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxShown is how many bytes of a value a message shows.
const maxShown = 200

// quote is %q of a value for a message: userinfo of a URL is redacted, and a
// long value is cut.
func quote(s string) string {
	s = redactURL(s)
	if len(s) <= maxShown {
		return strconv.Quote(s)
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// redactURL replaces what may be the userinfo of a URL, also of one that does
// not parse: everything before the last @ (a password may hold a slash). A
// query or a fragment of a URL, which may be a token, is replaced too.
func redactURL(s string) string {
	start := 0
	if i := strings.Index(s, "://"); i >= 0 && isScheme(s[:i]) {
		start = i + len("://")
	} else if strings.HasPrefix(s, "//") {
		start = 2
	}
	if at := strings.LastIndexByte(s, '@'); at >= start {
		s = s[:start] + "[redacted]" + s[at:]
	}
	if i := strings.IndexAny(s, "?#"); i >= 0 && start > 0 && i+1 < len(s) {
		s = s[:i+1] + "[redacted]"
	}
	return s
}

func isScheme(s string) bool {
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
