package mirrors

import (
	"strconv"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/redact"
)

// maxShown is how many bytes of a value a message shows.
const maxShown = 200

// quote is %q of a value for a message: what redact.URL takes out is not shown,
// and a long value is cut.
func quote(s string) string {
	s = redact.URL(s)
	if len(s) <= maxShown {
		return strconv.Quote(s)
	}
	cut := maxShown
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}
