package escape

import (
	"os/exec"
	"strings"
	"testing"
)

func TestCore(t *testing.T) {
	hd, err := Heredoc(Lit("cat"), Text("a $(id) `id` \\ ${X}\n"), Live("IP", Address), Text(":6443\nv: "), Live("V", Any).YAML(), Text("\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Program(Assign(Live("T", Token), Join(Lit("printf '%s\\n' "), Word("abcdef.0123456789abcdef"))), Join(Lit("echo "), Live("T", Token).Word(), Lit("\n")), hd)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", s.String())
	cmd.Env = []string{"PATH=/bin:/usr/bin", "IP=10.0.0.1", "V=x \"\\\n\ty\u0085\u2028é\x01\x7f\n"}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	want := "abcdef.0123456789abcdef\na $(id) `id` \\ ${X}\n10.0.0.1:6443\nv: \"x \\\"\\\\\\n\\x09y\\x85\\u2028é\\x01\\x7f\\n\"\n"
	if err != nil || string(out) != want {
		t.Errorf("%v %s\n got %q\nwant %q\n%s", err, stderr.String(), out, want, s)
	}
	for _, ip := range []string{"", "10.0.0.256", "10.0.0.1\n evil: true", "1::2::3", "01.2.3.4", "1.2.3", "$(id)"} {
		cmd := exec.Command("/bin/sh", "-c", s.String())
		cmd.Env = []string{"PATH=/bin:/usr/bin", "IP=" + ip, "V="}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.HasPrefix(string(out), "IP: not set") {
			t.Errorf("IP=%q: %v %s", ip, err, out)
		}
	}
	for _, l := range []Shell{Lit("echo '"), Lit("# c"), Lit("x=$"), Lit("a\\"), Lit("`id`"), Lit("echo \""), Lit("${"), Lit("cat <<E"), Lit("x=$(echo ")} {
		if len(l.errs) == 0 {
			t.Errorf("%+v", l)
		}
	}
}
