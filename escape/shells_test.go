package escape

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// prelude is what Program writes before the parts.
const prelude = "LC_ALL=C\nexport LC_ALL\nset -eu\n"

// printer defines put, which prints its argument and a newline; show, which
// prints its standard input; and finish, to be called at the end. A program for
// each text would take twenty times as long as what belongs to the shell: printf,
// print in mksh, and in posh, which has neither, one cat for many texts.
func printer(sh shelltest.Shell) string {
	const show = "show() { while IFS= read -r line; do put \"$line\"; done; }\n"
	switch sh.Name {
	case "mksh":
		return "put() { print -r -- \"$1\"; }\nfinish() { :; }\n" + show
	case "posh":
		return `all= newline=
put() {
all=$all$newline$1
newline='
'
if [ ${#all} -gt 8000 ]; then finish; fi
}
finish() {
if [ -n "$newline" ]; then cat <<END
$all
END
fi
all= newline=
}
` + show
	}
	return "put() { printf '%s\\n' \"$1\"; }\nfinish() { :; }\n" + show
}

// fragment is source whose output is known, to be run among many others.
type fragment struct {
	name   string
	source string
	want   string
}

// environment is what the tests give a shell: yash decodes its script by the
// locale, before the script can set it.
func environment(extra ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "SECRET=LEAKED", "BOOTSTRAP_TOKEN=LEAKED"}, extra...)
}

// runFile runs a script out of a file, in a directory of its own.
func runFile(t testing.TB, sh shelltest.Shell, script string, env []string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "script")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	return run(t, dir, env, append(append([]string{}, sh.Args...), file)...)
}

// runArgument runs a script as the argument of -c.
func runArgument(t testing.TB, sh shelltest.Shell, script string, env []string) (stdout, stderr string, code int) {
	t.Helper()
	return run(t, t.TempDir(), env, append(append([]string{}, sh.Args...), "-c", script)...)
}

func run(t testing.TB, dir string, env []string, args ...string) (string, string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", args[0], err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// failures runs the fragments in one script, and halves a batch that does not
// give exactly what it must until the fragments that fail stand alone.
func failures(t testing.TB, sh shelltest.Shell, fragments []fragment) []string {
	t.Helper()
	if len(fragments) == 0 {
		return nil
	}
	var script, want strings.Builder
	script.WriteString(prelude + printer(sh))
	for _, f := range fragments {
		script.WriteString(f.source)
		want.WriteString(f.want)
	}
	script.WriteString("finish\nprintf '%s' done\n")
	want.WriteString("done")
	out, stderr, code := runFile(t, sh, script.String(), environment())
	if out == want.String() && stderr == "" && code == 0 {
		return nil
	}
	if len(fragments) == 1 {
		return []string{fmt.Sprintf("%s: status %d, got %.200q, want %.200q, script %.300q, standard error %.200q", fragments[0].name, code, out, want.String(), fragments[0].source, stderr)}
	}
	half := len(fragments) / 2
	bad := failures(t, sh, fragments[:half])
	if len(bad) >= 5 {
		return append(bad, "and maybe more")
	}
	bad = append(bad, failures(t, sh, fragments[half:])...)
	if len(bad) == 0 {
		bad = []string{fmt.Sprintf("a batch of %d from %s on fails, and its halves do not: status %d, standard error %.200q", len(fragments), fragments[0].name, code, stderr)}
	}
	return bad
}

// exception is what a shell cannot do, for a reason outside of the encoders.
type exception struct {
	shell  string
	places string // the names of the places, or "" for all
	cannot func(s string) bool
	reason string
}

// exceptions is the whole list: there is no other way past the suite.
var exceptions = []exception{
	{"yash", "", func(s string) bool { return !utf8.ValidString(s) },
		"yash 2.52 decodes the script by the locale and stops reading at a byte that is not valid there; of a variable of the " +
			"environment it drops such bytes before the script can look, and F4 90 80 80 it takes for a character"},
	{"busybox", "no base64", always, "busybox sh runs its own base64, whatever PATH has"},
	{"busybox", "no sed", always, "busybox sh runs its own sed when there is none on PATH"},
}

func always(string) bool { return true }

func excepted(shell, place, s string) bool {
	for _, e := range exceptions {
		if e.shell == shell && (e.places == "" || e.places == place) && e.cannot(s) {
			return true
		}
	}
	return false
}

// places are the encoders whose text a shell reads. Each makes a fragment that
// prints s, and ok is false when s is refused, which wants says must be so.
type shellPlace struct {
	name   string
	encode func(s string) (source, want string, err error)
	wants  func(s string) bool // whether s must be carried
}

func noNUL(s string) bool { return strings.IndexByte(s, 0) < 0 }

var shellPlaces = []shellPlace{
	{
		name: "word",
		encode: func(s string) (string, string, error) {
			return render(Join(Lit("put "), Word(s), Lit("\n")), nil, s+"\n")
		},
		wants: noNUL,
	},
	{
		name: "heredoc",
		encode: func(s string) (string, string, error) {
			sh, err := Heredoc(Lit("show"), Text(s), Text("\n"))
			return render(sh, err, s+"\n")
		},
		wants: func(s string) bool { return noNUL(s) && strings.IndexByte(s, 1) < 0 },
	},
	{
		name: "heredoc-quoted",
		encode: func(s string) (string, string, error) {
			sh, err := HeredocQuoted(Lit("show"), s+"\n")
			return render(sh, err, s+"\n")
		},
		wants: noNUL,
	},
}

// render is the source of a piece without what Program puts before it.
func render(sh Shell, err error, want string) (string, string, error) {
	if err == nil {
		err = together(sh.errs)
	}
	var b strings.Builder
	for _, seg := range sh.segments {
		b.WriteString(seg.text)
	}
	return b.String(), want, err
}

// corpus is the hostile corpus and generated strings: all single bytes, all
// pairs and triples of the special ones, delimiter prefixes, multibyte lead
// bytes before special ones, and lines made of pieces that broke something.
func corpus(t testing.TB) []fragmentInput {
	var all []fragmentInput
	for _, c := range shelltest.Hostile(t) {
		all = append(all, fragmentInput{"hostile/" + c.Name, string(c.Data)})
	}
	seen := map[string]bool{}
	add := func(s string) {
		if !seen[s] {
			seen[s] = true
			all = append(all, fragmentInput{fmt.Sprintf("generated/%.40q", s), s})
		}
	}
	for b := range 256 {
		add(string([]byte{byte(b)}))
		add("a" + string([]byte{byte(b)}) + "b")
		add("\\" + string([]byte{byte(b)}))
		add("$" + string([]byte{byte(b)}) + "(id)")
	}
	special := "\\$`'\"!\n\t (){}#<E\x01\r"
	for i := range len(special) {
		for j := range len(special) {
			add(special[i:i+1] + special[j:j+1])
			for k := range len(special) {
				add(special[i:i+1] + special[j:j+1] + special[k:k+1])
			}
		}
	}
	for _, d := range []string{"EOF", "AEOF", "E", "EO", "'EOF'", "\"EOF\"", "\\EOF", "eof"} {
		for _, before := range []string{"", "\t", "\t\t", " ", "a\n", "\\\n", "x\\\n", "\n\t", "$\n", "`\n"} {
			for _, after := range []string{"", "\n", "\nid", "\\", "\\\n", "\\\nOF", ")", ");", " ", "\r", "\\\\\nx", "`", "$", "x", "\x01"} {
				add(before + d + after)
			}
		}
	}
	for lead := 0x80; lead < 0x100; lead++ {
		for _, after := range []string{"\\", "$", "`", "'", "\"", "\n", "\\$(id)", "`id`", "'; id; '", "E\nEOF\n"} {
			add(string([]byte{byte(lead)}) + after)
		}
	}
	atoms := []string{"$", "`", "\\", "'", "\"", "\n", "\t", "EOF", "E", "A", "(id)", "{SECRET}", "SECRET", "((1+1))", "$(", ")", "}", "{{", "}}", "#", "!", "!!", "~", "*", "é", "\u3000", "\x83", "\xff", "<<EOF", ";id;", "&", "|", "[1]", ":-", "\r", "\x7f", "%s", "\\n", "\\0", "-n"}
	// A linear congruential generator: the same strings on each run.
	state := uint32(1)
	for len(all) < 6500 {
		var b strings.Builder
		state = state*1664525 + 1013904223
		for n := 2 + state>>28; n > 0; n-- {
			state = state*1664525 + 1013904223
			b.WriteString(atoms[int(state>>8)%len(atoms)])
		}
		add(b.String())
	}
	return all
}

type fragmentInput struct{ name, s string }

const batchSize = 250

// TestShells is the differential test: every string, in every place, through
// every shell, comes out as it went in or is refused for a reason that the
// place's documentation gives.
func TestShells(t *testing.T) {
	inputs := corpus(t)
	if len(inputs) < 5000 {
		t.Fatalf("%d strings", len(inputs))
	}
	if testing.Short() {
		inputs = inputs[:1500]
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		for _, place := range shellPlaces {
			if bad := differential(t, sh, place, inputs, batchSize); len(bad) > 0 {
				t.Errorf("%s:\n%s", place.name, strings.Join(bad, "\n"))
			}
		}
	})
}

func differential(t testing.TB, sh shelltest.Shell, place shellPlace, inputs []fragmentInput, size int) []string {
	t.Helper()
	var bad []string
	var batch []fragment
	flush := func() {
		bad = append(bad, failures(t, sh, batch)...)
		batch = batch[:0]
	}
	for _, in := range inputs {
		source, want, err := place.encode(in.s)
		if carried := err == nil; carried != place.wants(in.s) {
			bad = append(bad, fmt.Sprintf("%s: carried is %v: %v", in.name, carried, err))
			continue
		}
		if err != nil || excepted(sh.Name, place.name, in.s) {
			continue
		}
		batch = append(batch, fragment{in.name, source, want})
		if len(batch) == size {
			flush()
		}
		if len(bad) >= 5 {
			return bad
		}
	}
	flush()
	return bad
}
