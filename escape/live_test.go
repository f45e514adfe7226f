package escape

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// forms are the forms and what a value of each is to Go.
var forms = []struct {
	name string
	form Form
	is   func(s string) bool
	near []string // values at the edge of the form
}{
	{"Address", Address, isAddress, addressesNear()},
	{"URLHost", URLHost, func(s string) bool {
		if inner, ok := strings.CutPrefix(s, "["); ok {
			inner, ok = strings.CutSuffix(inner, "]")
			return ok && strings.Contains(inner, ":") && isAddress(inner)
		}
		if strings.Trim(s, "0123456789.") == "" {
			return isAddress(s)
		}
		return isDNSName(s)
	}, urlHostsNear()},
	{"DNSName", DNSName, isDNSName, dnsNamesNear},
	{"Port", Port, func(s string) bool {
		n, err := strconv.Atoi(s)
		return err == nil && 1 <= n && n <= 65535 && strconv.Itoa(n) == s
	}, portsNear()},
	{"Base64", Base64, isBase64(base64.StdEncoding), base64Near},
	{"Base64URL", Base64URL, isBase64(base64.URLEncoding), base64Near},
	{"Token", Token, regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}\z`).MatchString, []string{
		"abcdef.0123456789abcdef", "abcdef.0123456789abcde", "abcdef.0123456789abcdefg", "abcde.0123456789abcdef", "abcdeg.0123456789zzzzzz", "Abcdef.0123456789abcdef", "abcdef-0123456789abcdef", "abcdef0123456789abcdef."}},
	{"Any", Any, func(string) bool { return true }, nil},
	{"Chars of all", Chars(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"), consistsOf(" !\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"), nil},
	{"Chars ]-", Chars("]-"), consistsOf("]-"), []string{"]", "-", "]-", "\\"}},
	{"Chars !^", Chars("!^"), consistsOf("!^"), []string{"!", "^", "a"}},
	{"Chars -a]!", Chars("-a]!"), consistsOf("-a]!"), nil},
	{"Chars [:", Chars("[:"), consistsOf("[:"), []string{"[", ":", "]", "[:"}},
	{"Chars [.=", Chars("[.="), consistsOf("[.="), []string{"[", ".", "="}},
	{"Chars quotes", Chars("'\"`$"), consistsOf("'\"`$"), []string{"'", "\"", "`", "$", "\\"}},
	{"Chars backslash", Chars("\\"), consistsOf("\\"), []string{"\\", "\\\\", "a"}},
	{"Chars a-z ends", Chars("a-z"), consistsOf("a-z"), []string{"a", "b", "-", "z"}},
	{"Chars pattern", Chars("*?[]"), consistsOf("*?[]"), nil},
	{"Chars list", Chars("|&;() <>"), consistsOf("|&;() <>"), nil},
	{"Chars ~#%{}", Chars("~#%{}"), consistsOf("~#%{}"), nil},
}

func isAddress(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Zone() == "" && !(strings.Contains(s, ":") && strings.Contains(s, "."))
}

func isDNSName(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if len(label) > 63 || !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?\z`).MatchString(label) {
			return false
		}
	}
	return true
}

var dnsNamesNear = []string{"a", "a.b", "a-b", "-a", "a-", "a.-b", "a-.b", "a..b", ".a", "a.", "A", "a_b", "mirror.example.com", "1.2", "xn--a",
	strings.Repeat("a", 63), strings.Repeat("a", 64), "b." + strings.Repeat("a", 63), "b." + strings.Repeat("a", 64) + ".c",
	strings.Repeat("a.", 126) + "a", strings.Repeat("a.", 126) + "aa", strings.Repeat("a.", 127) + "a"}

// urlHostsNear are names and addresses, with brackets and without.
func urlHostsNear() []string {
	list := append([]string{"[", "]", "[]", "[[::1]]", "[::1", "::1]", "[::1]]", "[::1]:80", "[a.example.com]", "[192.0.2.1]", "[fe80::1%eth0]", "[::1]\n", "a.example.com:80", "192.0.2.1:80", "x@a", "a/b"},
		dnsNamesNear...)
	for _, a := range addressesNear() {
		list = append(list, a, "["+a+"]")
	}
	return list
}

func consistsOf(set string) func(string) bool {
	return func(s string) bool { return s != "" && strings.Trim(s, set) == "" }
}

func isBase64(e *base64.Encoding) func(string) bool {
	return func(s string) bool {
		_, err := e.DecodeString(s)
		return err == nil && s != "" && !strings.ContainsAny(s, "\r\n")
	}
}

var base64Near = []string{"AAAA", "AA==", "AAA=", "A===", "A", "AA", "AAA", "AAAAA", "AA=A", "=AAA", "A=AA", "====", "AA==AA==", "+/+/", "-_-_", "AAAA\n", "AA==\n", "AA ==", "cGFzc3dvcmQ=", strings.Repeat("AAAA", 5000)}

func portsNear() []string {
	list := []string{"0", "00", "01", "080", "+1", "-1", "1e3", "0x10", "65534", "65535", "65536", "65540", "65600", "66000", "70000", "99999", "100000", "655350", "10000", "9999", "6553", "65529", "65499", "64999", "59999"}
	for n := 1; n < 70000; n += 997 {
		list = append(list, strconv.Itoa(n))
	}
	return list
}

func addressesNear() []string {
	list := []string{"0.0.0.0", "255.255.255.255", "256.1.1.1", "1.256.1.1", "1.1.1.256", "1.1.1.260", "1.1.1.300", "1.1.1.999", "1.1.1.1000", "01.1.1.1", "1.1.1.01", "00.1.1.1", "1.1.1", "1.1.1.1.1", "1..1.1", ".1.1.1.1", "1.1.1.1.", "1.1.1.a", "1.1.1.1/24", "1.1.1.1:80",
		"10.0.0.1\n  evil: true", "10.0.0.1\n", "\n10.0.0.1", " 10.0.0.1", "::", "::1", "1::", ":", ":::", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::ffff:1.2.3.4", "fe80::1%eth0", "[::1]", "12345::", "::12345", "g::", "fd00::192:0:2", "1::2::3", ":1::2", "1::2:", "1:2:3:4:5:6:7:", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:", "AbCd::EF", "٣.1.1.1", "1.1.1.1é"}
	// Every way to put up to nine groups beside a ::, and without one.
	for before := range 10 {
		for after := range 10 {
			list = append(list, strings.TrimSuffix(strings.Repeat("1:", before), ":")+"::"+strings.TrimSuffix(strings.Repeat("f:", after), ":"))
		}
		list = append(list, strings.TrimSuffix(strings.Repeat("a:", before), ":"))
	}
	for n := range 320 {
		list = append(list, fmt.Sprintf("%d.1.1.%d", n, 319-n), fmt.Sprintf("1.%d.%d.1", n, n))
	}
	return list
}

// TestForms compares each form's check, in each shell, with Go's opinion.
func TestForms(t *testing.T) {
	var shared []string
	for _, c := range shelltest.Hostile(t) {
		if len(c.Data) < 300 && noNUL(string(c.Data)) {
			shared = append(shared, string(c.Data))
		}
	}
	for c := 1; c < 256; c++ {
		shared = append(shared, string([]byte{byte(c)}))
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		for _, f := range forms {
			var script, want strings.Builder
			var values []string
			// In place of the function that stops the script.
			script.WriteString(prelude + ownPrefix + "refuse() { r=0; }\no=\n")
			for _, v := range append(append([]string{""}, f.near...), shared...) {
				if excepted(sh.Name, "live", v) {
					continue
				}
				values = append(values, v)
				fmt.Fprintf(&script, "V=%s\nr=1\n%so=$o$r\n", AppendWord(nil, v), f.form.source("V"))
				if f.is(v) {
					want.WriteByte('1')
				} else {
					want.WriteByte('0')
				}
			}
			script.WriteString("echo $o\n")
			out, stderr, code := runFile(t, sh, script.String(), environment())
			out = strings.TrimSuffix(out, "\n")
			if code != 0 || stderr != "" || len(out) != len(values) {
				t.Fatalf("%s: status %d, %d answers for %d values: %.300s%.300s", f.name, code, len(out), len(values), out, stderr)
			}
			for i, v := range values {
				if out[i] != want.String()[i] {
					t.Errorf("%s: %.100q: the script says %c, Go says %c", f.name, v, out[i], want.String()[i])
				}
			}
		}
	})
}

// TestLive runs a whole program with good and bad values in its environment.
func TestLive(t *testing.T) {
	document, err := Heredoc(Lit("cat"), Text("a: $SECRET ${SECRET} "), Live("APP_IP", Address), Text(" $(id)\nb: "), Live("APP_NOTE", Any).YAML(), Text("\n"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := Program(
		Lit("value() { printf '%s\\n\\n' \"$1\"; }\n"),
		Assign(Live("APP_PORT", Port), Join(Lit("value "), Live("APP_SOURCE", Any).Word())),
		Lit("printf '%s\\n' "), Live("APP_PORT", Port).Word(), Lit("\n"),
		document,
	)
	if err != nil {
		t.Fatal(err)
	}
	right := map[string]string{"APP_IP": "192.0.2.1", "APP_NOTE": "n", "APP_SOURCE": "6443", "APP_PORT": "$(id)"}
	const secret = "correct-horse"
	for _, c := range []struct {
		name   string
		change map[string]string // a value of "-" removes the variable
		out    string
		err    string // the start of standard error
	}{
		{"right", nil, "6443\na: $SECRET ${SECRET} 192.0.2.1 $(id)\nb: \"n\"\n", ""},
		{"empty note", map[string]string{"APP_NOTE": ""}, "6443\na: $SECRET ${SECRET} 192.0.2.1 $(id)\nb: \"\"\n", ""},
		{"hostile note", map[string]string{"APP_NOTE": "\"\n\\${SECRET}`id`$(id)\t\u0085\n\n"}, "6443\na: $SECRET ${SECRET} 192.0.2.1 $(id)\nb: \"\\\"\\n\\\\${SECRET}`id`$(id)\\x09\\x85\\n\\n\"\n", ""},
		{"no address", map[string]string{"APP_IP": "-"}, "", "APP_IP: not set, empty or not of its form: want an IPv4 or IPv6 address\n"},
		{"empty address", map[string]string{"APP_IP": ""}, "", "APP_IP: not set, empty or not of its form: want an IPv4 or IPv6 address\n"},
		{"two lines", map[string]string{"APP_IP": "192.0.2.1\n  evil: " + secret}, "", "APP_IP: not set, empty or not of its form: want an IPv4 or IPv6 address\n"},
		{"no note", map[string]string{"APP_NOTE": "-"}, "", "APP_NOTE: not set, empty or not of its form: want any text\n"},
		{"no source", map[string]string{"APP_SOURCE": "-"}, "", "APP_SOURCE: not set, empty or not of its form: want any text\n"},
		{"computed wrong", map[string]string{"APP_SOURCE": "1 " + secret}, "", "APP_PORT: not set, empty or not of its form: want a port number from 1 to 65535\n"},
		{"note not UTF-8", map[string]string{"APP_NOTE": "a\xff" + secret}, "", "APP_NOTE: not set, empty or not of its form: want text that is valid UTF-8 (and sed on PATH; in mksh and posh, at most 131071 bytes)\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
				env := environment()
				for name, value := range right {
					if changed, ok := c.change[name]; ok {
						value = changed
					}
					if value == "-" {
						continue
					}
					if excepted(sh.Name, "live", value) {
						return
					}
					env = append(env, name+"="+value)
				}
				for _, run := range []func(testing.TB, shelltest.Shell, string, []string) (string, string, int){runFile, runArgument} {
					out, stderr, code := run(t, sh, script.String(), env)
					if out != c.out || stderr != c.err || (code == 0) != (c.err == "") || code > 1 {
						t.Errorf("status %d\n got %q, %q\nwant %q, %q", code, out, stderr, c.out, c.err)
					}
				}
			})
		})
	}
}

// TestLiveWithoutSed: a pipe whose parts are missing is not taken for an empty value.
func TestLiveWithoutSed(t *testing.T) {
	document, err := Heredoc(Lit("cat"), Live("APP_NOTE", Any).YAML(), Text("\n"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := Program(document)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for _, name := range []string{"cat", "printf"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		args := append([]string{}, sh.Args...)
		args[0], _ = exec.LookPath(args[0])
		if excepted(sh.Name, "no sed", "x") {
			return
		}
		out, stderr, code := run(t, t.TempDir(), []string{"PATH=" + bin, "APP_NOTE=x"}, append(args, "-c", script.String())...)
		if out != "" || code == 0 || !strings.Contains(stderr, "APP_NOTE: ") {
			t.Errorf("status %d, %q, %q", code, out, stderr)
		}
	})
}

// sequences are at the edges of UTF-8.
var sequences = []string{"é", "\u0800", "\u3000", "\ud7ff", "\U00010000", "\U00050000", "\U0010ffff", "\xc2", "\xc2\xc2\x80", "\xc3\xc3\xa9\xa9", "\xe0\x9f\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xed\xa0\x80", "\xef\xbf\xbd", "\xf0\x8f\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc0\x80", "\xc1\xbf", "\xe2\x80", "\xe2\x80\xe2\x80\xa8\xa8", "\xf1\x80\x80\x80\x80", "a\n\xff\nb"}

// TestYAMLFunction runs the script's own YAML encoder on many values, with each
// sed that is there.
func TestYAMLFunction(t *testing.T) {
	var values []string
	for _, in := range append(inputsOf(yamlInputs), corpus(t)...) {
		// A command's argument; longer values and NUL are not to be had.
		if len(in.s) <= 10000 && noNUL(in.s) && !strings.HasPrefix(in.name, "generated") {
			values = append(values, in.s)
		}
	}
	for c := 1; c < 256; c++ {
		values = append(values, "a"+string([]byte{byte(c)})+"b")
	}
	values = append(append(values, sequences...), strings.Repeat("x\n", 3000))
	for r := rune(0x80); r < 0x110000; r = r*5/4 + 1 {
		if r < 0xd800 || r > 0xdfff {
			values = append(values, "<"+string(r)+">")
		}
	}
	seds := map[string]string{"sed": "sed"}
	if path, err := exec.LookPath("busybox"); err == nil {
		seds["busybox sed"] = path
	} else if os.Getenv("MIRRORPATCH_REQUIRE_SHELLS") == "1" {
		t.Error("busybox is not installed")
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		t.Parallel()
		for name, path := range seds {
			var script strings.Builder
			script.WriteString(prelude + yamlFunction)
			var given []string
			for _, v := range values {
				if excepted(sh.Name, "yaml function", v) {
					continue
				}
				given = append(given, v)
				script.WriteString(ownPrefix + "yaml " + string(AppendWord(nil, v)) + "\n")
			}
			env := environment()
			if path != "sed" {
				bin := t.TempDir()
				if err := os.Symlink(path, filepath.Join(bin, "sed")); err != nil {
					t.Fatal(err)
				}
				env[0] = "PATH=" + bin + ":" + os.Getenv("PATH")
			}
			out, stderr, code := runFile(t, sh, script.String(), env)
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if code != 0 || stderr != "" || len(lines) != len(given) {
				t.Fatalf("%s: status %d, %d lines for %d values, %.300q", name, code, len(lines), len(given), stderr)
			}
			for i, v := range given {
				quoted := len(lines[i]) >= 2 && lines[i][0] == '"' && lines[i][len(lines[i])-1] == '"'
				switch {
				case quoted != utf8.ValidString(v):
					t.Errorf("%s: %.60q: got %.100q", name, v, lines[i])
				case quoted:
					if err := decodesTo(lines[i], v); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		}
	})
}
