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
		t.put(printableJSON(b.Bytes()))
		return nil
	}
	// JSON is YAML; what is left of it is its style.
	var root yaml.Node
	if err := yaml.Unmarshal(b.Bytes(), &root); err != nil {
		return err
	}
	plainStyle(&root)
	b.Reset()
	out := yaml.NewEncoder(&b)
	out.SetIndent(2)
	if err := out.Encode(&root); err != nil {
		return err
	}
	t.put(b.Bytes())
	return nil
}

// list is items, or an empty list where there is none: [] and not null.
func list[L ~[]T, T any](items L) L {
	if items == nil {
		return L{}
	}
	return items
}

// printableJSON escapes what might change a terminal and encoding/json writes as
// it is, such as U+009B. Outside of strings there is none of it.
func printableJSON(data []byte) []byte {
	var b strings.Builder
	for _, r := range string(data) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// plainStyle lets the encoder choose how each value is written: strings in
// quotes only where they would be something else without.
func plainStyle(n *yaml.Node) {
	empty := len(n.Content) == 0
	if n.Kind == yaml.ScalarNode || !empty {
		n.Style = 0
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" && visible(n.Value) != n.Value {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, item := range n.Content {
		plainStyle(item)
	}
}
