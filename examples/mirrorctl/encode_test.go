package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestEncode: what is read back of JSON and of YAML is the text that went in, and
// nothing in either can change a terminal.
func TestEncode(t *testing.T) {
	texts := []string{"", "true", "null", "~", "1", "1e3", "0x1f", "2001-01-01", "no", "yes", "1:20", "<<", "a: b", "- a", "#", "'", `"`, "*a", "&a", "!a", "| ", " a ", "a\n", "\na\n\n", "a\r\nb",
		"\x1b[31m", "\u009b31m", "\x7f", "\u202e", "\u2028", "\u0085", "\ufeff", "\U0001f600", "\U000e0001", "\x00", strings.Repeat("word ", 100)}
	for _, c := range shelltest.Hostile(t) {
		texts = append(texts, strings.ToValidUTF8(string(c.Data), "\ufffd"))
	}
	for _, text := range texts {
		in := map[string]any{text: []string{text}, "list": []string{}, "number": 1, "fraction": 0.5, "none": nil, "yes": true, "text": text}
		for _, format := range []string{"json", "yaml"} {
			tool := newTool(nil, nil, nil)
			require.NoError(t, tool.encode(encoding{choice{value: format}}, in))
			out := tool.result.Bytes()
			assert.Equal(t, visible(string(out)), string(out), "%q", text)
			assert.True(t, tool.data)

			var got, want any
			wanted, err := json.Marshal(in)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(wanted, &want))
			if format == "json" {
				require.NoError(t, json.Unmarshal(out, &got))
			} else {
				require.NoError(t, yaml.Unmarshal(out, &got), "%q\n%s", text, out)
				again, err := json.Marshal(got)
				require.NoError(t, err)
				got = nil
				require.NoError(t, json.Unmarshal(again, &got))
			}
			if format == "yaml" && text == "yes" {
				assert.Contains(t, string(out), `"yes": true`) // also for readers of YAML 1.1
				assert.Contains(t, string(out), `text: "yes"`)
			}
			assert.Equal(t, want, got, "%s of %q:\n%s", format, text, out)
		}
	}
}
