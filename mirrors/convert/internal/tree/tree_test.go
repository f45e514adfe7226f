package tree

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pelletier/go-toml/v2"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// plain is a node as Go values, with strings for all scalars but booleans.
func plain(n *Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plain(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		l := []any{}
		for _, c := range n.Content {
			l = append(l, plain(c))
		}
		return l
	}
	switch n.Tag {
	case "!!str":
		return n.Value
	case "!!bool":
		return n.Value == "true"
	case "!!null":
		return nil
	}
	return "scalar"
}

// decoded is what a library decoded, in the same form.
func decoded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for k, e := range v {
			m[k] = decoded(e)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, decoded(e))
		}
		return l
	case json.Number:
		return "scalar"
	case string, bool, nil:
		return v
	}
	return "scalar"
}

func positions(t *testing.T, n *Node, data []byte) {
	t.Helper()
	rows := strings.Split(string(data), "\n")
	if n.Line < 1 || n.Line > len(rows) || n.Column < 1 || n.Column > len(rows[n.Line-1])+1 {
		t.Errorf("%q is at line %d, column %d in %q", n.Value, n.Line, n.Column, data)
	}
	for _, c := range n.Content {
		positions(t, c, data)
	}
}

var tomls = []string{
	"a = 1\nb.c = 'x'\n[d]\ne = [1, 2, {f = true}]\n[[g]]\nh = 1\n[[g]]\n[g.i]\nj = '''\nx'''\n[[g.k]]\nl = 1979-05-27\n",
	"[host.\"https://a\"]\n[host.'https://b'.header]\nx = [[\"a\", \"b\"]]\n", "a = {b.c = 1, d = {}}\r\n", "[a.b.c]\nx = 1\n[a]\ny = 2\n[a.b]\nz = 3\n",
	"\"\\u00e9\\n\" = \"tab\\t\"\n", "a = [ # comment\n 1, # another\n 2,\n]\n", "a = [\n]\n", "", "[[a]]\n[[a.b]]\n[[a]]\n[[a.b]]\nc = 1\n",
}

// FuzzTOML: the tree says what go-toml decodes, and every node has a place in the file.
func FuzzTOML(f *testing.F) {
	for _, s := range tomls {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := TOML(data)
		var m map[string]any
		if want := toml.Unmarshal(data, &m); err != nil {
			if want == nil && !strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "not a text file") && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatalf("refused: %v: %q", err, data)
			}
			return
		}
		if m == nil {
			m = map[string]any{}
		}
		if got, want := plain(n), decoded(m); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", data, got, want)
		}
		positions(t, n, data)
	})
}

// TestTOMLOrder: keys come in the order of the file.
func TestTOMLOrder(t *testing.T) {
	n, err := TOML([]byte("[host.z]\n[host.a]\nx = 1\n[host.m]\n[b]\n[a]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, f := range (&Reader{}).Fields(get(n, "host"), "host") {
		order = append(order, f.Path)
	}
	if got := strings.Join(order, " "); got != "host.z host.a host.m" {
		t.Error(got)
	}
}

// FuzzJSON: the tree says what encoding/json decodes.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, "x", null, true, {"b": {}}]}`, `"\ud83d\ude00\u0000\/"`, ` [ ] `, "\ufeff{}", `{"a":1,"a":2}`, "\t{\r\n\"k\"\t:\"v\"}\n", `1e9`, `[[[[]]]]`, `{"a":}`, `{,}`, `[1 2]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := JSON(data)
		text := strings.TrimPrefix(string(data), "\ufeff")
		if n == nil {
			if err == nil {
				t.Fatal("neither a node nor an error")
			}
			if json.Valid([]byte(text)) && !strings.Contains(err.Error(), "deep") && !strings.Contains(err.Error(), "UTF-8") {
				t.Fatalf("refused: %v: %q", err, data)
			}
			return
		}
		var v any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&v); err != nil || dec.More() {
			t.Fatalf("taken, but encoding/json says %v: %q", err, data)
		}
		if got, want := plain(n), decoded(v); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", data, got, want)
		}
		positions(t, n, []byte(text))
	})
}

func TestErrors(t *testing.T) {
	tests := []struct{ in, toml, json string }{
		{"", "", `the input is empty (want a JSON object; an empty one is written {})`},
		{"a = True", "line 1, column 5: not TOML: unexpected character U+0054 'T' at start of value (want true or false, in lower case)", "line 1, column 1: not JSON: invalid character 'a' looking for beginning of value"},
		{"x\x00", "line 1, column 2: a NUL byte at offset 1: this is not a text file (want a text file in UTF-8)", "line 1, column 2: a NUL byte at offset 1: this is not a text file (want a text file in UTF-8)"},
		{"a = 'x'\nb = '\xff'", "line 2, column 6: byte 0xff at offset 13 is not UTF-8 (want a text file in UTF-8)", "line 2, column 6: byte 0xff at offset 13 is not UTF-8 (want a text file in UTF-8)"},
		{"a: b", "line 1, column 2: not TOML: expected '=' after key (want key = value)", "line 1, column 1: not JSON: invalid character 'a' looking for beginning of value"},
		{"{}\n{}", "line 1, column 1: not TOML: invalid character at start of key: U+007B '{'", "line 2, column 1: not JSON: invalid character '{' after top-level value"},
		{"{'a': 1}", "line 1, column 1: not TOML: invalid character at start of key: U+007B '{' (want key = value)", `line 1, column 2: not JSON: invalid character '\'' looking for beginning of object key string (want strings in double quotes)`},
		{"a" + strings.Repeat("[", 200), "line 1, column 2: not TOML: expected '=' after key", "line 1, column 1: not JSON: invalid character 'a' looking for beginning of value"},
		{"a = " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "line 1, column 1: lists or tables are nested more than 100 deep (want what the format has)", "line 1, column 1: not JSON: invalid character 'a' looking for beginning of value"},
		{"x = 1\n[" + strings.Repeat("a.", 1<<19) + "a]", "line 2, column 2: lists or tables are nested more than 100 deep (want what the format has)", "line 1, column 1: not JSON: invalid character 'x' looking for beginning of value"},
		{strings.Repeat("[", 200) + strings.Repeat("]", 200), "", "line 1, column 102: lists or objects are nested more than 100 deep"},
	}
	for _, test := range tests {
		if _, err := TOML([]byte(test.in)); test.toml != "" && (err == nil || err.Error() != test.toml) {
			t.Errorf("TOML of %.40q:\ngot  %v\nwant %s", test.in, err, test.toml)
		}
		if _, err := JSON([]byte(test.in)); err == nil || err.Error() != test.json {
			t.Errorf("JSON of %.40q:\ngot  %v\nwant %s", test.in, err, test.json)
		}
	}
}

// TestErrorsHaveNoValues: a mistake in or around a value does not bring it into
// the error's text.
func TestErrorsHaveNoValues(t *testing.T) {
	const secret = "c29tZXRoaW5nOnNlY3JldA"
	r := rand.New(rand.NewPCG(1, 2))
	shapes := []string{"a = %\n", "a = '%\n", "a = \"%\\x\"\n", "a = '%' b\n", "a = ['%', \n", "a = 12%\n", "a = 1979-05-27T%\n", "a = {b = '%', b = 1}\n", "a = '%'\na = '%'\n",
		`{"a": %}`, `{"a": "%}`, `{"a": "%" "b"}`, `{"a": "%\x"}`, `{"a": 1%}`, `["%",]`}
	for range 2000 {
		text := strings.ReplaceAll(shapes[r.IntN(len(shapes))], "%", secret)
		if i := r.IntN(len(text)); r.IntN(2) == 0 {
			text = text[:i] + string(rune(r.IntN(128))) + text[i:]
		}
		for _, read := range []func([]byte) (*Node, error){TOML, JSON} {
			_, err := read([]byte(text))
			if err != nil && (strings.Contains(err.Error(), secret[:6]) || strings.Contains(err.Error(), secret[8:])) {
				t.Errorf("%s: the error has the value: %v", strconv.Quote(text), err)
			}
			var all *mirrors.Error
			if err != nil && !errors.As(err, &all) {
				t.Errorf("%T", err)
			}
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"a": `"a"`, "https://u:made-up@h/p": `"https://[redacted]@h/p"`, "u:made-up@h": `"[redacted]@h"`, "//u:p@q@h": `"//[redacted]@h"`, "": `""`,
		"https://u:made-up.h/p": `"https://u:[redacted]/p"`, "https://h:5000/p:q": `"https://h:5000/p:q"`, "http://[fd00::1]:5000": `"http://[fd00::1]:5000"`, "http://fd00::1:5000": `"http://fd00::1:5000"`,
		strings.Repeat("ä", 200): strconv.Quote(strings.Repeat("ä", 100)) + "…",
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestWritable: a key never leads out of the directory that is written.
func TestWritable(t *testing.T) {
	for key, ok := range map[string]bool{"ghcr.io": true, "*": true, "[fd00::1]:5000": true, "": false, ".": false, "..": false, "../x": false, "a/b": false, `a\b`: false, "a\x00": false, "a\nb": false} {
		for _, set := range []mirrors.Set{{Mirrors: map[string]mirrors.Mirror{key: {}}}, {Config: map[string]mirrors.HostConfig{key: {}}}} {
			if err := Writable(set); (err == nil) != ok {
				t.Errorf("%q: %v", key, err)
			}
		}
	}
}

// TestReadFile: a file above the limit is not read whole, and no name leads out.
func TestReadFile(t *testing.T) {
	dir := fstest.MapFS{"etc/ca.crt": {Data: []byte("CA")}, "etc/big": {Data: make([]byte, maxFile+1)}}
	for name, want := range map[string]string{"etc/ca.crt": "", "etc/big": "the file has more than 1048576 bytes", "none": "there is no such file", "../etc/ca.crt": "there is no such file", "etc": "it cannot be read"} {
		text, err := ReadFile(dir, name)
		if want == "" && (err != nil || text != "CA") || want != "" && (err == nil || Why(err) != want) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	for name, want := range map[string]string{"/etc/ca.crt": "CA", "/etc/../etc/./ca.crt": "CA", "/../../etc/ca.crt": "", "etc/ca.crt": "CA"} {
		b := NewBuilder("x")
		if text, _ := b.Named(dir, Field{Value: &Node{}}, name); text != want {
			t.Errorf("%s: %q %s", name, text, b.Report)
		}
		if lossless := b.Report.Lossless(); lossless != (want != "") {
			t.Errorf("%s: %s", name, b.Report)
		}
	}
}
