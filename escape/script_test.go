package escape

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	yamlv3 "gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// whole is a script that carries s in every place, and what it prints.
func whole(t testing.TB, s string) (Script, string) {
	t.Helper()
	live, err := Heredoc(Lit("cat"), Text(s), Text(" "), Live("APP_IP", Address), Text(s), Text("\n"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := HeredocQuoted(Lit("cat"), s+"\n")
	if err != nil {
		t.Fatal(err)
	}
	script, err := Program(Lit("printf '%s\\n' "), Word(s), Lit(" \"$0\"\n"), live, quoted)
	if err != nil {
		t.Fatal(err)
	}
	return script, s + "\nzero\n" + s + " 192.0.2.1" + s + "\n" + s + "\n"
}

var hostileText = "$(BOOTSTRAP_TOKEN) ${SECRET} $SECRET $$(SECRET) $$ `id` \\ \\$(id) {{ .Values.x }} {{- \"x\" }} <no value>EOF ' \" é\u0085\u2028\ufeff\t\nEOF\nAEOF\n\\\n<<EOF\n---\n# c\n!! %s"

// TestTransports: a script comes out of each transport as it went in, and runs.
func TestTransports(t *testing.T) {
	script, want := whole(t, hostileText)
	kubelet, err := script.Kubelet()
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := script.KubeletBase64()
	if err != nil {
		t.Fatal(err)
	}
	scalar, err := script.HelmCommand()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(scalar, "{<\n") {
		t.Errorf("a brace or a newline in %s", scalar)
	}
	var fromChart string
	if err := yamlv3.Unmarshal([]byte(scalar), &fromChart); err != nil || fromChart != kubelet {
		t.Errorf("HelmCommand: %v, %q", err, fromChart)
	}
	if got := kubelettest.Expand(kubelet, kubeletEnvironment); got != script.String() {
		t.Errorf("Kubelet: got %q", got)
	}
	if strings.Contains(strings.ReplaceAll(encoded, "$$", ""), "$") {
		t.Error("KubeletBase64: a single $")
	}
	raw, rawWant := whole(t, "\xff\x83\\$(id)\x83`id`\xc3\\'\n")
	if _, err := raw.Kubelet(); err == nil || !strings.HasPrefix(err.Error(), "kubelet: byte ") || !strings.Contains(err.Error(), ": line ") {
		t.Errorf("not UTF-8: %v", err)
	}
	rawEncoded, err := raw.KubeletBase64()
	if err != nil {
		t.Fatal(err)
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		for name, c := range map[string]struct{ command, want string }{
			"kubelet": {kubelet, want}, "base64": {encoded, want}, "base64 of bytes": {rawEncoded, rawWant},
		} {
			if excepted(sh.Name, name, c.want) {
				continue
			}
			env := environment("APP_IP=192.0.2.1")
			args := append(append([]string{}, sh.Args...), "-c", kubelettest.Expand(c.command, kubeletEnvironment), "zero")
			out, stderr, code := run(t, t.TempDir(), env, args...)
			if out != c.want || stderr != "" || code != 0 {
				t.Errorf("%s: status %d, %q\n got %q\nwant %q", name, code, stderr, out, c.want)
			}
		}
	})
}

// TestNoScript: whoever drops the error of Program does not get a Job that does
// nothing and succeeds.
func TestNoScript(t *testing.T) {
	script, _ := Program(Word("a\x00"))
	for name, f := range map[string]func() (string, error){"Kubelet": script.Kubelet, "KubeletBase64": script.KubeletBase64, "HelmCommand": script.HelmCommand} {
		if got, err := f(); got != "" || errorText(err) != "kubelet: no script (use what Program returns, and look at its error)" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if empty, err := Program(); err != nil {
		t.Error(err)
	} else if _, err := empty.Kubelet(); err != nil {
		t.Errorf("a program of no parts: %v", err)
	}
}

// TestBase64Fails: no base64, one that fails, and one that gives half.
func TestBase64Fails(t *testing.T) {
	script, _ := whole(t, "x")
	encoded, err := script.KubeletBase64()
	if err != nil {
		t.Fatal(err)
	}
	command := kubelettest.Expand(encoded, nil)
	for name, c := range map[string]struct{ program, message string }{
		"missing": {"", "base64 -d failed, which this script comes through: is base64 in the image?\n"},
		"fails":   {"#!/bin/sh\nread -r x\nexit 3\n", "base64 -d failed, which this script comes through: is base64 in the image?\n"},
		"empty":   {"#!/bin/sh\nread -r x\nexit 0\n", "base64 -d gave only a part of this script\n"},
		"half":    {"#!/bin/sh\nread -r x\necho 'echo LEAKED'\n", "base64 -d gave only a part of this script\n"},
	} {
		bin := t.TempDir()
		if c.program != "" {
			if err := os.WriteFile(filepath.Join(bin, "base64"), []byte(c.program), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		for _, tool := range []string{"printf", "cat"} {
			path, err := exec.LookPath(tool)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(path, filepath.Join(bin, tool)); err != nil {
				t.Fatal(err)
			}
		}
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			if excepted(sh.Name, "no base64", "") {
				return
			}
			args := append([]string{}, sh.Args...)
			args[0], _ = exec.LookPath(args[0])
			out, stderr, code := run(t, t.TempDir(), []string{"PATH=" + bin, "APP_IP=192.0.2.1"}, append(args, "-c", command)...)
			if out != "" || code != 1 || !strings.HasSuffix(stderr, c.message) {
				t.Errorf("%s: status %d, %q, %q", name, code, out, stderr)
			}
		})
	}
}

// TestArgumentLimit: the limit is the kernel's.
func TestArgumentLimit(t *testing.T) {
	fill := func(n int) Script {
		s, err := Program(Lit("printf %s "), Word(strings.Repeat("$", n)), Lit(" >/dev/null; echo ran\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	room := MaxArgument - len(fill(0).String())
	command, err := fill(room).Kubelet()
	if err != nil {
		t.Fatal(err)
	}
	out, stderr, code := run(t, t.TempDir(), environment(), "/bin/sh", "-c", kubelettest.Expand(command, nil))
	if out != "ran\n" || code != 0 {
		t.Errorf("status %d, %q, %.200q", code, out, stderr)
	}
	if _, err := fill(room + 1).Kubelet(); err == nil || !strings.Contains(err.Error(), "ConfigMap") {
		t.Errorf("%v", err)
	}
	if _, err := fill(room).KubeletBase64(); err == nil || !strings.Contains(err.Error(), "ConfigMap") {
		t.Errorf("base64: %v", err)
	}
	if exec.Command("/bin/sh", "-c", fill(room+1).String()).Run() == nil {
		t.Error("the kernel takes more than MaxArgument")
	}
}

// TestFailures: a script stops at what fails, in every shell.
func TestFailures(t *testing.T) {
	build := func(parts ...Shell) string {
		s, err := Program(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return s.String()
	}
	heredoc := func(cmd Shell, body ...Part) Shell {
		s, err := Heredoc(cmd, body...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	port := Live("APP_PORT", Port)
	after := Lit("echo LEAKED\n")
	for name, script := range map[string]string{
		"the command of a document fails":          build(heredoc(Lit("false"), Text("x\n")), after),
		"the command of an assignment fails":       build(Assign(port, Lit("false")), after),
		"the first of two in an assignment fails":  build(Assign(port, Lit("false\necho 80")), after),
		"an assignment prints nothing":             build(Assign(port, Lit(":")), after),
		"a name in the environment, not assigned":  build(Lit("if false; then\n"), Assign(port, Lit("echo 80")), Lit("fi\n"), heredoc(Lit("cat"), port, Text("\n")), after),
		"a program that is missing":                build(heredoc(Lit("no-such-program-here"), Text("x\n")), after),
		"a check within a function in an argument": build(Lit("f() {\n"), Assign(port, Lit("echo x")), Lit("echo LEAKED\n}\nf\n"), after),
	} {
		shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
			out, _, code := runArgument(t, sh, script, environment("APP_PORT=LEAKED"))
			if code == 0 || strings.Contains(out, "LEAKED") {
				t.Errorf("%s: status %d, %q", name, code, out)
			}
		})
	}
}

// TestShellsOwnNames: a variable that a shell sets on its own is refused as a
// live one, since its value would not be what was given.
func TestShellsOwnNames(t *testing.T) {
	name := regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*`)
	list := map[string]string{
		"zsh":   "for p in ${(k)parameters}; do print -r -- $p; done; zmodload zsh/parameter zsh/zleparameter zsh/mapfile; for p in ${(k)parameters}; do print -r -- $p; done",
		"ksh93": "typeset +p; typeset",
		"mksh":  "typeset",
		"bash":  "compgen -v",
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		command, ok := list[sh.Name]
		if !ok {
			command = "set"
		}
		path, _ := exec.LookPath(sh.Args[0])
		out, stderr, _ := run(t, t.TempDir(), []string{}, append(append([]string{path}, sh.Args[1:]...), "-c", command)...)
		if out == "" {
			t.Fatalf("nothing: %s", stderr)
		}
		for line := range strings.SplitSeq(out, "\n") {
			if fields := strings.Fields(line); len(fields) > 0 && (sh.Name == "ksh93" || sh.Name == "mksh") {
				line = fields[len(fields)-1]
			}
			n := name.FindString(line)
			if n == "" || n == "p" {
				continue
			}
			if reason, _ := refusedName(n); reason == "" {
				t.Errorf("%q is taken for a live variable's name", n)
			}
		}
	})
}
