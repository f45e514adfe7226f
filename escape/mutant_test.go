package escape

import (
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestMutants is the negative control: each encoder with one rule removed must
// fail the check that the encoder itself passes.
func TestMutants(t *testing.T) {
	inputs := corpus(t)
	escaping := func(special string) func(string) string {
		return func(s string) string {
			var b strings.Builder
			for i := range len(s) {
				if strings.IndexByte(special, s[i]) >= 0 {
					b.WriteByte('\\')
				}
				b.WriteByte(s[i])
			}
			return b.String()
		}
	}
	document := func(escaped func(string) string, delim func(body string) string, quoted bool) func(s string) (string, string, error) {
		return func(s string) (string, string, error) {
			if strings.IndexByte(s, 0) >= 0 || !quoted && strings.IndexByte(s, 1) >= 0 {
				return "", "", &Error{}
			}
			body := escaped(s) + "\n"
			d := delim(body)
			open := "show <<" + d + "\n"
			if quoted {
				open = "show <<'" + d + "'\n"
			}
			return open + body + d + "\n", s + "\n", nil
		}
	}
	right := func(body string) string {
		d, _ := delimiter([]byte(body))
		return d
	}
	fixed := func(string) string { return "EOF" }
	identity := func(s string) string { return s }
	word := func(quote func(s string) string) func(s string) (string, string, error) {
		return func(s string) (string, string, error) {
			if strings.IndexByte(s, 0) >= 0 {
				return "", "", &Error{}
			}
			return "put " + quote(s) + "\n", s + "\n", nil
		}
	}
	refusing := func(c byte) func(s string) bool {
		return func(s string) bool { return noNUL(s) && (c == 0 || strings.IndexByte(s, c) < 0) }
	}
	sh := shelltest.Shell{Name: "sh", Args: []string{"/bin/sh"}}

	for _, m := range []struct {
		name  string
		place shellPlace
		lives bool // the control of the control: the right encoder
	}{
		{"heredoc, all rules", shellPlace{"heredoc", document(escaping("\\$`"), right, false), refusing(1)}, true},
		{"heredoc without \\", shellPlace{"heredoc", document(escaping("$`"), right, false), refusing(1)}, false},
		{"heredoc without $", shellPlace{"heredoc", document(escaping("\\`"), right, false), refusing(1)}, false},
		{"heredoc without backquote", shellPlace{"heredoc", document(escaping("\\$"), right, false), refusing(1)}, false},
		{"heredoc with \" escaped", shellPlace{"heredoc", document(escaping("\\$`\""), right, false), refusing(1)}, false},
		{"heredoc with a fixed delimiter", shellPlace{"heredoc", document(escaping("\\$`"), fixed, false), refusing(1)}, false},
		{"heredoc that carries 0x01", shellPlace{"heredoc", document(escaping("\\$`"), right, false), refusing(0)}, false},
		{"heredoc with <<-", shellPlace{"heredoc", func(s string) (string, string, error) {
			source, want, err := document(escaping("\\$`"), right, false)(s)
			return strings.Replace(source, "<<", "<<-", 1), want, err
		}, refusing(1)}, false},
		{"quoted, all rules", shellPlace{"heredoc-quoted", document(identity, right, true), refusing(0)}, true},
		{"quoted with a fixed delimiter", shellPlace{"heredoc-quoted", document(identity, fixed, true), refusing(0)}, false},
		{"quoted without the quotes", shellPlace{"heredoc-quoted", func(s string) (string, string, error) {
			source, want, err := document(identity, right, true)(s)
			d := right(s + "\n")
			return strings.Replace(source, "'"+d+"'", d, 1), want, err
		}, refusing(0)}, false},
		{"word, all rules", shellPlace{"word", word(func(s string) string { return string(AppendWord(nil, s)) }), noNUL}, true},
		{"word without ' escaped", shellPlace{"word", word(func(s string) string { return "'" + s + "'" }), noNUL}, false},
		{"word with '' for '", shellPlace{"word", word(func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }), noNUL}, false},
		{"word bare when it looks safe", shellPlace{"word", word(func(s string) string {
			if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.-~#!") == "" {
				return s
			}
			return string(AppendWord(nil, s))
		}), noNUL}, false},
		{"word in double quotes", shellPlace{"word", word(func(s string) string { return `"` + escaping("\\$\"")(s) + `"` }), noNUL}, false},
		{"word that carries NUL", shellPlace{"word", func(s string) (string, string, error) {
			return "put " + string(AppendWord(nil, s)) + "\n", s + "\n", nil
		}, func(string) bool { return true }}, false},
	} {
		t.Run(m.name, func(t *testing.T) {
			bad := differential(t, sh, m.place, inputs[:2600], batchSize)
			if m.lives && len(bad) > 0 {
				t.Errorf("the right encoder fails:\n%s", strings.Join(bad, "\n"))
			}
			if !m.lives && len(bad) == 0 {
				t.Error("the suite does not see that this rule is missing")
			}
		})
	}

	for name, mutant := range map[string]func(string) string{
		"kubelet, $( only":          func(s string) string { return strings.ReplaceAll(s, "$(", "$$(") },
		"kubelet, nothing":          identity,
		"kubelet, before $ and (":   func(s string) string { return doubleBefore(s, "$(") },
		"kubelet, with a backslash": func(s string) string { return strings.ReplaceAll(s, "$", `\$`) },
	} {
		t.Run(name, func(t *testing.T) {
			for _, in := range inputs {
				if kubelettest.Expand(mutant(in.s), kubeletEnvironment) != in.s {
					return
				}
			}
			t.Error("the suite does not see that this rule is missing")
		})
	}
	for name, mutant := range yamlMutants {
		t.Run(name, func(t *testing.T) {
			for _, in := range inputs {
				if _, err := YAML(in.s); err != nil {
					continue
				}
				if decodesTo(mutant(in.s), in.s) != nil {
					return
				}
			}
			t.Error("the suite does not see that this rule is missing")
		})
	}
}

func doubleBefore(s, next string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '$' && i+1 < len(s) && strings.IndexByte(next, s[i+1]) >= 0 {
			b.WriteByte('$')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
