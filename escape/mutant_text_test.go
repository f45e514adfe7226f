package escape

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"unicode/utf8"

	yamlv3 "gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// The negative controls of the text encoders: with one rule removed, the check
// that the encoder itself passes must fail.

// asHelm renders a template as Helm 3.22.0 does: text/template, and then
// <no value> is deleted.
func asHelm(text string) (string, error) {
	t, err := template.New("").Parse(text)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]string{"live": "LIVE"})
	return strings.ReplaceAll(out.String(), "<no value>", ""), err
}

func TestHelmMutants(t *testing.T) {
	inputs := append(corpus(t), inputsOf([]string{"{", "{{ .live }}", "{{", "a{", "<no value>", "<no value>EOF", "{{/*", "{{- fail -}}"})...)
	for _, m := range []struct {
		name   string
		encode func(s string) (string, error)
		lives  bool
	}{
		{"all rules", Helm, true},
		{"nothing", func(s string) (string, error) { return s, nil }, false},
		{"{{ only", func(s string) (string, error) { return strings.ReplaceAll(s, "{{", `{{"{{"}}`), nil }, false},
		{"with <no value>", func(s string) (string, error) { return string(AppendHelm(nil, s)), nil }, false},
	} {
		seen := false
		for _, in := range inputs {
			text, err := m.encode(in.s)
			if err != nil {
				continue
			}
			if got, err := asHelm(text + "{{ .live }}" + text); err != nil || got != in.s+"LIVE"+in.s {
				seen = true
				if m.lives {
					t.Errorf("%s: %v, %.100q", in.name, err, got)
				}
			}
		}
		if !seen && !m.lives {
			t.Errorf("%s: the suite does not see that this rule is missing", m.name)
		}
	}
}

// TestHelmCommandMutants: the scalar of a script in a chart, without one of its rules.
func TestHelmCommandMutants(t *testing.T) {
	scripts := []string{"echo {", "echo '{{ .live }}'", "echo '<no value>'", "echo '<no value>\"'", "a\nb", "\\", "$(X)$$"}
	for _, m := range []struct {
		name   string
		encode func(s string) string
		lives  bool
	}{
		{"all rules", func(s string) string {
			scalar, err := Script{s}.HelmCommand()
			if err != nil {
				t.Fatal(err)
			}
			return scalar
		}, true},
		{"without {", func(s string) string {
			return strings.ReplaceAll(string(appendYAML(nil, string(AppendKubelet(nil, s)), true)), `\x7b`, "{")
		}, false},
		{"without <", func(s string) string {
			return strings.ReplaceAll(string(appendYAML(nil, string(AppendKubelet(nil, s)), true)), `\x3c`, "<")
		}, false},
		{"Helm's own text", func(s string) string {
			return string(AppendHelm(nil, string(AppendYAML(nil, string(AppendKubelet(nil, s))))))
		}, false},
		{"without the kubelet", func(s string) string { return string(appendYAML(nil, s, true)) }, false},
	} {
		seen := false
		for _, s := range scripts {
			var got string
			text, err := asHelm("[" + m.encode(s) + "]")
			if err == nil {
				var list []string
				if err = yamlv3.Unmarshal([]byte(text), &list); err == nil && len(list) == 1 {
					got = list[0]
				}
			}
			if err != nil || got != string(AppendKubelet(nil, s)) {
				seen = true
				if m.lives {
					t.Errorf("%q: %v, %q", s, err, got)
				}
			}
		}
		if !seen && !m.lives {
			t.Errorf("%s: the suite does not see that this rule is missing", m.name)
		}
	}
}

func TestYAMLBlockMutants(t *testing.T) {
	inputs := append(inputsOf(yamlInputs), corpus(t)...)
	// indent writes a block without any rule but the indentation.
	indent := func(header, s string, parent int) string {
		return header + "\n" + strings.Repeat(" ", parent+2) + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n"+strings.Repeat(" ", parent+2)) + "\n"
	}
	for _, m := range []struct {
		name  string
		block func(s string, parent int) (string, error)
		lives bool
	}{
		{"all rules", YAMLBlock, true},
		{"without the number", changed("|2", "|"), false},
		{"without -", changed("|2-", "|2"), false},
		{"without +", changed("|2+", "|2"), false},
		{"folded", changed("|2", ">2"), false},
		{"with every character", func(s string, parent int) (string, error) {
			if !utf8.ValidString(s) || strings.HasSuffix(s, "\n\n") || s == "\n" {
				return "", errors.New("not this one's concern")
			}
			if strings.HasSuffix(s, "\n") {
				return indent("|2", s, parent), nil
			}
			return indent("|2-", s, parent), nil
		}, false},
		{"not indented", func(s string, parent int) (string, error) {
			block, err := YAMLBlock(s, parent)
			return strings.ReplaceAll(block, "\n"+strings.Repeat(" ", parent+2), "\n "), err
		}, false},
	} {
		seen := false
		for _, in := range inputs {
			if _, err := m.block(in.s, 0); err != nil {
				continue
			}
			if err := blockDecodesToBy(m.block, in.s); err != nil {
				seen = true
				if m.lives {
					t.Errorf("%s: %v", in.name, err)
				} else {
					break
				}
			}
		}
		if !seen && !m.lives {
			t.Errorf("%s: the suite does not see that this rule is missing", m.name)
		}
	}
}

// changed is YAMLBlock with another header.
func changed(from, to string) func(s string, parent int) (string, error) {
	return func(s string, parent int) (string, error) {
		block, err := YAMLBlock(s, parent)
		if rest, ok := strings.CutPrefix(block, from); ok {
			block = to + rest
		}
		return block, err
	}
}

// TestFormMutants removes each pattern of each form's check: a value at the
// edge of the form tells.
func TestFormMutants(t *testing.T) {
	alternative := regexp.MustCompile(`\|[^|)\n]+|\n[^|)\n]+\|`)
	sh := shelltest.Shell{Name: "sh", Args: []string{"/bin/sh"}}
	mutants := 0
	for _, f := range forms {
		if f.form.chars != "" || f.form == Any {
			continue
		}
		values := append([]string{"", "\n", "a\nb", "é", "*", "a\n"}, f.near...)
		check := func(source string) string {
			var script strings.Builder
			script.WriteString(prelude + ownPrefix + "refuse() { r=0; }\ncheck() {\nV=$1 r=1\n" + source + "o=$o$r\n}\no=\n")
			for _, v := range values {
				fmt.Fprintf(&script, "check %s\n", AppendWord(nil, v))
			}
			script.WriteString("echo $o\n")
			out, stderr, code := runFile(t, sh, script.String(), environment())
			if code != 0 || stderr != "" {
				return fmt.Sprintf("status %d, %s", code, stderr)
			}
			return out
		}
		source := f.form.source("V")
		right := check(source)
		for _, at := range alternative.FindAllStringIndex(source, -1) {
			pattern := source[at[0]:at[1]]
			mutant := source[:at[0]] + source[at[1]:]
			if pattern[0] == '\n' {
				mutant = source[:at[0]+1] + source[at[1]:]
			}
			mutants++
			switch {
			case f.name == "Address" && pattern == "\n''|": // .. refuses the empty value too
			case pattern == `|\=*`: // what begins with = has === or another length
			case check(mutant) == right:
				t.Errorf("%s: no value needs %q, byte %d of\n%s", f.name, pattern, at[0], source)
			}
		}
	}
	if mutants < 40 {
		t.Errorf("%d mutants", mutants)
	}
	t.Logf("%d mutants", mutants)
}

// TestSedMutants removes each command of the sed script.
func TestSedMutants(t *testing.T) {
	script := yamlSed()
	sed := func(script, s string) string {
		cmd := exec.Command("sed", "-e", script)
		cmd.Env = environment("LC_ALL=C")
		cmd.Stdin = strings.NewReader(s + "\n")
		out, err := cmd.Output()
		if err != nil {
			return err.Error()
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	wrong := func(script, s string) bool {
		out := sed(script, s)
		quoted := len(out) >= 2 && out[0] == '"' && out[len(out)-1] == '"'
		return quoted != utf8.ValidString(s) || quoted && decodesTo(out, s) != nil
	}
	var values []string
	for c := 1; c < 256; c++ {
		values = append(values, "a"+string([]byte{byte(c)})+"b")
	}
	for r := rune(0x80); r < 0xa0; r++ {
		values = append(values, "a"+string(r)+"b")
	}
	values = append(values, "a\u2028b", "a\u2029b", "a\ufeffb", "a\ufffeb", "a\uffffb", "a\nb", "\n", "")
	values = append(values, sequences...)
	for _, v := range values {
		if wrong(script, v) {
			t.Errorf("%q: got %q", v, sed(script, v))
		}
	}
	n := 0
	remove := func(from, to int) {
		command := script[from:to]
		mutant := script[:from] + script[to:]
		n++
		// The values that hold what the command replaces come first.
		pattern := strings.TrimPrefix(strings.SplitN(command, "/", 3)[1], `\`)
		slices.SortStableFunc(values, func(a, b string) int {
			rank := func(s string) int {
				if strings.Contains(s, pattern) || command[0] == 's' && strings.Contains(command, "/ /") && slices.Contains(sequences, s) {
					return 0
				}
				return 1
			}
			return rank(a) - rank(b)
		})
		for _, v := range values {
			if wrong(mutant, v) {
				return
			}
		}
		if pattern != "\t" && pattern != "\ufeff" { // these two readers take them as they are
			t.Errorf("no value needs %q", command)
		}
	}
	commands := regexp.MustCompile(`s/[^/]+/[^/]*/g?;`).FindAllStringIndex(script, -1)
	for _, at := range commands {
		remove(at[0], at[1])
	}
	invalid := strings.Index(script, "/[\x80-\xff]/{")
	remove(invalid, strings.Index(script, "}\n")+2)
	if n < 80 {
		t.Errorf("%d mutants", n)
	}
	t.Logf("%d mutants", n)
}
