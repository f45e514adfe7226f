package escape

import (
	"os"
	"os/exec"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// litMutants are literals that a Lit without one of its rules would accept, and
// a shell in which the word behind them runs then.
var litMutants = []struct {
	shell  string
	parts  []constant // the word stands behind the last
	accept bool       // the control of the control: no word runs
}{
	{"bash", []constant{"echo a >&2 "}, true},
	{"ksh93", []constant{"cat < # '\n"}, true},
	{"sh", []constant{"echo '"}, false},
	{"sh", []constant{"echo \""}, false},
	{"sh", []constant{"# "}, false},
	{"sh", []constant{"cat <<EOF\n'\nEOF\n: '"}, false},
	{"sh", []constant{"cat <", "<EOF\n"}, false},
	{"sh", []constant{"echo `echo \\'` '`"}, false},
	{"sh", []constant{"echo a", "# '\n"}, false},
	{"bash", []constant{"echo a >&"}, false},
	{"bash", []constant{"echo a >\\\n&"}, false},
	{"bash", []constant{"echo a >", "&"}, false},
	{"bash", []constant{"echo a >&2"}, false},
	{"bash", []constant{"echo a 2>&-#"}, false},
	{"bash", []constant{"a["}, false},
	{"mksh", []constant{"a["}, false},
	{"zsh", []constant{"a["}, false},
	{"posh", []constant{"a["}, false},
	{"bash", []constant{"a", "["}, false},
	{"yash", []constant{"echo \u3000# '"}, false},
	{"ksh93", []constant{"cat <# '\n"}, false},
	{"ksh93", []constant{"cat <", "# '\n"}, false},
	{"dash", []constant{"alias q='echo \"'\nq "}, false},
	{"bash", []constant{"echo ${x:-'"}, false},
	{"dash", []constant{"echo \"${x:-'}\" '"}, false},
}

// TestLitMutants is the negative control of Lit: what a rule refuses is what a
// shell would run, and the check of TestLitInShells sees it.
func TestLitMutants(t *testing.T) {
	args := map[string][]string{"sh": {"/bin/sh"}}
	for _, m := range litMutants {
		sh := shelltest.Shell{Name: m.shell, Args: args[m.shell]}
		if sh.Args == nil {
			sh.Args = []string{m.shell}
		}
		if _, err := exec.LookPath(sh.Args[0]); err != nil {
			if os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1" {
				t.Fatalf("%s is not installed: %v", m.shell, err)
			}
			t.Logf("%s is not installed", m.shell)
			continue
		}
		source := ""
		var pieces []Shell
		for _, p := range m.parts {
			source += string(p)
			pieces = append(pieces, Lit(p))
		}
		refused := len(Join(append(pieces, Word("x"))...).errs) > 0
		if refused == m.accept {
			t.Errorf("%q: refused is %v", m.parts, refused)
		}
		runs := false
		for _, p := range append(payloads, "$(RUN)", "`'\nRUN\n", "}\nRUN\n") {
			for _, after := range []string{"\n", "]=1\n"} {
				runs = runs || ran(t, sh, source+string(AppendWord(nil, p))+after)
			}
		}
		if runs == m.accept {
			t.Errorf("%s, %q: the word behind it runs is %v", m.shell, m.parts, runs)
		}
	}
}
