package mirrors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// MaxSize is the size in bytes above which no input is read. It holds about
// 50,000 mirrors.
const MaxSize = 4 << 20

// maxFindings is how many mistakes of one file are kept.
const maxFindings = 10_000

// maxAliased is how many nodes may be reached through YAML aliases.
const maxAliased = 200_000

// ReadDocument reads the one YAML or JSON document in data and returns its root
// node. It is what [Decode] begins with, for readers of other shapes.
//
// It refuses, with an [*Error]: more than [MaxSize] bytes, text that is not
// UTF-8, an empty file, more than one document, and what is no YAML. A key that
// is there twice in one mapping, anywhere in the document, is an error as well;
// the node is then returned beside it, so that what else is wrong can be
// reported too (see [Join]). A document that is empty but for a "---" or a
// comment does not count.
func ReadDocument(data []byte) (*yaml.Node, error) {
	root, findings := parseDocument(data)
	if root == nil {
		return nil, findings.Err()
	}
	fs, more := repeatedKeys(root, "", nil, 0)
	return root, tooMany(fs, more).Err()
}

// parseDocument is ReadDocument without the search for repeated keys.
func parseDocument(data []byte) (*yaml.Node, Findings) {
	if len(data) > MaxSize {
		return nil, Findings{{Rule: RuleInputSize, Severity: SeverityError,
			Message: fmt.Sprintf("more than %d bytes", MaxSize), Fix: "want a smaller file"}}
	}
	data = jsonAsYAML(data)
	if f := notText(data); f != nil {
		return nil, Findings{*f}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))

	var root *yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		doc, err := nextDocument(dec)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Findings{syntaxFinding(err, data)}
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
			continue
		}
		n := doc.Content[0]
		if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" && n.Value == "" && n.Anchor == "" {
			continue
		}
		if root != nil {
			return nil, Findings{{Rule: RuleSyntax, Severity: SeverityError, Line: n.Line, Column: n.Column,
				Message: "a second document begins here", Fix: "want one document in a file"}}
		}
		root = n
	}
	if root == nil {
		return nil, Findings{{Rule: RuleSyntax, Severity: SeverityError, Message: "the input is empty",
			Fix: "want a mapping; an empty one is written {}"}}
	}
	return root, nil
}

// jsonAsYAML escapes in a JSON text what YAML would read otherwise: a few characters that
// are line breaks or forbidden in YAML, escaped slashes and pairs of escaped surrogates. All
// of it can only stand inside strings. Other text it returns as it is.
func jsonAsYAML(data []byte) []byte {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' || !json.Valid(data) || !utf8.Valid(data) {
		return data
	}
	var out []byte // nil as long as nothing changed
	done := 0
	put := func(from, to int, text string) {
		out = append(append(out, data[done:from]...), text...)
		done = to
	}
	for i := 0; i < len(data); {
		if data[i] == '\\' {
			if i+12 <= len(data) && data[i+1] == 'u' && data[i+6] == '\\' && data[i+7] == 'u' {
				high, _ := strconv.ParseUint(string(data[i+2:i+6]), 16, 32)
				low, _ := strconv.ParseUint(string(data[i+8:i+12]), 16, 32)
				if r := utf16.DecodeRune(rune(high), rune(low)); r != utf8.RuneError {
					put(i, i+12, fmt.Sprintf("\\U%08x", r))
					i += 12
					continue
				}
			}
			if data[i+1] == '/' {
				put(i, i+2, "/") // yaml.v3 3.0.1 does not know this escape of YAML 1.2
			}
			i += 2
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		if r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			put(i, i+size, fmt.Sprintf("\\u%04x", r))
		}
		i += size
	}
	if out == nil {
		return data
	}
	return append(out, data[done:]...)
}

// nextDocument turns a panic of the YAML library into an error: yaml.v3 3.0.1
// panics on some malformed inputs instead of reporting them.
func nextDocument(dec *yaml.Decoder) (doc *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, errors.New("yaml: the input is malformed")
		}
	}()
	doc = new(yaml.Node)
	if err := dec.Decode(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// notText reports the first byte that no YAML file has. The YAML library would
// report it without a line, and would take UTF-16.
func notText(data []byte) *Finding {
	f := &Finding{Rule: RuleSyntax, Severity: SeverityError}
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		f.Line, f.Column = 1, 1
		f.Message, f.Fix = "the input is UTF-16", "want UTF-8"
		return f
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		c := data[i]
		if c < utf8.RuneSelf && (c >= 0x20 && c != 0x7f || c == '\t' || c == '\r') {
			i++
			column++
			continue
		}
		if c == '\n' {
			i++
			line++
			column = 1
			continue
		}
		r, size := utf8.DecodeRune(data[i:])
		f.Line, f.Column = line, column
		switch {
		case r == utf8.RuneError && size == 1:
			f.Message, f.Fix = fmt.Sprintf("byte 0x%02x at offset %d is not UTF-8", c, i), "want a text file in UTF-8"
			return f
		case c == 0:
			f.Message, f.Fix = fmt.Sprintf("a NUL byte at offset %d: this is not a text file", i), "want a text file in UTF-8"
			return f
		case r < 0x20 || r >= 0x7f && r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff || r == 0xfeff && i > 0:
			f.Message, f.Fix = fmt.Sprintf("the control character %U at offset %d", r, i), `YAML wants it escaped, in a double-quoted string`
			return f
		}
		i += size
		if i > len("\ufeff") || r != 0xfeff {
			column++
		}
	}
	return nil
}

var yamlErrorLine = regexp.MustCompile(`^line (\d+): `)

// syntaxFinding makes a finding of an error of the YAML library.
func syntaxFinding(err error, data []byte) Finding {
	f := Finding{Rule: RuleSyntax, Severity: SeverityError}
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlErrorLine.FindStringSubmatch(msg); m != nil {
		f.Line, _ = strconv.Atoi(m[1])
		msg = msg[len(m[0]):]
	}
	if line := errorLine(data); line > 0 {
		f.Line = line
	}
	switch {
	case strings.HasPrefix(msg, "unknown anchor"):
		// The library's text has the name, which may be a password that begins with *.
		msg = "an alias names an anchor that is not there"
		f.Fix = `a value that begins with "*" has to be quoted`
	case strings.Contains(msg, "did not find expected alphabetic or numeric character"):
		f.Fix = `a key or value that begins with "*" or "&" has to be quoted: "*"`
	case strings.Contains(msg, "cannot start any token"):
		f.Fix = "YAML is indented with spaces, not tabs; a value that begins with @ or ` has to be quoted"
	}
	f.Message = "not YAML: " + msg
	f.Column = errorColumn(data, f.Line, msg)
	return f
}

// errorLine finds the line at which the YAML library gives up. The line in its
// error text is that of the mapping or list around the mistake, or the line
// before it. It is 0 when not known.
func errorLine(data []byte) int {
	r := &countingReader{data: data}
	dec := yaml.NewDecoder(r)
	for {
		if _, err := nextDocument(dec); err != nil {
			if errors.Is(err, io.EOF) {
				return 0
			}
			break
		}
	}
	// The library looks a few characters ahead; what it looked at last on a line
	// of its own is the line break before that.
	read := bytes.TrimRight(data[:r.n], "\r\n")
	return 1 + bytes.Count(read, []byte("\n"))
}

// errorColumn is where in a line a mistake likely is: a tab or a second ": " when
// it is about that, else the first character that is no space. It is 0 when there is no such line.
func errorColumn(data []byte, line int, msg string) int {
	lines := strings.Split(string(data), "\n")
	if line < 1 || line > len(lines) {
		return 0
	}
	text := lines[line-1]
	at := len(text) - len(strings.TrimLeft(text, " \t"))
	switch {
	case strings.Contains(msg, "cannot start any token") || strings.Contains(msg, "tab"):
		if tab := strings.IndexByte(text, '\t'); tab >= 0 {
			at = tab
		}
	case strings.Contains(msg, "mapping values are not allowed"):
		if first := strings.Index(text, ": "); first >= 0 {
			if second := strings.Index(text[first+1:], ": "); second >= 0 {
				at = first + 1 + second
			}
		}
	}
	return 1 + utf8.RuneCountInString(text[:at])
}

// countingReader hands out one byte at a time.
type countingReader struct {
	data []byte
	n    int
}

func (r *countingReader) Read(p []byte) (int, error) {
	if r.n == len(r.data) || len(p) == 0 {
		return 0, io.EOF
	}
	p[0] = r.data[r.n]
	r.n++
	return 1, nil
}

// repeatedKeys finds the keys that a mapping has twice, without following
// aliases: what an alias names is looked at where it stands.
func repeatedKeys(n *yaml.Node, path string, fs Findings, more int) (Findings, int) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if c.Kind == yaml.MappingNode || c.Kind == yaml.SequenceNode {
				fs, more = repeatedKeys(c, fmt.Sprintf("%s[%d]", path, i), fs, more)
			}
		}
	case yaml.MappingNode:
		seen := make(map[string]*yaml.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i], n.Content[i+1]
			if k.Kind == yaml.ScalarNode && k.ShortTag() != "!!merge" {
				id := k.ShortTag() + " " + k.Value
				switch first := seen[id]; {
				case first == nil:
					seen[id] = k
				case len(fs) < maxFindings:
					fs = append(fs, repeatedKey(childPath(path, k.Value), k, first))
				default:
					more++
				}
			}
			if v.Kind == yaml.MappingNode || v.Kind == yaml.SequenceNode {
				fs, more = repeatedKeys(v, childPath(path, k.Value), fs, more)
			}
		}
	}
	return fs, more
}

// tooMany says that there are more findings than are kept.
func tooMany(fs Findings, more int) Findings {
	if more > 0 {
		fs = append(fs, Finding{Rule: RuleInputSize, Severity: SeverityError,
			Message: fmt.Sprintf("%d more mistakes are not shown", more), Fix: "want those above corrected first"})
	}
	return fs
}

func repeatedKey(path string, n, first *yaml.Node) Finding {
	return Finding{Rule: RuleRepeatedKey, Severity: SeverityError, Path: path, Line: n.Line, Column: n.Column,
		Message: fmt.Sprintf("the key is there twice, first in line %d", first.Line),
		Fix:     "want it once; a YAML reader would drop one of the two"}
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// childPath appends a key: as a field when it looks like one, else in brackets.
func childPath(path, key string) string {
	if len(path) > 10*maxShown {
		return path // paths of deep documents would fill the memory
	}
	if len(key) <= maxShown && fieldName.MatchString(key) {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	return path + "[" + quote(key) + "]"
}
