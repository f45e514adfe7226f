package mirrors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// decodeCases are inputs and what Decode says: the Set, or the findings as
// "line:column path: message (fix) [rule]".
var decodeCases = []struct {
	name, in string
	want     Set
	err      []string
}{
	{name: "strings", in: "mirrors:\n  ghcr.io:\n    endpoints: [https://a, https://b]\n    skipFallback: true\n",
		want: Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: "https://a"}, {URL: "https://b"}}, SkipFallback: true}}}},
	{name: "overridePath of the mirror is that of each string", in: "mirrors: {a.io: {overridePath: true, endpoints: [https://a/v2/x, {url: https://b/v2/x}]}}",
		want: Set{Mirrors: map[string]Mirror{"a.io": {Endpoints: []Endpoint{{"https://a/v2/x", true}, {"https://b/v2/x", true}}}}}},
	{name: "overridePath of an endpoint", in: "mirrors: {a.io: {endpoints: [https://a, {url: https://b/v2/x, overridePath: true}]}}",
		want: Set{Mirrors: map[string]Mirror{"a.io": {Endpoints: []Endpoint{{"https://a", false}, {"https://b/v2/x", true}}}}}},
	{name: "overridePath twice, the same", in: "mirrors: {a.io: {overridePath: true, endpoints: [{url: https://b/v2/x, overridePath: true}]}}",
		want: Set{Mirrors: map[string]Mirror{"a.io": {Endpoints: []Endpoint{{"https://b/v2/x", true}}}}}},
	{name: "JSON", in: `{"mirrors":{"*":{"endpoints":["http://a:5000"]}},"config":{"a:5000":{"auth":{"username":"u","password":"made-up"}}}}`,
		want: Set{Mirrors: map[string]Mirror{"*": {Endpoints: []Endpoint{{URL: "http://a:5000"}}}},
			Config: map[string]HostConfig{"a:5000": {Auth: &Auth{Username: "u", Password: NewSecret("made-up")}}}}},
	{name: "JSON with tabs, and strings that YAML reads otherwise", in: "{\n\t\"config\": {\n\t\t\"a.io\": {\"auth\": {\"username\": \"\u2028\x7f\u0085\\ud83d\\ude00\\\\ud83d\\/\\u0041\"}}}}",
		want: Set{Config: map[string]HostConfig{"a.io": {Auth: &Auth{Username: "\u2028\x7f\u0085\U0001f600\\ud83d/A"}}}}},
	{name: "empty mapping", in: "{}", want: Set{}},
	{name: "null is as if it were not there", in: "mirrors:\nconfig:\n  a.io:\n    auth:\n    tls: ~\n",
		want: Set{Config: map[string]HostConfig{"a.io": {}}}},
	{name: "byte order mark and CRLF", in: "\ufeffmirrors:\r\n  a.io:\r\n    endpoints:\r\n      - https://a\r\n",
		want: Set{Mirrors: map[string]Mirror{"a.io": {Endpoints: []Endpoint{{URL: "https://a"}}}}}},
	{name: "merge key and alias", in: "mirrors:\n  a.io: &m {endpoints: &e [https://a], skipFallback: true}\n  b.io: {<<: *m, skipFallback: false}\n  c.io: {endpoints: *e}\n  d.io: *m\n",
		want: Set{Mirrors: map[string]Mirror{
			"a.io": {Endpoints: []Endpoint{{URL: "https://a"}}, SkipFallback: true},
			"b.io": {Endpoints: []Endpoint{{URL: "https://a"}}},
			"c.io": {Endpoints: []Endpoint{{URL: "https://a"}}},
			"d.io": {Endpoints: []Endpoint{{URL: "https://a"}}, SkipFallback: true}}}},
	{name: "an explicit tag of a string", in: "config: {a.io: {auth: {username: !!str 123, password: !!str yes}}}",
		want: Set{Config: map[string]HostConfig{"a.io": {Auth: &Auth{Username: "123", Password: NewSecret("yes")}}}}},
	{name: "base64 of PEM, with line breaks", in: "config: {a.io: {tls: {ca: \"" + exampleCA[:40] + " \\n" + exampleCA[40:] + "\"}}}",
		want: Set{Config: map[string]HostConfig{"a.io": {TLS: &TLS{CA: PEM(unbase64(exampleCA))}}}}},
	{name: "neither PEM nor base64 of it stays", in: "config: {a.io: {tls: {ca: bWFkZS11cA==, clientIdentity: {crt: x, key: made-up}}}}",
		want: Set{Config: map[string]HostConfig{"a.io": {TLS: &TLS{CA: "bWFkZS11cA==", ClientIdentity: &ClientIdentity{Certificate: "x", Key: NewSecret("made-up")}}}}}},
	{name: "empty documents beside", in: "---\n# nothing\n---\nmirrors: {a.io: {}}\n---\n", want: Set{Mirrors: map[string]Mirror{"a.io": {}}}},

	{name: "empty", in: "", err: []string{`0:0 : the input is empty (want a mapping; an empty one is written {}) [syntax]`}},
	{name: "comment", in: "# nothing\n", err: []string{`0:0 : the input is empty (want a mapping; an empty one is written {}) [syntax]`}},
	{name: "list", in: "- a\n", err: []string{`1:1 : found a list (want a mapping) [wrong-kind]`}},
	{name: "text", in: "hello\n", err: []string{`1:1 : found a string (want a mapping) [wrong-kind]`}},
	{name: "lists for mappings", in: "mirrors: [a]\nconfig: []\n", err: []string{
		`1:10 mirrors: found a list (want a mapping) [wrong-kind]`, `2:9 config: found a list (want a mapping) [wrong-kind]`}},
	{name: "several documents", in: "mirrors: {}\n---\nconfig: {}\n", err: []string{`3:1 : a second document begins here (want one document in a file) [syntax]`}},
	{name: "repeated keys", in: "mirrors:\n  a.io: {}\n  a.io: {}\nmirrors: {}\n", err: []string{
		`3:3 mirrors["a.io"]: the key is there twice, first in line 2 (want it once; a YAML reader would drop one of the two) [repeated-key]`,
		`4:1 mirrors: the key is there twice, first in line 1 (want it once; a YAML reader would drop one of the two) [repeated-key]`}},
	{name: "unknown keys, and what else is wrong", in: "mirors: {}\nmirrors:\n  a.io:\n    endpoint: [https://a]\n    skip_fallback: true\n    endpoints: [a:5000]\n", err: []string{
		`1:1 : unknown key "mirors" (did you mean "mirrors"?) [unknown-key]`,
		`4:5 mirrors["a.io"]: unknown key "endpoint" (did you mean "endpoints"?) [unknown-key]`,
		`5:5 mirrors["a.io"]: unknown key "skip_fallback" (did you mean "skipFallback"?) [unknown-key]`,
		`6:17 mirrors["a.io"].endpoints[0]: "a:5000" has no scheme (want "https://a:5000" or "http://a:5000") [endpoint-scheme]`}},
	{name: "nothing like it", in: "mirrors: {a.io: {priority: 1}}", err: []string{
		`1:18 mirrors["a.io"]: unknown key "priority" (want endpoints, overridePath, skipFallback) [unknown-key]`}},
	{name: "a Talos configuration", in: "machine:\n  registries: {}\n", err: []string{
		`1:1 : unknown key "machine" (the file looks like the format "talos", which is read with --from talos; want mirrors and config here) [unknown-key]`}},
	{name: "null entries", in: "mirrors:\n  a.io:\nconfig: {b.io: null}\n", err: []string{
		`2:3 mirrors["a.io"]: found null (want a mapping, or no such key; an empty one is written {}) [wrong-kind]`,
		`3:10 config["b.io"]: found null (want a mapping, or no such key; an empty one is written {}) [wrong-kind]`}},
	{name: "scalars of another kind", in: "config:\n  a.io:\n    auth: {username: 123, password: 2024-01-01, auth: true, identityToken: !!binary YQ==}\n    tls: {insecureSkipVerify: 'true'}\n", err: []string{
		`3:22 config["a.io"].auth.username: found a number (want a string: put it in quotes) [wrong-kind]`,
		`3:37 config["a.io"].auth.password: found a date (want a string: put it in quotes) [wrong-kind]`,
		`3:55 config["a.io"].auth.auth: found a boolean (want a string: put it in quotes) [wrong-kind]`,
		`3:76 config["a.io"].auth.identityToken: found !!binary data (want a string: write it without the tag) [wrong-kind]`,
		`4:31 config["a.io"].tls.insecureSkipVerify: found a string (want true or false, without quotes) [wrong-kind]`}},
	{name: "booleans of YAML 1.1", in: "mirrors: {a.io: {skipFallback: yes, overridePath: off}}", err: []string{
		`1:32 mirrors["a.io"].skipFallback: found a string (want true) [wrong-kind]`,
		`1:51 mirrors["a.io"].overridePath: found a string (want false) [wrong-kind]`}},
	{name: "a string for a list", in: "mirrors:\n  a.io:\n    endpoints: https://a\n", err: []string{
		`3:16 mirrors["a.io"].endpoints: found a string (want a list: write - before it, on a line of its own) [wrong-kind]`}},
	{name: "endpoints of other kinds", in: "mirrors: {a.io: {endpoints: [1, [], {overridePath: true}, {url: 5, x: y}]}}", err: []string{
		`1:30 mirrors["a.io"].endpoints[0]: found a number (want a URL, or a mapping with url: put it in quotes) [wrong-kind]`,
		`1:33 mirrors["a.io"].endpoints[1]: found a list (want a URL, or a mapping with url) [wrong-kind]`,
		`1:37 mirrors["a.io"].endpoints[2]: an endpoint without url (want url: https://…) [wrong-kind]`,
		`1:65 mirrors["a.io"].endpoints[3].url: found a number (want a string: put it in quotes) [wrong-kind]`,
		`1:68 mirrors["a.io"].endpoints[3]: unknown key "x" (want url, overridePath) [unknown-key]`}},
	{name: "keys of other kinds", in: "mirrors:\n  5000: {}\n  [a]: {}\n", err: []string{
		`2:3 mirrors: found a number as a key (want a string, in quotes) [wrong-kind]`,
		`3:3 mirrors: found a list as a key (want a string) [wrong-kind]`}},
	{name: "overridePath against itself", in: "mirrors:\n  a.io:\n    overridePath: true\n    endpoints:\n      - {url: https://a/v2/x, overridePath: false}\n  b.io: {overridePath: true}\n", err: []string{
		`5:45 mirrors["a.io"].endpoints[0].overridePath: overridePath is false here, and true for the whole mirror in line 3 (want it at the endpoints or at the mirror, not at both) [override-conflict]`,
		`6:24 mirrors["b.io"].overridePath: overridePath of a mirror without endpoints (want endpoints, or no overridePath) [override-conflict]`}},
	{name: "document names", in: "config: {a.io: {tls: {clientIdentity: {cert: x}}}}", err: []string{
		`1:40 config["a.io"].tls.clientIdentity: unknown key "cert" (did you mean "crt"?) [unknown-key]`}},
	{name: "an unquoted star", in: "mirrors:\n  a.io: {}\n  *: {}\n", err: []string{
		`3:3 : not YAML: did not find expected alphabetic or numeric character (a key or value that begins with "*" or "&" has to be quoted: "*") [syntax]`}},
	{name: "a tab", in: "mirrors:\n\ta.io: {}\n", err: []string{
		"2:1 : not YAML: found character that cannot start any token (YAML is indented with spaces, not tabs; a value that begins with @ or ` has to be quoted) [syntax]"}},
	{name: "indentation", in: "mirrors:\n  a.io: {}\n  b.io: {}\n c.io: {}\nconfig: {}\n", err: []string{`4:2 : not YAML: did not find expected key [syntax]`}},
	{name: "an open quote", in: "mirrors:\n  a.io: {}\n  b.io: 'x\n", err: []string{`3:3 : not YAML: found unexpected end of stream [syntax]`}},
	{name: "NUL", in: "mirrors: {}\n\x00", err: []string{`2:1 : a NUL byte at offset 12: this is not a text file (want a text file in UTF-8) [syntax]`}},
	{name: "a control character", in: "mirrors: {}\nä\x07", err: []string{`2:2 : the control character U+0007 at offset 14 (YAML wants it escaped, in a double-quoted string) [syntax]`}},
	{name: "Latin-1", in: "# caf\xe9\n", err: []string{`1:6 : byte 0xe9 at offset 5 is not UTF-8 (want a text file in UTF-8) [syntax]`}},
	{name: "UTF-16", in: "\xff\xfem\x00", err: []string{`1:1 : the input is UTF-16 (want UTF-8) [syntax]`}},
	{name: "too large", in: strings.Repeat("#", MaxSize+1), err: []string{`0:0 : more than 4194304 bytes (want a smaller file) [input-size]`}},
	{name: "a second colon", in: "mirrors:\n  a.io: b: {}\n", err: []string{`2:10 : not YAML: mapping values are not allowed in this context [syntax]`}},
	{name: "tags", in: "mirrors: !foo {a.io: {endpoints: !bar [x]}}\nconfig: {a.io: !baz x}\n", err: []string{
		`1:10 mirrors: found a value with a tag of its own (want a mapping) [wrong-kind]`,
		`2:16 config["a.io"]: found a value with a tag of its own (want a mapping) [wrong-kind]`}},
	{name: "null and empty endpoints", in: "mirrors: {a.io: {endpoints: [null, '', '']}}", err: []string{
		`1:30 mirrors["a.io"].endpoints[0]: found null (want a URL, or a mapping with url) [wrong-kind]`,
		`1:36 mirrors["a.io"].endpoints[1]: the URL is empty (want an absolute URL, such as https://cache.example.com) [endpoint-syntax]`,
		`1:40 mirrors["a.io"].endpoints[2]: the URL is empty (want an absolute URL, such as https://cache.example.com) [endpoint-syntax]`}},
	{name: "a circle", in: "mirrors: &m\n  a.io: {}\n  <<: *m\n", err: []string{
		`3:7 mirrors: merge keys are nested too deep, or in a circle (write out what is meant) [wrong-kind]`}},
	{name: "a merge of something else", in: "mirrors: {<<: 5}", err: []string{
		`1:15 mirrors: found a number for the merge key << (want a mapping, or a list of mappings) [wrong-kind]`}},
}

func unbase64(s string) string { return decodePEM(s) }

// lines shows findings as the decode cases have them.
func lines(fs Findings) (ls []string) {
	for _, f := range fs {
		ls = append(ls, fmt.Sprintf("%d:%d %s: %s [%s]", f.Line, f.Column, f.Path, strings.TrimPrefix(f.String(), f.Path+": "), f.Rule))
	}
	return ls
}

func TestDecode(t *testing.T) {
	for _, c := range decodeCases {
		t.Run(c.name, func(t *testing.T) {
			src, err := Decode([]byte(c.in))
			if c.err == nil {
				require.NoError(t, err)
				assert.True(t, c.want.Equal(src.Set), "%+v", src.Set)
				return
			}
			assert.Nil(t, src)
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.err, lines(e.Findings))
		})
	}
}

// An alias bomb ends soon, with one finding, wherever it is put.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("x: &a [https://a.example.com" + strings.Repeat(",https://a.example.com", 999) + "]\nmirrors:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  r%d.io: {endpoints: *a}\n", i)
	}
	merges := "x0: &x0 {a.io: {}, b.io: {}}\n"
	for i := 1; i < 19; i++ {
		merges += fmt.Sprintf("x%d: &x%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", i-1), 9), ","))
	}
	for _, in := range []string{b.String(), merges + "mirrors: {<<: *x18}\n"} {
		_, err := Decode([]byte(in)) // without the bound it would not come back
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.Len(t, byRule(e.Findings, "input-size"), 1)
	}
}

// A secret is in no error, wherever it was put by mistake.
func TestDecodeErrorsHoldNoSecret(t *testing.T) {
	const secret = "hunter2made-up"
	for _, in := range []string{
		"config: {a.io: {auth: {username: u, password: *" + secret + "}}}",
		"config: {a.io: {auth: {" + secret + "}}}",
		"config: {a.io: {auth: {" + secret + ": 1, " + secret + ": 2}}}",
		"config: {a.io: {auth: {password: [" + secret + "]}}}",
		"config: {a.io: {auth: {password: !" + secret + " x}}}",
		"config: {a.io: {auth: {password: '" + secret + "}}}",
		"config: {a.io: {auth: " + secret + "}}",
		"config: {a.io: {auth: {username: u, password: {" + secret + ": " + secret + "}}}}",
		"config: {a.io: {tls: {clientIdentity: {" + secret + ": a, key: [" + secret + "]}}}}",
		"config: {'https://u:" + secret + "@a.io/': {auth: [], x: y}, b.io: []}",
		"mirrors: {a.io: {endpoints: ['https://u:" + secret + "@a.io', 'https://u:" + secret + "/x@a.io:x', 'u:" + secret + "@a', 'https://u:" + secret + "@ a']}, 'https://u:" + secret + "@a.io': []}",
		"mirrors: {a.io: {endpoints: ['https//u:" + secret + "@a.io', 'https:/u:" + secret + "@a.io', 'https://a.io/#" + secret + "', 'u:p@" + secret + "@a.io']}, 'u:" + secret + "@h': {}, x: 1}",
		"{x: 1, config: {'u:" + secret + "@h': {}, 'http://u:" + secret + "/x@h': {}, 'https://h/#" + secret + "': {}}}",
		"mirrors: {a.io: {endpoints: ['https://a.io/?token=" + secret + "'], x: 1}}",
		"mirrors: {a.io: {endpoints: ['https://u:" + secret + "%zz@a.io', 'https://u:" + secret + "@[::1', 'HTTPS://u:" + secret + "@b'], x: 1}}",
	} {
		_, err := Decode([]byte(in))
		require.Error(t, err, in)
		assert.NotContains(t, err.Error(), secret, in)
		assert.NotContains(t, fmt.Sprintf("%+v %#v", err, err), secret, in)
		var e *Error
		require.ErrorAs(t, err, &e)
		j, err := json.Marshal(e.Findings)
		require.NoError(t, err)
		assert.NotContains(t, string(j), secret, in)
	}
}

// The path in a larger document, and that of the mirrors alone.
func TestDecodeInALargerDocument(t *testing.T) {
	const doc = "talos:\n  registryMirrors:\n    ghcr.io:\n      endpoints:\n        - cache:5000\n  registries:\n    mirrors:\n      ghcr.io: {endpoints: ['']}\n    config: {}\n"
	root, err := ReadDocument([]byte(doc))
	require.NoError(t, err)
	talos := root.Content[1]

	src, err := DecodeMirrors(talos.Content[1], "talos.registryMirrors")
	require.NoError(t, err)
	assert.Equal(t, []string{`5:11 talos.registryMirrors["ghcr.io"].endpoints[0]: "cache:5000" has no scheme (want "https://cache:5000" or "http://cache:5000") [endpoint-scheme]`}, lines(src.Check()))

	src, err = DecodeNode(talos.Content[3], "talos.registries")
	require.NoError(t, err)
	assert.Equal(t, []string{`8:29 talos.registries.mirrors["ghcr.io"].endpoints[0]: the URL is empty (want an absolute URL, such as https://cache.example.com) [endpoint-syntax]`}, lines(src.Check()))

	_, err = DecodeMirrors(talos, "talos")
	require.Error(t, err)
	assert.Contains(t, err.Error(), `talos["registryMirrors"]: unknown key "ghcr.io"`)
}

func TestReadDocumentReportsRepeatedKeysAnywhere(t *testing.T) {
	root, err := ReadDocument([]byte("a:\n  - b: 1\n    'c d': {e: 1, e: 2}\n    b: 2\n\"1\": x\n1: y\n"))
	require.NotNil(t, root, "the rest can be read on")
	var e *Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []string{
		`3:19 a[0]["c d"].e: the key is there twice, first in line 3 (want it once; a YAML reader would drop one of the two) [repeated-key]`,
		`4:5 a[0].b: the key is there twice, first in line 2 (want it once; a YAML reader would drop one of the two) [repeated-key]`,
	}, lines(e.Findings))
}

func TestJoin(t *testing.T) {
	assert.NoError(t, Join(nil, nil))
	one := &Error{Findings: Findings{{Rule: "repeated-key", Line: 7, Column: 1, Message: "b"}, {Rule: "syntax", Line: 9, Message: "c"}}}
	two := &Error{Findings: Findings{{Rule: "wrong-kind", Line: 2, Message: "a"}, {Rule: "repeated-key", Line: 7, Column: 1, Message: "b", Path: "other"}}}
	var e *Error
	require.ErrorAs(t, Join(one, nil, fmt.Errorf("reading: %w", two), bytes.ErrTooLarge), &e)
	assert.Equal(t, []string{"0:0 : bytes.Buffer: too large [syntax]", "2:0 : a [wrong-kind]", "7:1 : b [repeated-key]", "9:0 : c [syntax]"}, lines(e.Findings))
	assert.ErrorIs(t, e, bytes.ErrTooLarge)
}

// Each field of a Set is written and read back; the bytes are the same for equal Sets.
func TestMarshal(t *testing.T) {
	set := Set{
		Mirrors: map[string]Mirror{
			"*":       {Endpoints: []Endpoint{{URL: "http://192.0.2.1:5000"}}},
			"ghcr.io": {Endpoints: []Endpoint{{"https://a.example.com/v2/x", true}, {"https://b.example.com/v2/y", true}}, SkipFallback: true},
			"quay.io": {Endpoints: []Endpoint{{"https://a.example.com/v2/x", true}, {"https://b.example.com", false}}},
			"empty":   {},
		},
		Config: map[string]HostConfig{
			"a.example.com": {Auth: &Auth{Username: "yes", Password: NewSecret("123")}, TLS: &TLS{CA: PEM(unbase64(exampleCA)), InsecureSkipVerify: true,
				ClientIdentity: &ClientIdentity{Certificate: PEM(unbase64(exampleCA)), Key: NewSecret("-----BEGIN made-up")}}},
			"b":    {Auth: &Auth{Auth: NewSecret("~"), IdentityToken: NewSecret("")}},
			"none": {TLS: &TLS{}, Auth: &Auth{}},
		},
	}
	text, err := yaml.Marshal(set)
	require.NoError(t, err)
	again, err := yaml.Marshal(set.DeepCopy())
	require.NoError(t, err)
	assert.Equal(t, string(text), string(again))
	src, err := Decode(text)
	require.NoError(t, err, "%s", text)
	assert.True(t, set.Equal(src.Set), "%s", text)
	assert.Contains(t, string(text), "    '*':\n        endpoints:\n            - http://192.0.2.1:5000\n")
	assert.Contains(t, string(text), "username: \"yes\"\n")
	assert.Contains(t, string(text), "ca: "+exampleCA+"\n")

	j, err := json.Marshal(set)
	require.NoError(t, err)
	src, err = Decode(j)
	require.NoError(t, err, "%s", j)
	assert.True(t, set.Equal(src.Set), "%s", j)
	var back Set
	require.NoError(t, json.Unmarshal(j, &back))
	assert.True(t, set.Equal(back))
}

func TestSetIsAFieldOfSomethingElse(t *testing.T) {
	var config struct{ Registries Set }
	require.NoError(t, yaml.Unmarshal([]byte("registries:\n  mirrors: {ghcr.io: {endpoints: [https://a]}}\n"), &config))
	want := Set{Mirrors: map[string]Mirror{"ghcr.io": {Endpoints: []Endpoint{{URL: "https://a"}}}}}
	assert.True(t, want.Equal(config.Registries))
	err := yaml.Unmarshal([]byte("registries: {mirrors: {quay.io: []}}"), &config)
	assert.ErrorContains(t, err, `mirrors["quay.io"]: found a list (want a mapping)`)
	assert.True(t, want.Equal(config.Registries), "it stays as it was")

	text, err := yaml.Marshal(config)
	require.NoError(t, err)
	var back struct{ Registries Set }
	require.NoError(t, yaml.Unmarshal(text, &back))
	assert.True(t, want.Equal(back.Registries))
}

// However a Set is printed, it shows no secret; encoding does.
func TestPrintingShowsNoSecret(t *testing.T) {
	secret := func() Secret { return NewSecret("hunter2") }
	set := Set{
		Mirrors: map[string]Mirror{"a": {Endpoints: []Endpoint{{URL: "https://u:hunter2@a"}}}},
		Config: map[string]HostConfig{"a": {Auth: &Auth{Username: "u", Password: secret(), Auth: secret(), IdentityToken: secret()},
			TLS: &TLS{ClientIdentity: &ClientIdentity{Key: secret()}}}}}
	plain := set.DeepCopy()
	plain.Mirrors = nil // by reflection a URL is what it is
	host := set.Config["a"]
	var out bytes.Buffer
	for _, v := range []any{secret(), new(secret()), plain, &plain, host, *host.Auth, host.Auth, *host.TLS, host.TLS, *host.TLS.ClientIdentity,
		struct{ set Set }{plain}, struct{ s Secret }{secret()}, struct{ s *Secret }{new(secret())}, struct{ auth *Auth }{host.Auth}, []any{host}, &Source{Set: plain}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%p"} {
			fmt.Fprintf(&out, format, v)
		}
		assert.Equal(failed{&out}, nil, v, "a failed test shows the difference")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&out, format, set)
		fmt.Fprintf(&out, format, set.Mirrors["a"].Endpoints[0])
		fmt.Fprintf(&out, format, &set.Mirrors["a"].Endpoints[0])
	}
	assert.Equal(t, "{https://[redacted]@a false}", fmt.Sprint(set.Mirrors["a"].Endpoints[0]))
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("x", "secret", secret(), "auth", *host.Auth, "authp", host.Auth, "tls", host.TLS, "id", host.TLS.ClientIdentity, "host", host, "endpoint", set.Mirrors["a"].Endpoints[0], "mirror", set.Mirrors["a"], "set", set, "setp", &set, "source", &Source{Set: set}, "nil", (*Source)(nil))
	}
	assert.NotContains(t, out.String(), "hunter2")
	assert.NotContains(t, strings.ToLower(out.String()), "68756e74657232")
	assert.Contains(t, out.String(), `"password":"[redacted]"`)

	assert.Equal(t, secret(), secret(), "equal secrets are equal")
	first, again := secret(), secret()
	assert.True(t, first == again && first != NewSecret("hunter3") && NewSecret("") == Secret{})
	assert.Equal(t, "hunter2", secret().Reveal())
	long := strings.Repeat("made-up ", 10_000)
	assert.Equal(t, long, NewSecret(long).Reveal())
	j, err := json.Marshal(set)
	require.NoError(t, err)
	assert.Contains(t, string(j), "hunter2")
}

// failed takes what testify prints about a failed assertion.
type failed struct{ out *bytes.Buffer }

func (f failed) Errorf(format string, args ...any) { fmt.Fprintf(f.out, format, args...) }

func TestNilSource(t *testing.T) {
	var src *Source
	assert.Empty(t, src.Check())
	_, err := DecodeNode(nil, "registries")
	assert.ErrorContains(t, err, "registries: found null (want a mapping)")
}
