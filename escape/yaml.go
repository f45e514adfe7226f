package escape

import (
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
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c < 0x7f && c != '"' && c != '\\' && !(chart && (c == '{' || c == '<')) {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, `\n`...)
			case '\t':
				dst = append(dst, `\t`...)
			case '\r':
				dst = append(dst, `\r`...)
			default:
				dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		dst = append(dst, s[start:i]...)
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		start = i
		width := 4
		dst = append(dst, '\\', 'u')
		if r > 0xffff {
			dst[len(dst)-1] = 'U'
			width = 8
		}
		for w := width - 1; w >= 0; w-- {
			dst = append(dst, hexDigits[r>>(4*w)&15])
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}
