package escape

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	yamlv4 "go.yaml.in/yaml/v4"
	yamlv3 "gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
)

var kubeletEnvironment = map[string]string{"BOOTSTRAP_TOKEN": "LEAKED", "SECRET": "LEAKED", "id": "LEAKED", "NAME": "LEAKED", "": "LEAKED", "x": "$(SECRET)", "date": "LEAKED"}

// decodesTo checks that a YAML scalar means s, where a value, a list's item and
// a flow mapping's value stand, to both YAML libraries.
func decodesTo(scalar, s string) error {
	for name, unmarshal := range map[string]func([]byte, any) error{
		"yaml.v3": func(b []byte, v any) error { return yamlv3.Unmarshal(b, v) },
		"yaml/v4": func(b []byte, v any) error { return yamlv4.Unmarshal(b, v) },
	} {
		doc := "a:\n  key b: " + scalar + "\n  key c: [" + scalar + ", {d: " + scalar + "}]\ne: end\n"
		want := map[string]any{"key b": s, "key c": []any{s, map[string]any{"d": s}}}
		if len(scalar) < 1024 { // as a key; YAML takes no longer ones
			doc += "f: {" + scalar + ": 1}\n"
		}
		var got struct {
			A map[string]any `yaml:"a"`
			E string         `yaml:"e"`
			F map[string]int `yaml:"f"`
		}
		if err := unmarshal([]byte(doc), &got); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if fmt.Sprintf("%#v", got.A) != fmt.Sprintf("%#v", want) || got.E != "end" || len(scalar) < 1024 && got.F[s] != 1 {
			return fmt.Errorf("%s: %.100q became %.200q", name, s, fmt.Sprint(got.A))
		}
	}
	return nil
}

// blockDecodesTo checks a literal block at two depths, in a mapping and in a list.
func blockDecodesTo(s string) error { return blockDecodesToBy(YAMLBlock, s) }

func blockDecodesToBy(block func(s string, parent int) (string, error), s string) error {
	top, err := block(s, 0)
	if err != nil {
		return err
	}
	deep, err := block(s, 4)
	if err != nil {
		return err
	}
	item, err := block(s, 2)
	if err != nil {
		return err
	}
	doc := "a: " + top + "b:\n  c:\n    d: " + deep + "    e: 1\nf:\n  - " + item + "  - x\ng:\n- h: " + item + "  i: y\nj: end\n"
	want := fmt.Sprintf("%q", []string{s, s, s, "x", s, "y", "end"})
	for name, unmarshal := range map[string]func([]byte, any) error{
		"yaml.v3": func(b []byte, v any) error { return yamlv3.Unmarshal(b, v) },
		"yaml/v4": func(b []byte, v any) error { return yamlv4.Unmarshal(b, v) },
	} {
		var got struct {
			A string
			B struct{ C struct{ D string } }
			F []string
			G []struct{ H, I string }
			J string
		}
		if err := unmarshal([]byte(doc), &got); err != nil {
			return fmt.Errorf("%s: %w\n%q", name, err, doc)
		}
		if len(got.F) != 2 || len(got.G) != 1 {
			return fmt.Errorf("%s: %.100q broke the document", name, s)
		}
		if list := fmt.Sprintf("%q", []string{got.A, got.B.C.D, got.F[0], got.F[1], got.G[0].H, got.G[0].I, got.J}); list != want {
			return fmt.Errorf("%s: got %.200s, want %.200s", name, list, want)
		}
	}
	return nil
}

func blockable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if r < ' ' && r != '\t' && r != '\n' || 0x7f <= r && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
			return false
		}
	}
	return true
}

var yamlMutants = map[string]func(string) string{
	"yaml, \" alone": func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` },
	"yaml, \\ and \"": func(s string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	},
	"yaml, single quotes": func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" },
	"yaml, JSON": func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	},
}

// yamlInputs are what YAML readers treat in a way of their own.
var yamlInputs = []string{
	"", " ", "\n", "\n\n", "\n ", " \n", "\t", "\ta\nb", "a\n\n", "a\n\n\n", "\na", "  a\nb", "a\n  b\n", "---", "---\n", "...", "%YAML 1.2\n", "# c", "- a", "? a", "null", "~", "true", "1e3", "0x10", ".inf", "<<", "=",
	"\u0085", "a\u2028b", "a\u2029b", "\ufeff", "a\ufeffb", "\ufffe", "\uffff", "\u0080", "\u009f", "\x7f", "\U0001f600", "\U0010ffff", "\U0001fffe", "\ufffd", "{{ .Values.x }}", "a: b", "a #b", "\\x41", "\\u0041", "é", "\u00a0", "a\r\nb", "\x1b[31m",
}

func TestYAML(t *testing.T) {
	for _, in := range append(corpus(t), inputsOf(yamlInputs)...) {
		scalar, err := YAML(in.s)
		if carried, want := err == nil, utf8.ValidString(in.s) && noNUL(in.s); carried != want {
			t.Fatalf("%s: carried is %v: %v", in.name, carried, err)
		} else if carried {
			for _, r := range scalar {
				if r < ' ' || r > '~' {
					t.Fatalf("%s: %q in the scalar", in.name, r)
				}
			}
			if err := decodesTo(scalar, in.s); err != nil {
				t.Fatalf("%s: %v", in.name, err)
			}
		}

		_, err = YAMLBlock(in.s, 0)
		if carried := err == nil; carried != blockable(in.s) {
			t.Fatalf("%s: block: carried is %v: %v", in.name, carried, err)
		} else if carried {
			if err := blockDecodesTo(in.s); err != nil {
				t.Fatalf("%s: %v", in.name, err)
			}
		}
	}
	for _, parent := range []int{-1, maxParent + 1, 1 << 62} {
		if block, err := YAMLBlock("a", parent); err == nil {
			t.Errorf("parent %d: %.100q", parent, block)
		}
	}
	if _, err := YAMLBlock("a", maxParent); err != nil {
		t.Error(err)
	}
}

func TestYAMLErrors(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"a\x00b", "yaml: byte 1: byte 0x00 is no text (remove it, or carry the data as base64)"},
		{"a\xffb", "yaml: byte 1: not valid UTF-8, which YAML cannot hold (carry the data as base64)"},
		{"\x00\xff", "yaml: byte 0: byte 0x00 is no text (remove it, or carry the data as base64)\nyaml: byte 1: not valid UTF-8, which YAML cannot hold (carry the data as base64)"},
	} {
		if _, err := YAML(c.in); errorText(err) != c.want {
			t.Errorf("%q: got %v", c.in, err)
		}
	}
}

// TestHelm: only NUL and what Helm deletes after rendering are refused; that everything
// else comes out as it was is shown with Helm's own engine, in internal/e2e.
func TestHelm(t *testing.T) {
	for _, c := range []struct {
		in, want, err string
	}{
		{"", "", ""},
		{"{", `{{"{"}}`, ""},
		{"{{ .x }}", `{{"{"}}{{"{"}} .x }}`, ""},
		{"<no value", "<no value", ""},
		{"< no value>", "< no value>", ""},
		{"<no value>", "", "helm: byte 0: <no value>, which Helm deletes from what a template prints (carry the data as base64, or as a value through toJson)"},
		{"a\x00b", "", "helm: byte 1: byte 0x00 is no text (remove it, or carry the data as base64)"},
		{"{\x00<no value>\x00", "", "helm: byte 1: byte 0x00 is no text (remove it, or carry the data as base64)\n" +
			"helm: byte 2: <no value>, which Helm deletes from what a template prints (carry the data as base64, or as a value through toJson)"},
		{"{a<no <no value>value>", "", "helm: byte 6: <no value>, which Helm deletes from what a template prints (carry the data as base64, or as a value through toJson)"},
	} {
		if got, err := Helm(c.in); got != c.want || errorText(err) != c.err {
			t.Errorf("%q: got %q, %v", c.in, got, err)
		}
	}
}

func inputsOf(list []string) []fragmentInput {
	var inputs []fragmentInput
	for _, s := range list {
		inputs = append(inputs, fragmentInput{fmt.Sprintf("listed/%q", s), s})
	}
	return inputs
}

func TestKubelet(t *testing.T) {
	for _, in := range corpus(t) {
		arg, err := KubeletArg(in.s)
		if carried, want := err == nil, utf8.ValidString(in.s) && noNUL(in.s) && len(in.s) <= MaxArgument; carried != want {
			t.Fatalf("%s: carried is %v: %v", in.name, carried, err)
		}
		if err == nil {
			if got := kubelettest.Expand(arg, kubeletEnvironment); got != in.s {
				t.Fatalf("%s: got %q", in.name, got)
			}
		}
		// The encoder itself is right for bytes that the place refuses.
		if got := kubelettest.Expand(string(AppendKubelet(nil, in.s)), kubeletEnvironment); got != in.s {
			t.Fatalf("%s: AppendKubelet: got %q", in.name, got)
		}
	}
}

func TestKubeletErrors(t *testing.T) {
	for _, c := range []struct {
		in, want string
	}{
		{"a\x00b", "kubelet: byte 1: byte 0x00 cannot stand in an argument or an environment variable (remove it, or carry the data as base64)"},
		{"a\xffb", "kubelet: byte 1: not valid UTF-8, and a Kubernetes string is (carry the data as base64)"},
		{"a\xed\xa0\x80", "kubelet: byte 1: not valid UTF-8, and a Kubernetes string is (carry the data as base64)"},
		{"\ufffd\xc3", "kubelet: byte 3: not valid UTF-8, and a Kubernetes string is (carry the data as base64)"},
		{strings.Repeat("$", MaxArgument), ""},
		{strings.Repeat("$", MaxArgument+1), "kubelet: 131072 bytes, and Linux takes at most 131071 in one argument (mount it as a file from a ConfigMap, or from a Secret when it holds one)"},
	} {
		_, err := KubeletArg(c.in)
		if got := errorText(err); got != c.want {
			t.Errorf("%.20q: got %s", c.in, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
