package escape

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestAssignMutants: a script without one of the lines that Assign writes runs
// on after a failure, or loses a newline, in some shell.
func TestAssignMutants(t *testing.T) {
	text, word := Live("APP_TEXT", Any), Live("APP_TEXT", Chars("ax"))
	inCondition := func(v Variable, cmd Shell) []Shell {
		return []Shell{Lit("f() {\n"), Assign(v, cmd), Lit("echo LEAKED\n}\nif f; then :; fi\n")}
	}
	for _, c := range []struct {
		name     string
		parts    []Shell
		old, new string // what the mutant has changed
		want     string // what the script prints before it ends
	}{
		{"set -e", []Shell{Assign(word, Lit("false\nprintf x")), Lit("echo LEAKED\n")}, "$(set -e\n", "$(\n", ""},
		{"set -e for Any", []Shell{Assign(text, Lit("false\nprintf x")), Lit("echo LEAKED\n")}, "set -e\n", "", ""},
		{"the exit status", inCondition(word, Lit("printf x; false")), "[ $? -eq 0 ] || exit 1\n", "", ""},
		{"the exit status for Any", inCondition(text, Lit("printf x; false")), "[ $? -eq 0 ] || exit 1\n", "", ""},
		{"the status behind the x", inCondition(text, Lit("printf x; false")), "exit \"$mirrorpatch_status\"", "", ""},
		{"the x", []Shell{Assign(text, Lit("printf 'a\\n\\n'")), Lit("printf '<%s>' "), text.Word(), Lit("\n")}, "echo x\n", "", "<a\n\n>"},
		{"the x taken away", []Shell{Assign(text, Lit("printf 'a\\n\\n'")), Lit("printf '<%s>' "), text.Word(), Lit("\n")}, "APP_TEXT=${APP_TEXT%x}\n", "", "<a\n\n>"},
		{"the subshell", []Shell{Assign(text, Lit("printf 'a\\n'; exit 0")), Lit("printf '<%s>' "), text.Word(), Lit("\n")}, "(set -e\n(set -e\n", "(set -e\n{ set -e\n", "<a\n>"},
		{"unset", []Shell{Lit("if false; then\n"), Assign(word, Lit("printf x")), Lit("fi\necho "), word.Word(), Lit("\n")}, "unset APP_TEXT\n", "", ""},
	} {
		script, err := Program(c.parts...)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, ok := strings.CutPrefix(script.String(), prelude)
		if !ok || !strings.Contains(body, c.old) {
			t.Fatalf("%s: there is no %q in\n%s", c.name, c.old, script)
		}
		mutant := strings.ReplaceAll(body, c.old, c.new)
		if c.name == "the subshell" {
			mutant = strings.Replace(mutant, "\n)\nmirrorpatch_status", "\n}\nmirrorpatch_status", 1)
		}
		killed := false
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			env := environment("APP_TEXT=LEAKED")
			if out, stderr, _ := runFile(t, sh, script.String(), env); out != c.want {
				t.Errorf("%s: got %q, %q", c.name, out, stderr)
			}
			out, _, _ := runFile(t, sh, prelude+mutant, env)
			killed = killed || out != c.want
		})
		if !killed {
			t.Errorf("no shell needs %s", c.name)
		}
	}
}

// TestLocale: the script sets LC_ALL to C, since a shell that reads GBK takes a
// byte of a text and the backslash that escapes the next one for one character.
func TestLocale(t *testing.T) {
	localedef, err := exec.LookPath("localedef")
	if err != nil {
		t.Skip("localedef is not installed, which makes the locale")
	}
	locales := t.TempDir()
	if out, err := exec.Command(localedef, "-c", "-f", "GBK", "-i", "zh_CN", filepath.Join(locales, "zh_CN.GBK")).CombinedOutput(); err != nil {
		if _, statErr := os.Stat(filepath.Join(locales, "zh_CN.GBK")); statErr != nil {
			t.Skipf("localedef cannot make zh_CN.GBK: %v: %s", err, out)
		}
	}
	const s = "\x83\\$(echo LEAKED)\x83`echo LEAKED`\x83\\\n\x81'\x81\\'\xa4\\\n"
	document, err := Heredoc(Lit("cat"), Text(s))
	if err != nil {
		t.Fatal(err)
	}
	script, err := Program(document, Lit("printf %s "), Word(s), Lit("\n"))
	if err != nil {
		t.Fatal(err)
	}
	needed := false
	installed := map[string]bool{}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		if excepted(sh.Name, "", s) {
			return
		}
		installed[sh.Name] = true
		env := []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=zh_CN.GBK", "LOCPATH=" + locales}
		if out, stderr, code := runArgument(t, sh, script.String(), env); out != s+s || stderr != "" || code != 0 {
			t.Errorf("status %d, %q, %q", code, out, stderr)
		}
		out, _, _ := runArgument(t, sh, strings.Replace(script.String(), "LC_ALL=C\nexport LC_ALL\n", "", 1), env)
		needed = needed || out != s+s
	})
	if !needed && (installed["bash"] || installed["ksh93"]) {
		t.Error("no shell needs LC_ALL=C")
	}
}

// TestDelimiterMutants: each rule of delimiter is one that ksh93 needs.
func TestDelimiterMutants(t *testing.T) {
	if _, err := exec.LookPath("ksh93"); err != nil {
		if os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("ksh93 is not installed")
	}
	ksh := shelltest.Shell{Name: "ksh93", Args: []string{"ksh93"}}
	for _, c := range []struct {
		body, delim string
		onlyBare    bool // a quoted here-document does without the rule
	}{
		{"EOF)\nx\n", "EOF", false},
		{"E\\\\\nx\n", "EOF", true},
		{"EO\\\\\nx\n", "EOF", true},
		{"E0)\nx\n", "E0", false},
	} {
		for _, quoted := range []bool{false, true} {
			write := func(delim string) string {
				open := delim
				if quoted {
					open = "'" + delim + "'"
				}
				return prelude + "cat <<" + open + "\n" + c.body + delim + "\n"
			}
			want := c.body
			if !quoted {
				want = strings.ReplaceAll(want, `\\`, `\`)
			}
			right, ok := delimiter([]byte(c.body))
			if !ok || right == c.delim {
				t.Fatalf("%q: chose %q", c.body, right)
			}
			if out, stderr, code := runFile(t, ksh, write(right), environment()); out != want || code != 0 {
				t.Errorf("%q with %s: status %d, %q, %q", c.body, right, code, out, stderr)
			}
			if out, _, code := runFile(t, ksh, write(c.delim), environment()); out == want && code == 0 && !(quoted && c.onlyBare) {
				t.Errorf("%q with %s, quoted %v: right without the rule", c.body, c.delim, quoted)
			}
		}
	}
}
