package escape

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/internal/kubelettest"
)

// sh runs a script in /bin/sh.
func sh(t *testing.T, script string, env ...string) (string, string, error) {
	t.Helper()
	cmd := exec.Command("/bin/sh")
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = environment(env...)
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), stderr.String(), err
}

func seeds(f *testing.F, add func(s string)) {
	for i, in := range corpus(f) {
		// The hostile corpus, and a part of the generated one: each seed
		// starts a shell in each run of the tests.
		if len(in.s) < 5000 && (!strings.HasPrefix(in.name, "generated") || i%50 == 0) {
			add(in.s)
		}
	}
}

// FuzzWord: any bytes but NUL are one argument, and nothing else runs.
func FuzzWord(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	f.Fuzz(func(t *testing.T, s string) {
		script, err := Program(Lit("set -- "), Word(s), Lit("x "), Word(""), Lit("\nprintf '%s.%s.' \"$#\" \"$1\"\n"))
		if i := strings.IndexByte(s, 0); i >= 0 {
			if one, ok := err.(*Error); !ok || one.Offset != i {
				t.Fatalf("NUL at %d: %v", i, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if out, stderr, err := sh(t, script.String()); err != nil || stderr != "" || out != "2."+s+"x." {
			t.Errorf("%v %q\n got %q\nwant %q", err, stderr, out, "2."+s+"x.")
		}
	})
}

// FuzzHeredoc: literal text and live values, mixed, come out as they are; so
// does the text through a quoted here-document.
func FuzzHeredoc(f *testing.F) {
	i := 0
	all := []string{""}
	seeds(f, func(s string) { all = append(all, s) })
	seeds(f, func(s string) {
		i++
		f.Add(s, all[i*7%len(all)], all[i*13%len(all)])
	})
	f.Fuzz(func(t *testing.T, a, b, value string) {
		if !noNUL(value) || len(value) > 100_000 {
			return
		}
		name := "APP_VALUE"
		live := Live(name, Any).Word() // for the requirement; the part below has no check
		doc, err := Heredoc(Lit("cat"), Text(a), Live(name, Port), Text(b), Live(name, Port), Text("\n"))
		if strings.ContainsAny(a+b, "\x00\x01") {
			if err == nil {
				t.Fatal("NUL or 0x01 is carried")
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		quoted, err := HeredocQuoted(Lit("cat"), a+b+"\n")
		if err != nil {
			t.Fatal(err)
		}
		source, _, _ := render(Join(Lit("printf '%s\\n' "), live, Lit("\n"), doc, quoted), nil, "")
		want := value + "\n" + a + value + b + value + "\n" + a + b + "\n"
		if out, stderr, err := sh(t, prelude+source, name+"="+value); err != nil || stderr != "" || out != want {
			t.Errorf("%v %q\n got %q\nwant %q", err, stderr, out, want)
		}
	})
}

// FuzzKubelet: a script comes through the kubelet's expansion as it is.
func FuzzKubelet(f *testing.F) {
	seeds(f, func(s string) { f.Add(s, "BOOTSTRAP_TOKEN") })
	f.Fuzz(func(t *testing.T, s, name string) {
		env := map[string]string{name: "LEAKED", "BOOTSTRAP_TOKEN": "LEAKED"}
		if got := kubelettest.Expand(string(AppendKubelet(nil, s)), env); got != s {
			t.Errorf("got %q", got)
		}
		arg, err := KubeletArg(s)
		if (err == nil) != (utf8.ValidString(s) && noNUL(s) && len(s) <= MaxArgument) {
			t.Errorf("%v", err)
		}
		if err == nil && kubelettest.Expand(arg, env) != s {
			t.Errorf("KubeletArg: %q", arg)
		}
		if script, err := Program(Lit("echo "), Word(s)); err == nil {
			if arg, err := script.Kubelet(); err == nil && kubelettest.Expand(arg, env) != script.String() {
				t.Errorf("Kubelet: %q", arg)
			}
		}
	})
}

// FuzzYAML: a scalar means s to both YAML libraries, and so does a block.
func FuzzYAML(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	for _, s := range yamlInputs {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		scalar, err := YAML(s)
		if (err == nil) != (utf8.ValidString(s) && noNUL(s)) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		if err := decodesTo(scalar, s); err != nil {
			t.Error(err)
		}
		inChart := string(appendYAML(nil, s, true))
		if strings.ContainsAny(inChart, "{<") {
			t.Errorf("{ or < in %s", inChart)
		}
		if err := decodesTo(inChart, s); err != nil {
			t.Error(err)
		}
		if _, err := YAMLBlock(s, 0); (err == nil) != blockable(s) {
			t.Error(err)
		} else if err == nil {
			if err := blockDecodesTo(s); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzYAMLFunction: what the script itself writes for a value means the value.
func FuzzYAMLFunction(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	for _, s := range yamlInputs {
		f.Add(s)
	}
	doc, err := Heredoc(Lit("cat"), Live("APP_VALUE", Any).YAML(), Text("\n"))
	if err != nil {
		f.Fatal(err)
	}
	script, err := Program(doc)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !noNUL(s) || len(s) > 20_000 {
			return
		}
		out, stderr, err := sh(t, script.String(), "APP_VALUE="+s)
		if !utf8.ValidString(s) {
			if err == nil || out != "" || !strings.HasPrefix(stderr, "APP_VALUE: ") {
				t.Errorf("%q is taken: %v %q %q", s, err, out, stderr)
			}
			return
		}
		if err != nil || stderr != "" {
			t.Fatalf("%v %q", err, stderr)
		}
		if err := decodesTo(strings.TrimSuffix(out, "\n"), s); err != nil {
			t.Error(err)
		}
	})
}

// FuzzSkeleton: a skeleton without inputs is its own text, and with one it is
// strings.ReplaceAll.
func FuzzSkeleton(f *testing.F) {
	seeds(f, func(s string) { f.Add(s) })
	for _, c := range skeletons {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parts, err := Skeleton(s, nil)
		if (err == nil) != !strings.ContainsAny(s, "\x00\x01") {
			t.Fatal(err)
		}
		if got := shown(parts); err == nil && got != s {
			t.Errorf("got %q", got)
		}
		bodyFits := err == nil
		parts, err = Skeleton(s, map[string]Form{"APP_IP": Address})
		if (err == nil) != (bodyFits && strings.Contains(s, "${APP_IP}")) {
			t.Fatal(err)
		}
		if err == nil {
			if got, want := shown(parts), strings.ReplaceAll(s, "${APP_IP}", "<APP_IP>"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
}

// shown is the parts with <NAME> for a live variable and <<NAME>> for its YAML.
func shown(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.part(); {
		case p.yaml:
			b.WriteString("<<" + p.variable.name + ">>")
		case p.live:
			b.WriteString("<" + p.variable.name + ">")
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

var skeletons = []struct {
	text   string
	inputs map[string]Form
	want   string // or "error: " and the error
}{
	{"", nil, ""},
	{"a: ${APP_IP}\n", map[string]Form{"APP_IP": Address}, "a: <APP_IP>\n"},
	{"${APP_IP}", map[string]Form{"APP_IP": Address}, "<APP_IP>"},
	{"${APP_IP}${APP_IP}: ${APP_X}", map[string]Form{"APP_IP": Address, "APP_X": Any}, "<APP_IP><APP_IP>: <<APP_X>>"},
	{"a: ${APP_IP}\nb: \x01\x00", map[string]Form{"APP_IP": Address}, "error: skeleton: byte 17: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)\n" +
		"skeleton: byte 16: byte 0x01 cannot stand in an unquoted here-document: bash 4.4 drops it and the escape behind it (remove it)"},
	{"m: {k: \"${APP_X}\", l: ${APP_X}x}\n", map[string]Form{"APP_X": Any}, "error: skeleton \"APP_X\": byte 8: an input of form Any that stands within quotes (make it the whole of a value, without quotes, or use a narrower form)\n" +
		"skeleton \"APP_X\": byte 22: an input of form Any that stands beside other text (make it the whole of a value, without quotes, or use a narrower form)"},
	{"${OTHER} $APP_IP ${APP_IP} ${APP_IP:-x} $(id) `id`", map[string]Form{"APP_IP": Address}, "${OTHER} $APP_IP <APP_IP> ${APP_IP:-x} $(id) `id`"},
	{"$${APP_IP} ${${APP_IP}} \\${APP_IP} ${", map[string]Form{"APP_IP": Address}, "$<APP_IP> ${<APP_IP>} \\<APP_IP> ${"},
	{"a: ${API_ADRESS}\nb: ${hunter2}\n", map[string]Form{"API_ADDRESS": Address}, "error: skeleton \"API_ADDRESS\": byte 3: the skeleton does not use this input; what it has here is ${API_ADRESS}, which is not declared (write the same name in both places)"},
	{"a", map[string]Form{"B_B": {}, "APP_IP": Address, "PATH": Port}, "error: skeleton \"APP_IP\": the skeleton does not use this input (write ${APP_IP} where it belongs, or do not declare it)\n" +
		"live \"B_B\": no form (say what the value may be: Address, DNSName, Chars(…), …)\n" +
		"skeleton \"B_B\": the skeleton does not use this input (write ${B_B} where it belongs, or do not declare it)\n" +
		"live \"PATH\": a name that shells or programs give a meaning of their own (choose a longer one, such as APP_PATH)\n" +
		"skeleton \"PATH\": the skeleton does not use this input (write ${PATH} where it belongs, or do not declare it)"},
}

// TestNearName: what is a slip of the hand, and what is another name.
func TestNearName(t *testing.T) {
	for _, c := range []struct {
		a, b string
		near bool
	}{
		{"API_ADDRESS", "API_ADRESS", true},
		{"API_ADDRESS", "API_ADDRESSS", true},
		{"API_ADDRESS", "API_ADDREZS", true},
		{"API_ADDRESS", "API_ADDRSES", true},
		{"API_ADDRESS", "apiAddress", true},
		{"API_ADDRESS", "API_NAME", false},
		{"API_ADDRESS", "ADDRESS", false},
		{"TALOS_CA", "TALOS_KEY", false},
		{"APP_A", "APP_B", true},
		{"AB", "AC", false},
		{"ABC", "ACB", false},
		{"A", "", false},
		{"hunter2", "TOKEN", false},
		{"AAAAA", "AAAA", true},
		{"ABABAB", "BABABA", false},
	} {
		if nearName(c.a, c.b) != c.near || nearName(c.b, c.a) != c.near {
			t.Errorf("%s and %s: near is %v, want %v", c.a, c.b, !c.near, c.near)
		}
	}
}

func TestSkeleton(t *testing.T) {
	for _, c := range skeletons {
		parts, err := Skeleton(c.text, c.inputs)
		got := shown(parts)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.text, got, c.want)
		}
	}
}
