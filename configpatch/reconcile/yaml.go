package reconcile

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// A small writer of block YAML, since the encoders at hand do not give back
// every text: yaml.v3 3.0.1 loses the form of multi-line text that begins with a
// newline or a tab, sigs.k8s.io/yaml 1.6.0 that of DEL, NEL and U+FFFF.
// Text is written so that a reviewer can read it, as a plain word or a literal
// block, where that keeps every character and each is visible; else in double quotes, in ASCII.

type (
	object []field // in this order
	field  struct {
		key   string // written as a scalar
		value any    // string, bool, int, object, list
	}
	list []any
)

// with returns o and one more field, o alone when the value is empty.
func (o object) with(key string, value any) object {
	switch v := value.(type) {
	case string:
		if v == "" {
			return o
		}
	case object:
		if len(v) == 0 {
			return o
		}
	case list:
		if len(v) == 0 {
			return o
		}
	}
	return append(o, field{key, value})
}

// stringMap is m in the order of its keys.
func stringMap(m map[string]string) object {
	var o object
	for _, k := range sortedKeys(m) {
		o = append(o, field{k, m[k]})
	}
	return o
}

// document returns o as a YAML document that begins with the marker.
func document(o object) string {
	var b strings.Builder
	b.WriteString("---\n")
	writeFields(&b, o, 0)
	return b.String()
}

func writeFields(b *strings.Builder, o object, indent int) {
	for i, f := range o {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(scalar(f.key))
		b.WriteByte(':')
		switch v := f.value.(type) {
		case object:
			if len(v) == 0 {
				b.WriteString(" {}\n")
				continue
			}
			b.WriteString("\n" + strings.Repeat(" ", indent+2))
			writeFields(b, v, indent+2)
		case list:
			b.WriteByte('\n')
			writeList(b, v, indent+2)
		default:
			b.WriteByte(' ')
			writeScalar(b, v, indent+2)
		}
	}
}

func writeList(b *strings.Builder, l list, indent int) {
	for _, v := range l {
		b.WriteString(strings.Repeat(" ", indent) + "- ")
		if o, ok := v.(object); ok {
			writeFields(b, o, indent+2)
		} else {
			writeScalar(b, v, indent+2)
		}
	}
}

// writeScalar writes v and a newline; indent is that of a literal block's
// lines, two more than that of the mapping or list that v stands in.
func writeScalar(b *strings.Builder, v any, indent int) {
	switch v := v.(type) {
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.WriteString(strconv.Itoa(v))
	case string:
		if strings.Contains(v, "\n") && !strings.ContainsFunc(v, unreadable) {
			b.WriteString(literalHeader(v) + "\n" + literalBody(v, indent))
			return
		}
		b.WriteString(scalar(v))
	}
	b.WriteByte('\n')
}

// plain holds words that YAML 1.1 and 1.2 read as text, besides those in notPlain.
var (
	plain    = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9._/-]*$`)
	notPlain = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|y|n|null)$`)
)

// scalar returns s, which must be UTF-8, on one line.
func scalar(s string) string {
	if plain.MatchString(s) && !notPlain.MatchString(s) {
		return s
	}
	q, err := escape.YAML(s)
	if err != nil {
		// Each text was checked before it came here.
		panic("reconcile: " + err.Error())
	}
	return q
}

// literalHeader returns "|2" with the chomping that the end of s needs. The
// indicator counts from the indentation of the mapping or list around it, so
// that a block may begin with white space.
func literalHeader(s string) string {
	switch {
	case !strings.HasSuffix(s, "\n"):
		return "|2-"
	case s == "\n" || strings.HasSuffix(s, "\n\n"):
		return "|2+"
	}
	return "|2"
}

// literalBody returns the lines of s behind indent spaces, with a final newline.
func literalBody(s string, indent int) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if line != "\n" {
			b.WriteString(strings.Repeat(" ", indent))
		}
		b.WriteString(line)
	}
	if !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// unreadable tells characters that a literal block cannot hold and those that
// mislead a reader, such as a no-break space or a change of direction.
func unreadable(r rune) bool {
	return r != '\n' && r != '\t' && !unicode.IsPrint(r)
}

// notLiteral returns the offset of the first character of s that a literal
// block cannot hold: control characters other than tab and newline, which
// YAML forbids, and NEL, LS and PS, which YAML 1.1 reads as newlines. -1 when there is none.
func notLiteral(s string) int {
	return strings.IndexFunc(s, func(r rune) bool {
		switch {
		case r == '\n' || r == '\t':
			return false
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return true
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			return true
		}
		return false
	})
}

func quote(s string) string {
	if !utf8.ValidString(s) {
		return strconv.QuoteToASCII(s)
	}
	return strconv.Quote(s)
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
