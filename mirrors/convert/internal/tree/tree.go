// Package tree is what the readers of foreign formats share: TOML, JSON and
// YAML as one kind of node that knows its place, and a [Reader] that walks it and
// collects what is wrong and what cannot be carried over.
package tree

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// Node is a mapping, a list or a scalar, with its line and column. The keys of
// a mapping are in the order of the file.
type Node = yaml.Node

// MaxSize is the size in bytes above which no TOML or JSON is read. Files of
// these formats have a few kilobytes; a Kubernetes Secret has at most 1 MiB.
const MaxSize = 2 << 20

// maxDepth is how deep lists and mappings may be nested.
const maxDepth = 100

// lines finds the line and the column of an offset.
type lines []int // offsets at which lines begin

func newLines(data []byte) lines {
	ls := lines{0}
	for i, c := range data {
		if c == '\n' {
			ls = append(ls, i+1)
		}
	}
	return ls
}

func (ls lines) position(offset int) (line, column int) {
	line = sort.SearchInts(ls, offset+1)
	return line, offset - ls[line-1] + 1
}

// checkText refuses what is no text file before a parser sees it.
func checkText(data []byte) error {
	if len(data) > MaxSize {
		return mirrors.Findings{{Rule: "input-size", Severity: mirrors.SeverityError,
			Message: fmt.Sprintf("%d bytes are too many", len(data)), Fix: fmt.Sprintf("want at most %d bytes", MaxSize)}}.Err()
	}
	for i := 0; i < len(data); {
		if data[i] != 0 && data[i] < utf8.RuneSelf {
			i++
			continue
		}
		if r, size := utf8.DecodeRune(data[i:]); data[i] != 0 && (r != utf8.RuneError || size > 1) {
			i += size
			continue
		}
		message := fmt.Sprintf("byte 0x%02x at offset %d is not UTF-8", data[i], i)
		if data[i] == 0 {
			message = fmt.Sprintf("a NUL byte at offset %d: this is not a text file", i)
		}
		line, column := newLines(data[:i]).position(i)
		return syntax(line, column, message, "want a text file in UTF-8")
	}
	return nil
}

func syntax(line, column int, message, fix string) error {
	return mirrors.Findings{{Rule: "syntax", Severity: mirrors.SeverityError, Line: line, Column: column, Message: message, Fix: fix}}.Err()
}

func mapping(line, column int) *Node {
	return &Node{Kind: yaml.MappingNode, Tag: "!!map", Line: line, Column: column}
}

// get returns the value of a key.
func get(n *Node, key string) *Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Path appends a key to a path: as a field when it looks like one, else in brackets.
func Path(path, key string) string {
	switch {
	case !fieldName.MatchString(key):
		return path + "[" + Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// Quote is %q for a message: what may be the userinfo of a URL is redacted, and
// a long value is cut.
func Quote(s string) string {
	start := 0
	if i := strings.Index(s, "//"); i >= 0 {
		start = i + 2
	}
	if at := strings.LastIndexByte(s, '@'); at >= start {
		s = s[:start] + "[redacted]" + s[at:]
	} else if start > 0 {
		// A port that is none may be a password, with the @ forgotten; an IPv6
		// address without brackets is not.
		end := len(s)
		if i := strings.IndexByte(s[start:], '/'); i >= 0 {
			end = start + i
		}
		if i := strings.IndexByte(s[start:end], ':'); i >= 0 && s[start] != '[' && strings.Trim(s[start+i+1:end], "0123456789") != "" && strings.Trim(s[start:end], "0123456789abcdefABCDEF:") != "" {
			s = s[:start+i+1] + "[redacted]" + s[end:]
		}
	}
	const most = 200
	if len(s) <= most {
		return strconv.Quote(s)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.Quote(s[:cut]) + "…"
}

// PlainText checks that data is a text in UTF-8 of a sensible size, and returns it
// without a byte order mark.
func PlainText(data []byte) (string, error) {
	if err := checkText(data); err != nil {
		return "", err
	}
	return strings.TrimPrefix(string(data), "\ufeff"), nil
}
