package escape

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxParent is deeper than anyone nests, and keeps the indentation in bounds.
const maxParent = 1000

// YAMLBlock is s as a YAML literal block, for people to read: |2, |2- or |2+,
// and the lines of s, each indented by two columns more than parent. It stands
// behind "key: " or "- "; parent is the column, counted from 0, of the key or
// of the dash, at most 1000. The indicator is always written: without it, leading blanks
// would change what the block is.
//
// A block cannot hold control characters but tab and newline (so no carriage
// return), DEL, C1, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF and what is not
// UTF-8: each is an error with the offset. [YAML] carries all but the last.
func YAMLBlock(s string, parent int) (string, error) {
	var errs []*Error
	if parent < 0 || parent > maxParent {
		errs = append(errs, &Error{Place: "yaml", Offset: -1, Reason: fmt.Sprintf("a parent in column %d", parent), Fix: fmt.Sprintf("columns count from 0, to %d", maxParent)})
	}
	for i, r := range s {
		var reason, fix string
		switch {
		case r == utf8.RuneError:
			if _, n := utf8.DecodeRuneInString(s[i:]); n > 1 {
				continue
			}
			reason, fix = "not valid UTF-8, which YAML cannot hold", "carry the data as base64"
		case r == 0:
			errs = append(errs, nul("yaml", i))
		case r < ' ' && r != '\t' && r != '\n', 0x7f <= r && r <= 0x9f, r == 0x2028, r == 0x2029, r == 0xfeff, r == 0xfffe, r == 0xffff:
			reason, fix = fmt.Sprintf("%U cannot stand in a literal block", r), "use YAML"
		}
		if reason != "" {
			errs = append(errs, &Error{Place: "yaml", Offset: i, Reason: reason, Fix: fix})
		}
		if reason != "" || r == 0 {
			break // one is enough: a binary file would be an error for each byte
		}
	}
	if len(errs) > 0 {
		return "", together(errs)
	}
	indent := strings.Repeat(" ", parent+2)
	var b strings.Builder
	b.Grow(len(s) + (strings.Count(s, "\n")+1)*len(indent) + 4)
	b.WriteString("|2")
	body, ended := strings.CutSuffix(s, "\n")
	switch {
	case !ended:
		b.WriteByte('-')
	case body == "" || body[len(body)-1] == '\n':
		b.WriteByte('+')
	}
	b.WriteByte('\n')
	if s == "" {
		return b.String(), nil
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" {
			b.WriteString(indent)
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}
