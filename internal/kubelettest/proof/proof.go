// Package proof holds the tests that are run against the expansion code of the
// kubelet itself. That code is a large module, and one build cannot hold two
// versions of it: each version has a module of its own under internal/e2e, and
// each runs these tests.
package proof

import (
	"bytes"
	"errors"
	"hash/fnv"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/escape"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// Expansion is the signature of the kubelet's Expand: mapping gives the value
// of a name, or the reference as it stands when there is none.
type Expansion func(input string, mapping func(name string) string) string

// Model is the signature of the expansions of package kubelettest.
type Model func(s string, env map[string]string) string

// same expands s with the kubelet's code, in an environment in which about
// half of the names that it asks for are known, and compares.
func same(t *testing.T, kubelet Expansion, model Model, s string, salt byte) {
	t.Helper()
	env := map[string]string{}
	want := kubelet(s, func(name string) string {
		h := fnv.New32a()
		h.Write([]byte{salt})
		h.Write([]byte(name))
		if h.Sum32()&1 == 0 {
			return "$(" + name + ")"
		}
		env[name] = "<$(A)$$" + name + ">"
		return env[name]
	})
	if got := model(s, env); got != want {
		t.Errorf("the expansion of %q with %q is %q, the kubelet gives %q", s, env, got, want)
	}
}

// FuzzModel proves that model is the kubelet's expansion.
func FuzzModel(f *testing.F, kubelet Expansion, model Model) {
	for _, c := range shelltest.Hostile(f) {
		f.Add(string(c.Data), byte(0))
		f.Add(string(c.Data), byte(1))
	}
	for _, s := range []string{"$", "$$", "$$$", "$(", "$()", "$(A$(B))", "$é$(B)", "$\xff", "\\$(A)", "$(a\nb)"} {
		f.Add(s, byte(0))
	}
	f.Fuzz(func(t *testing.T, s string, salt byte) { same(t, kubelet, model, s, salt) })
}

// ModelOnShortStrings proves the same on every string of up to six of the
// bytes on which the expansion can turn, and returns their number.
func ModelOnShortStrings(t *testing.T, kubelet Expansion, model Model) int {
	const alphabet, longest = "$()A\xc3\xa9\xff", 6
	n := 0
	var try func(prefix string)
	try = func(prefix string) {
		same(t, kubelet, model, prefix, 0)
		n++
		if t.Failed() || len(prefix) == longest {
			return
		}
		for i := range len(alphabet) {
			try(prefix + alphabet[i:i+1])
		}
	}
	try("")
	return n
}

// FuzzEscape proves that what package escape writes for the kubelet is, after
// the kubelet, what it was, in an environment that knows every name; and that
// /bin/sh then prints the very bytes, from a word and from a heredoc.
func FuzzEscape(f *testing.F, kubelet Expansion) {
	everyName := func(name string) string { return "LEAKED$(" + name + ")$$" }
	for _, c := range shelltest.Hostile(f) {
		f.Add(string(c.Data))
	}
	for _, s := range []string{
		"", "$", "$$", "$(BOOTSTRAP_TOKEN)", "$$(BOOTSTRAP_TOKEN)", "\\$(BOOTSTRAP_TOKEN)", "${BOOTSTRAP_TOKEN}", "`id`",
		"$(A$(B))", "/tmp/x.$$", "$é", "$\u00a0", "$(a\nb)", "EOF\n$(A)\nEOF", "{{ .Values.x }}",
		strings.Repeat("$", 60000), strings.Repeat("$(A)", 32768),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		fits := utf8.ValidString(s) && !strings.Contains(s, "\x00")
		arg, err := escape.KubeletArg(s)
		if want := fits && len(s) <= escape.MaxArgument; want != (err == nil) {
			t.Fatalf("KubeletArg(%q): error %v", s, err)
		}
		if err == nil {
			if got := kubelet(arg, everyName); got != s {
				t.Fatalf("KubeletArg(%q) is %q, of which the kubelet makes %q", s, arg, got)
			}
		}

		parts := []escape.Shell{escape.Lit("printf '%s' "), escape.Word(s), escape.Lit("\n")}
		want := s
		document, err := escape.Heredoc(escape.Lit("cat"), escape.Text(s+"\n"))
		if err == nil {
			parts = append(parts, document)
			want += s + "\n"
		} else if !strings.ContainsAny(s, "\x00\x01") {
			t.Fatalf("Heredoc(%q): %v", s, err)
		}
		script, err := escape.Program(parts...)
		if err != nil {
			if !strings.Contains(s, "\x00") {
				t.Fatalf("Program with %q: %v", s, err)
			}
			return
		}
		command, err := script.Kubelet()
		if want := fits && len(script.String()) <= escape.MaxArgument; want != (err == nil) {
			t.Fatalf("Kubelet of a script of %d bytes with %q: error %v", len(script.String()), s, err)
		}
		if err != nil {
			return
		}
		expanded := kubelet(command, everyName)
		if expanded != script.String() {
			t.Fatalf("the kubelet makes %q of the script %q", expanded, script.String())
		}
		sh := exec.Command("/bin/sh", "-c", expanded)
		sh.Env = []string{"PATH=/usr/bin:/bin", "BOOTSTRAP_TOKEN=LEAKED", "A=LEAKED"}
		var stderr bytes.Buffer
		sh.Stderr = &stderr
		out, err := sh.Output()
		if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
			t.Fatal(err) // it did not start
		}
		if err != nil || stderr.Len() > 0 || string(out) != want {
			t.Fatalf("/bin/sh: %v, standard error %q\nprinted %q\nwant    %q", err, stderr.String(), out, want)
		}
	})
}
