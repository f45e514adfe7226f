package escape

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

// YAML is s as a YAML double-quoted scalar in one line of ASCII, quotes
// included. It can stand wherever a value or a key can, in block and in flow
// style. It carries all valid UTF-8 but NUL.
func YAML(s string) (string, error) {
	if err := yamlProblems(s); err != nil {
		return "", err
	}
	return string(AppendYAML(make([]byte, 0, len(s)+2), s)), nil
}

func yamlProblems(s string) error {
	var errs []*Error
	if i := strings.IndexByte(s, 0); i >= 0 {
		errs = append(errs, nul("yaml", i))
	}
	if i := invalidUTF8(s); i >= 0 {
		errs = append(errs, &Error{Place: "yaml", Offset: i, Reason: "not valid UTF-8, which YAML cannot hold", Fix: "carry the data as base64"})
	}
	return together(errs)
}

// AppendYAML appends what [YAML] writes to dst. It does not refuse what YAML
// refuses: a byte that is not UTF-8 becomes U+FFFD.
func AppendYAML(dst []byte, s string) []byte { return appendYAML(dst, s, false) }

const hexDigits = "0123456789abcdef"

// appendYAML writes { and < as escapes when the scalar is to stand in a chart.
func appendYAML(dst []byte, s string, chart bool) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		n := yamlClean(s[i:], chart)
		dst = append(dst, s[i:i+n]...)
		i += n
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c < utf8.RuneSelf:
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n - 1
			if r > 0xffff {
				dst = append(dst, '\\', 'U', '0', '0', hexDigits[r>>20&15], hexDigits[r>>16&15])
			} else {
				dst = append(dst, '\\', 'u')
			}
			dst = append(dst, hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		}
		i++
	}
	return append(dst, '"')
}

// yamlClean is the number of bytes at the start of s that stand in a scalar as
// they are. It looks at eight bytes at a time: the lowest byte with its high
// bit set in found is one that does not.
func yamlClean(s string, chart bool) int {
	const (
		each = 0x0101010101010101
		high = 0x8080808080808080
	)
	zero := func(x uint64) uint64 { return (x - each) &^ x }
	i := 0
	for ; i+8 <= len(s); i += 8 {
		x := uint64(s[i]) | uint64(s[i+1])<<8 | uint64(s[i+2])<<16 | uint64(s[i+3])<<24 |
			uint64(s[i+4])<<32 | uint64(s[i+5])<<40 | uint64(s[i+6])<<48 | uint64(s[i+7])<<56
		found := (x-each*' ')&^x | zero(x^each*'"') | zero(x^each*'\\') | x | (x + each) // x + each: DEL
		if chart {
			found |= zero(x^each*'{') | zero(x^each*'<')
		}
		if found &= high; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(s); i++ {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || chart && (c == '{' || c == '<') {
			break
		}
	}
	return i
}
