package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// JSON reads a JSON document. What encoding/json refuses is an error with line
// and column, a [*mirrors.Error]; so is a key that is there twice in one object,
// of which encoding/json would drop the first. A byte order mark is skipped.
func JSON(data []byte) (*Node, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	b := &jsonBuilder{data: data, dec: json.NewDecoder(bytes.NewReader(data)), lines: newLines(data)}
	b.dec.UseNumber()
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, syntax(0, 0, "the input is empty", "want a JSON object; an empty one is written {}")
	}
	var raw json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, b.wrong(err)
	}
	n, err := b.value(0)
	if err != nil {
		return nil, err
	}
	return n, b.repeated.Err()
}

type jsonBuilder struct {
	data     []byte
	dec      *json.Decoder
	lines    lines
	repeated mirrors.Findings
}

// start is the offset of the next token.
func (b *jsonBuilder) start() int {
	i := int(b.dec.InputOffset())
	for i < len(b.data) && bytes.IndexByte([]byte(" \t\r\n,:"), b.data[i]) >= 0 {
		i++
	}
	return i
}

// wrong makes an error of one that json.Unmarshal found.
func (b *jsonBuilder) wrong(err error) error {
	at, message, fix := len(b.data), "not JSON: "+err.Error(), ""
	var bad *json.SyntaxError
	if errors.As(err, &bad) && bad.Error() != "unexpected end of JSON input" {
		at = max(0, min(int(bad.Offset)-1, len(b.data)-1))
		switch b.data[at] {
		case '/', '#':
			fix = "JSON has no comments"
		case '}', ']':
			fix = "JSON has no comma after the last value"
		case '\'':
			fix = "want strings in double quotes"
		}
	}
	line, column := b.lines.position(at)
	return syntax(line, column, message, fix)
}

func (b *jsonBuilder) value(depth int) (*Node, error) {
	line, column := b.lines.position(b.start())
	if depth > maxDepth {
		return nil, syntax(line, column, fmt.Sprintf("lists or objects are nested more than %d deep", maxDepth), "")
	}
	token, err := b.dec.Token()
	if err != nil {
		return nil, b.wrong(err)
	}
	n := &Node{Kind: yaml.ScalarNode, Line: line, Column: column}
	switch t := token.(type) {
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!float", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(t)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if t == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		if err := b.content(n, depth); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (b *jsonBuilder) content(n *Node, depth int) error {
	seen := map[string]*Node{}
	for b.dec.More() {
		v, err := b.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
		if n.Kind == yaml.SequenceNode {
			continue
		}
		if first := seen[v.Value]; first != nil {
			b.repeated = append(b.repeated, mirrors.Finding{Rule: "repeated-key", Severity: mirrors.SeverityError, Line: v.Line, Column: v.Column,
				Message: fmt.Sprintf("the key %s is there twice, first in line %d", Quote(v.Value), first.Line),
				Fix:     "want it once; a JSON reader would drop one of the two"})
		}
		seen[v.Value] = v
		if v, err = b.value(depth + 1); err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
	if _, err := b.dec.Token(); err != nil { // the closing delimiter
		return b.wrong(err)
	}
	return nil
}
