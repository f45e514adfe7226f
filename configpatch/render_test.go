package configpatch

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

func TestScalar(t *testing.T) {
	for in, want := range map[string]string{
		"ghcr.io":                           `ghcr.io`,
		"registry.example.com:5000":         `registry.example.com:5000`,
		"https://m.example.com/v2/a_b~c%20": `https://m.example.com/v2/a_b~c%20`,
		"bWFkZTp1cA==":                      `bWFkZTp1cA==`,
		"":                                  `""`,
		"*":                                 `"*"`,
		"[fd00::1]:5000":                    `"[fd00::1]:5000"`,
		"10.0.0.1:5000":                     `"10.0.0.1:5000"`,
		"190:20:30":                         `"190:20:30"`, // a number of YAML 1.1
		"1e3":                               `"1e3"`,
		"a:":                                `"a:"`,
		"a: b":                              `"a: b"`,
		"a #b":                              `"a #b"`,
		"<<":                                `"<<"`,
		"=":                                 `"="`,
		"~":                                 `"~"`,
		"null":                              `"null"`,
		"NULL":                              `"NULL"`,
		"True":                              `"True"`,
		"no":                                `"no"`,
		"Yes":                               `"Yes"`,
		"y":                                 `"y"`,
		"off":                               `"off"`,
		"nope":                              `nope`,
		`"\`:                                `"\"\\"`,
		"a\nb\tc\rd\x00\x7f":                `"a\nb\tc\x0dd\x00\x7f"`,
		"\u0085\u2028\ufeff\u202e":          `"\u0085\u2028\ufeff\u202e"`,
		"\u00e9\U0001f511":                  `"\u00e9\U0001f511"`,
		"$(X) ${Y} `id` {{ .Z }}":           "\"$(X) ${Y} `id` {{ .Z }}\"",
	} {
		got := string(appendScalar(nil, in))
		assert.Equal(t, want, got, "%q", in)
		var value, key any
		require.NoError(t, yaml.Unmarshal([]byte(got), &value))
		assert.Equal(t, in, value)
		require.NoError(t, yaml.Unmarshal([]byte(got+": x\n"), &key))
		assert.Equal(t, map[string]any{in: "x"}, key)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":              "k: \"\"\n",
		"one line":      "k: \"one line\"\n",
		"one line\n":    "k: |\n    one line\n",
		"a\nb":          "k: |-\n    a\n    b\n",
		"a\n\n  b \n":   "k: |\n    a\n\n      b \n",
		"a\n---\n...\n": "k: |\n    a\n    ---\n    ...\n",
		"a\n\n":         "k: \"a\\n\\n\"\n",
		" a\nb\n":       "k: \" a\\nb\\n\"\n",
		"\na\n":         "k: \"\\na\\n\"\n",
		"a\r\nb\r\n":    "k: \"a\\x0d\\nb\\x0d\\n\"\n",
		"a\tb\n":        "k: \"a\\tb\\n\"\n",
	} {
		got := string(appendText(nil, 0, "k", in))
		assert.Equal(t, want, got, "%q", in)
		var value map[string]string
		require.NoError(t, yaml.Unmarshal([]byte(got+"---\n"), &value))
		assert.Equal(t, in, value["k"])
	}
}

func TestBase64(t *testing.T) {
	for in, want := range map[string]string{
		"":                 `""`,
		"-----BEGIN X----": `LS0tLS1CRUdJTiBYLS0tLQ==`,
		"\x9e\xe9\x65":     `"null"`, // base64 that reads as a word,
		"\xb6\xbb\x9e":     `"true"`,
		"\xd7\x6d\xf8":     `"1234"`, // or as a number
	} {
		assert.Equal(t, want+"\n", string(appendBase64Value(nil, in)), "%q", in)
	}
}
