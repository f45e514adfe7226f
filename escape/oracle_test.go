package escape

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// randomLiterals is how many random literals TestLitInShells gives each shell.
var randomLiterals = flag.Int("literals", 60, "random literals for each shell in TestLitInShells")

// payloads are words that run RUN, which leaves a file, when a shell does not
// take them for one quoted word.
var payloads = []string{"\nRUN\n", "$(RUN)\"\nRUN\n#", ";RUN;`RUN`"}

// ran tells whether a script ran RUN, which the script must define before it
// does anything else.
func ran(t testing.TB, sh shelltest.Shell, script string) bool {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte("RUN() { : >RAN; }\n"+script), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, dir, environment(), append(append([]string{}, sh.Args...), file)...)
	_, err := os.Stat(filepath.Join(dir, "RAN"))
	return err == nil
}

// TestLitInShells asks the shells themselves whether a word behind a literal
// that Lit accepts, of its table and random ones in one piece or two, is a word.
func TestLitInShells(t *testing.T) {
	var accepted [][]constant // pieces that stand one behind the other
	for _, c := range literals {
		if c.want == "" {
			accepted = append(accepted, []constant{c.in})
		}
	}
	atoms := []string{" ", " ", "\n", "\t", ";", "&", "|", "<", ">", ">&", "<&", "2", "1", "-", "#", "# ", "(", ")", "()", "{", "}", "[", "]", "[[ ", "]]", "=", "~", ":", "!", "*", "?", "%", "^", "+", "@", ",", "/", ".",
		"$", "$x", "${x}", "${x", "${x:-", "$(", "$((", "))", "$#", "$!", "'", "'", "\"", "\"", "''", "\\", "\\\n", "`", "a", "x=", "echo ", "cat ", "case ", " in ", "esac", "if ", "then ", "do ", "f", "for ", "function ", "select ", "time ", "repeat ", "é", "\u3000", "\r", "\v"}
	random := rand.New(rand.NewPCG(1, 3))
	for n := 0; n < *randomLiterals; {
		var b strings.Builder
		b.WriteString([]string{"", "echo ", "x=", "cat "}[random.IntN(4)])
		for range 1 + random.IntN(7) {
			b.WriteString(atoms[random.IntN(len(atoms))])
		}
		s := constant(b.String())
		half := random.IntN(len(s) + 1)
		if len(Lit(s).errs) == 0 {
			n++
			accepted = append(accepted, []constant{s})
		} else if len(Join(Lit(s[:half]), Lit(s[half:])).errs) == 0 {
			n++
			accepted = append(accepted, []constant{s[:half], s[half:]})
		}
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		for _, s := range accepted {
			var pieces []Shell
			for _, piece := range s {
				pieces = append(pieces, Lit(piece))
			}
			for _, p := range payloads {
				both := Join(append(pieces, Word(p), Lit("\n"))...)
				if len(both.errs) > 0 {
					continue
				}
				source, _, _ := render(both, nil, "")
				if ran(t, sh, source) {
					t.Errorf("%q: the word %q behind it is none", s, p)
				}
			}
		}
	})
}

// positions are the places of the grammar in which a word can stand.
var positions = []struct{ before, after constant }{
	{"", "\n"}, {"echo ", "\n"}, {"echo a", "\n"}, {"echo ", "a\n"}, {"echo --x=", "\n"}, {"echo \"a\"", "'b'\n"}, {"echo $x", "$x\n"}, {"echo a:", ":b\n"}, {"echo [", "]\n"}, {"echo *[", "]*\n"}, {"echo {a,", "}\n"}, {"echo !", "\n"}, {"echo $", "\n"},
	{"x=", "\n"}, {"x=a", " y=b\necho $x\n"}, {"x=a:", "\n"}, {"export x=", "\n"}, {"readonly x=", "\n"}, {"x=$x", "; echo \"$x\"\n"}, {"f() { x=", "; }\nf\n"},
	{"echo a >", "\n"}, {"echo a >>", "\n"}, {"echo a >|", "\n"}, {"echo a 2>", "\n"}, {"cat <", "\n"}, {"cat <>", "\n"}, {"echo a >", " 2>&1\n"}, {"exec 3>", "\n"}, {"echo a >&2 ", "\n"}, {"echo a >&2", "\n"}, {"echo a >&", "\n"}, {"echo a <&", "\n"}, {"echo a &>", "\n"}, {"echo a >& ", "\n"}, {"echo a 2>&1-", "\n"},
	{"case ", " in a) ;; *) echo;; esac\n"}, {"case a in ", ") ;; esac\n"}, {"case a in b | ", ") ;; esac\n"}, {"case a in (", ") ;; esac\n"}, {"case a in a) echo ", ";; esac\n"},
	{"for x in ", "; do echo \"$x\"; done\n"}, {"for x in a; do ", "; done\n"}, {"if ", "; then :; fi\n"}, {"if :; then ", "; fi\n"}, {"if :; then echo ", "; else :; fi\n"}, {"while ", "; do break; done\n"}, {"until echo ", "; do break; done\n"},
	{"( echo ", " )\n"}, {"( ", " )\n"}, {"{ echo ", "; }\n"}, {"! ", "\n"}, {"! echo ", "\n"}, {": && ", "\n"}, {"echo | ", "\n"}, {"echo & ", "\nwait\n"}, {"f() { echo ", "; }\nf\n"}, {"f() ", "\n"},
	{"set -- ", "\necho \"$1\" $1\n"}, {"printf %s ", "\n"}, {"[ ", " = a ]\n"}, {"[ a = ", " ]\n"}, {"test -n ", "\n"}, {"cd ", "\n"}, {"echo ~", "\n"}, {"echo =", "\n"}, {"x==", "\n"}, {"a[", "]=1\n"}, {"echo $x[", "]\n"}, {"echo ${x}[", "]\n"},
	{"echo # ", "\n"}, {"echo a # c\n", "\n"}, {"echo \\\n", "\n"}, {"echo a\\\n", "\\\nb\n"}, {"time ", "\n"}, {"select x in ", "; do break; done\n"}, {"function ", " { :; }\n"}, {"repeat ", "; do :; done\n"},
}

// TestWordInEveryPosition: whatever stands around it, a word never runs.
func TestWordInEveryPosition(t *testing.T) {
	carried := 0
	for _, p := range positions {
		if Join(Lit(p.before), Word("a"), Lit(p.after)).errs == nil {
			carried++
		}
	}
	if carried < 60 {
		t.Errorf("only %d of %d positions take a word", carried, len(positions))
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		for _, position := range positions {
			try := func(p string, piece Shell) {
				both := Join(Lit(position.before), piece, Lit(position.after))
				if len(both.errs) > 0 {
					return
				}
				source, _, _ := render(both, nil, "")
				if ran(t, sh, fmt.Sprintf("APP_X=%s\n", AppendWord(nil, p))+source) {
					t.Errorf("%q between %q and %q ran", p, position.before, position.after)
				}
			}
			for _, p := range append(payloads, "$(RUN)", "a]=$(RUN)") {
				try(p, Word(p))
			}
			for _, p := range []string{"$(RUN)`RUN`", "\nRUN\n"} {
				try(p, Live("APP_X", Any).Word())
			}
		}
	})
}
