package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"
)

// encoding is the flag --output of a command with data.
type encoding struct{ choice }

// register adds the flag; text says what the command prints without it.
func (e *encoding) register(cmd *cobra.Command, text string) {
	e.choice = choice{value: "text", allowed: []string{"text", "json", "yaml"}}
	cmd.Flags().VarP(&e.choice, "output", "o", "text, json or yaml: "+text)
	complete(cmd, "output", e.allowed)
}

// text tells whether the result is to be the text for a person.
func (e *encoding) text() bool { return e.value == "text" }

// encode makes the result of a value. JSON and YAML have the same names, in the
// same order.
func (t *tool) encode(e encoding, value any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(value); err != nil {
		return err
	}
	if e.value == "json" {
		t.put(printable(b.Bytes(), func(r rune) string {
			high, low := utf16.EncodeRune(r)
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}))
		return nil
	}
	dec := json.NewDecoder(&b)
	dec.UseNumber()
	root, err := nodeOf(dec)
	if err != nil {
		return err
	}
	b.Reset()
	out := yaml.NewEncoder(&b)
	out.SetIndent(2)
	if err := out.Encode(root); err != nil {
		return err
	}
	t.put(printable(b.Bytes(), longEscape))
	return nil
}

// longEscape is how YAML escapes what is beyond U+FFFF.
func longEscape(r rune) string { return fmt.Sprintf(`\U%08x`, r) }

// list is items, or an empty list where there is none: [] and not null.
func list[L ~[]T, T any](items L) L {
	if items == nil {
		return L{}
	}
	return items
}

// printable escapes what might change a terminal and is in the text as it is, such
// as U+009B. In JSON there is none of it outside of strings, and in the YAML that
// encode writes none outside of double quotes. long is how a character beyond
// U+FFFF is escaped.
func printable(text []byte, long func(rune) string) []byte {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			b.WriteRune(r)
		case r > 0xffff:
			b.WriteString(long(r))
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// nodeOf makes the YAML of the next JSON value: its names keep their order.
func nodeOf(dec *json.Decoder) (*yaml.Node, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		if v == '{' {
			n.Kind, n.Tag = yaml.MappingNode, "!!map"
		}
		for dec.More() {
			item, err := nodeOf(dec)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, item)
		}
		if n.Content == nil {
			n.Style = yaml.FlowStyle
		}
		_, err = dec.Token() // the end of it
		return n, err
	case string:
		// yaml.v3 3.0.1 reads "<<" as a key as a merge, and loses a first newline
		// that it writes in a block.
		if visible(v) != v || v == "<<" || strings.TrimLeft(v, " \t\n") != v || strings.Contains(v, "\t") {
			n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
			return n, nil
		}
		return n, n.Encode(v)
	case json.Number:
		n.Value = v.String()
		return n, nil
	default: // a boolean or null
		return n, n.Encode(v)
	}
}
