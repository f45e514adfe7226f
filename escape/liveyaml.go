package escape

import (
	"fmt"
	"strconv"
	"strings"
)

// yamlVariable is the variable that holds the YAML scalar of a live variable.
func yamlVariable(name string) string { return ownPrefix + "yaml_" + name }

// yamlCall sets it. The pipe in the function hides a failure of its left side;
// a result without its quotes shows it.
func yamlCall(name string) string {
	result := yamlVariable(name)
	return result + "=$(" + ownPrefix + `yaml "${` + name + `}") || ` + result + `=
case ${` + result + `} in
'"'*'"') ;;
*) ` + ownPrefix + "refuse " + name + ` 'text that is valid UTF-8 (and sed on PATH; in mksh and posh, at most 131071 bytes)' ;;
esac
`
}

// yamlFunction prints its argument as a YAML double-quoted scalar, or
// something that does not begin and end with a double quote when the argument
// is not UTF-8 or sed fails. printf makes the bytes of the sed script that
// cannot stand in a script that goes through Kubernetes. yash 2.52 cannot keep
// them in a variable: there, sed reads its script from a pipe.
var yamlFunction = func() string {
	script := yamlSed()
	return ownPrefix + "format='" + printfFormat(script) + "'\n" +
		ownPrefix + `sed=$(printf "$` + ownPrefix + "format\") || " + ownPrefix + "sed=\n" +
		ownPrefix + "yaml() {\n" +
		"case ${#" + ownPrefix + "sed} in\n" +
		strconv.Itoa(len(script)) + `) printf '%s\n' "$1" | sed -e "$` + ownPrefix + "sed\" ;;\n" +
		`*) printf '%s\n' "$1" | { printf "$` + ownPrefix + "format\" | sed -f - /dev/fd/3 3<&3; } 3<&0 ;;\n" +
		"esac\n}\n"
}()

// yamlSed is the sed script. sed reads bytes, as LC_ALL is C. It gathers all
// lines; escapes \, " and newline, then control characters and what YAML
// readers refuse or fold: DEL, C1, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF; keeps
// the result and replaces each valid UTF-8 sequence by a blank. A high byte that
// is left over is an error.
func yamlSed() string {
	var b strings.Builder
	b.WriteString(`H;$!d;x;s/^\n//;s/\\/\\\\/g;s/"/\\"/g;s/\n/\\n/g;`)
	for c := range 0x20 {
		if c != 0 && c != '\n' {
			fmt.Fprintf(&b, `s/%c/\\x%02x/g;`, c, c)
		}
	}
	b.WriteString("s/\x7f/\\\\x7f/g;")
	for r := rune(0x80); r < 0xa0; r++ {
		fmt.Fprintf(&b, `s/%c/\\x%02x/g;`, r, r)
	}
	for _, r := range "\u2028\u2029\ufeff\ufffe\uffff" {
		fmt.Fprintf(&b, `s/%c/\\u%04x/g;`, r, r)
	}
	const next = "[\x80-\xbf]"
	b.WriteString("h;")
	for _, sequence := range []string{
		"[\xc2-\xdf]" + next,
		"\xe0[\xa0-\xbf]" + next,
		"[\xe1-\xec\xee\xef]" + next + next,
		"\xed[\x80-\x9f]" + next,
		"\xf0[\x90-\xbf]" + next + next,
		"[\xf1-\xf3]" + next + next + next,
		"\xf4[\x80-\x8f]" + next + next,
	} {
		b.WriteString("s/" + sequence + "/ /g;")
	}
	b.WriteString("/[\x80-\xff]/{\ns/.*/invalid/\nq\n}\ng;s/.*/\"&\"/")
	return b.String()
}

// printfFormat is the format, within single quotes, with which printf prints s.
func printfFormat(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == '%':
			b.WriteByte(c)
			b.WriteByte(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c < ' ' || c > '~' || c == '\'':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
