package escape

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestHeredoc(t *testing.T) {
	ip := Live("APP_IP", Address)
	for _, c := range []struct {
		name string
		cmd  Shell
		body []Part
		want string // the source, or the error after "error: "
	}{
		{"nothing", Lit("cat"), nil, "cat <<EOF\nEOF\n"},
		{"text", Lit("cat"), []Part{Text("a\n")}, "cat <<EOF\na\nEOF\n"},
		{"special", Lit("cat"), []Part{Text("\\ $X `id` \" '\n")}, "cat <<EOF\n\\\\ \\$X \\`id\\` \" '\nEOF\n"},
		{"live", Lit("cat"), []Part{Text("a: "), ip, Text("\n")}, "cat <<EOF\na: ${APP_IP}\nEOF\n"},
		{"live and its text", Lit("cat"), []Part{Text("${APP_IP} "), ip, Text("}\n")}, "cat <<EOF\n\\${APP_IP} ${APP_IP}}\nEOF\n"},
		{"yaml", Lit("cat"), []Part{Text("a: "), Live("APP_X", Any).YAML(), Text("\n")}, "cat <<EOF\na: ${mirrorpatch_yaml_APP_X}\nEOF\n"},
		{"E taken", Lit("cat"), []Part{Text("\t\tEnd\n")}, "cat <<AEOF\n\t\tEnd\nAEOF\n"},
		{"E in a line", Lit("cat"), []Part{Text(" EOF\n")}, "cat <<EOF\n EOF\nEOF\n"},
		{"no newline", Lit("cat"), []Part{Text("a")}, "error: body: heredoc: the body does not end in a newline, which no here-document can express (end it with Text(\"\\n\"), or give the bytes to printf %s as a Word)"},
		{"live at the end", Lit("cat"), []Part{ip}, "error: body: heredoc: the body does not end in a newline, which no here-document can express (end it with Text(\"\\n\"), or give the bytes to printf %s as a Word)"},
		{"all at once", Join(Lit("cat '"), Word("a\x00")), []Part{Text("\x01\x00"), nil, Live("PATH", Form{}), Live("X", Any)},
			"error: cmd.parts[0]: literal: byte 4: a single quote is left open (close it; untrusted text goes through Word)\n" +
				"cmd.parts[1]: word: byte 1: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)\n" +
				"body[0]: heredoc: byte 1: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)\n" +
				"body[0]: heredoc: byte 0: byte 0x01 cannot stand in an unquoted here-document: bash 4.4 drops it and the escape behind it (use HeredocQuoted or Word)\n" +
				"body[1]: heredoc: a nil Part (use Text, or leave it out)\n" +
				"body[2]: live \"PATH\": a name that shells or programs give a meaning of their own (choose a longer one, such as APP_PATH)\n" +
				"body[2]: live \"PATH\": no form (say what the value may be: Address, DNSName, Chars(…), …)\n" +
				"body[3]: live \"X\": a value of form Any cannot stand bare in a document: it may hold a newline (use its YAML method, or a narrower form)\n" +
				"body: heredoc: the body does not end in a newline, which no here-document can express (end it with Text(\"\\n\"), or give the bytes to printf %s as a Word)"},
		{"a nil variable", Lit("cat"), []Part{(*Variable)(nil)}, "error: body[0]: heredoc: a nil Part (use Text, or leave it out)"},
		{"no command", Shell{}, nil, "error: cmd: heredoc: no command (write the command that reads the here-document)"},
		{"blank command", Lit(" "), nil, "error: cmd: heredoc: no command (write the command that reads the here-document)"},
		{"newline", Lit("cat\n "), nil, "error: cmd: heredoc: the command ends in a newline (leave the newline out: the here-document belongs to the command's own line)"},
		{"pipe", Lit("cat | "), nil, "error: cmd: heredoc: the command ends in '|' (end it with the command that reads the here-document)"},
		{"continuation", Lit("cat \\\n"), nil, "cat \\\n <<EOF\nEOF\n"},
		{"escaped operator", Lit("cat \\;"), nil, "cat \\; <<EOF\nEOF\n"},
		{"duplicate", Lit("cat 2>&1"), nil, "cat 2>&1 <<EOF\nEOF\n"},
		{"argument then", Lit("cat then"), nil, "cat then <<EOF\nEOF\n"},
		{"compound", Lit("if true; then cat; fi"), nil, "if true; then cat; fi <<EOF\nEOF\n"},
		{"then", Lit("if true; then"), nil, "error: cmd: heredoc: the command ends in a word such as then, behind which a command begins (end it with the command that reads the here-document)"},
		{"brace", Lit("f() { "), nil, "error: cmd: heredoc: the command ends in a word such as then, behind which a command begins (end it with the command that reads the here-document)"},
		{"negation", Join(Lit("true "), Word("x"), Lit(" && ! ")), nil, "error: cmd: heredoc: the command ends in a word such as then, behind which a command begins (end it with the command that reads the here-document)"},
		{"zero variable", Lit("cat"), []Part{Variable{}, Text("\n")}, "error: body[0]: live: no name (use Live)\nbody[0]: live: no form (say what the value may be: Address, DNSName, Chars(…), …)"},
		{"control in a set", Lit("cat"), []Part{Live("X", Chars("a\nb")), Text("\n")}, "error: body[0]: live \"X\": byte 1: a character that is not printable ASCII in the set of a form (leave it out, or use the form Any)"},
		{"empty set", Lit("cat"), []Part{Live("X", Chars("")), Text("\n")}, "error: body[0]: live \"X\": a set of no characters (name at least one)"},
	} {
		s, err := Heredoc(c.cmd, c.body...)
		got, _, _ := render(s, nil, "")
		if err != nil {
			got = "error: " + err.Error()
			// The piece carries what the error says.
			if _, again := Program(s); again == nil || strings.Count(again.Error(), "\n") != strings.Count(err.Error(), "\n") {
				t.Errorf("%s: Program says %v", c.name, again)
			}
			var one *Error
			if !errors.As(err, &one) {
				t.Errorf("%s: %T", c.name, err)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestProgramErrors(t *testing.T) {
	port := Live("APP_PORT", Port)
	document, err := Heredoc(Lit("cat"), Text("x\n"))
	if err != nil {
		t.Fatal(err)
	}
	f := Lit("f() { echo 1; }\n")
	for _, c := range []struct {
		name  string
		parts []Shell
		want  string
	}{
		{"nothing", nil, ""},
		{"assigned, then used", []Shell{f, Assign(port, Lit("f")), Lit("echo "), port.Word()}, ""},
		{"used, then assigned", []Shell{f, Lit("echo "), port.Word(), Lit("\n"), Assign(port, Lit("f"))}, `program "APP_PORT": used before it is assigned (put the Assign first)`},
		{"used in its own command", []Shell{f, Assign(port, Join(Lit("f "), port.Word()))}, `program "APP_PORT": used before it is assigned (put the Assign first)`},
		{"two forms", []Shell{Lit("echo "), port.Word(), Live("APP_PORT", Address).Word(), Live("APP_PORT", Any).Word()}, `program "APP_PORT": two forms: a port number from 1 to 65535, and an IPv4 or IPv6 address (use one form, or two variables)`},
		{"document in an assignment", []Shell{Assign(port, Join(Lit("f\n"), document))}, `parts[0].cmd: assign "APP_PORT": a here-document within $( ), which not every shell can read (put it into a function before this, and call that)`},
		{"assignment in an assignment", []Shell{Assign(port, Join(Assign(Live("APP_X", Any), Lit("f")), Lit("f")))}, `parts[0].cmd: assign "APP_PORT": an Assign within $( ), whose variable is gone at its end (put it before this)`},
		{"nothing assigned", []Shell{Assign(port, Shell{})}, `parts[0].cmd: assign "APP_PORT": no command (write the command that prints the value)`},
		{"exported", []Shell{Lit("export "), Assign(port, Lit("f"))}, "parts[1]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"an argument", []Shell{Lit("echo "), Word("x"), Assign(port, Lit("f"))}, "parts[2]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"an argument then", []Shell{f, Lit("echo then "), Assign(port, Lit("f"))}, "parts[2]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"behind then without a blank", []Shell{f, Lit("if true; then"), Assign(port, Lit("f")), Lit("fi\n")}, "parts[2]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"behind a substitution", []Shell{f, Lit("x=$(f)"), Assign(port, Lit("f"))}, "parts[2]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"joined", []Shell{f, Lit("echo "), Join(Lit(" "), Assign(port, Lit("f")))}, "parts[2]: assign: an Assign that does not begin a command (begin a line with it)"},
		{"twice", []Shell{f, Assign(port, Lit("f")), Assign(Live("APP_X", Any), Lit("f"))}, ""},
		{"behind a document", []Shell{f, document, Lit(" \\\n "), Assign(port, Lit("f"))}, ""},
		{"a case", []Shell{Assign(port, Lit("case a in (a) echo 1;; esac"))}, "parts[0].cmd: literal: byte 0: case within $( ) (put it into a function and call that)"},
		{"a case in pieces", []Shell{Assign(port, Join(Lit("ca"), Lit("se a in a) echo 1;; esac")))}, `parts[0].cmd: assign "APP_PORT": parentheses that are not balanced, such as the ) of a pattern of case (put a case into a function before this, and call that)`},
		{"a parenthesis", []Shell{Assign(port, Join(Lit("( echo "), Word("1"), Lit("\n")))}, `parts[0].cmd: assign "APP_PORT": parentheses that are not balanced, such as the ) of a pattern of case (put a case into a function before this, and call that)`},
		{"parentheses of two pieces", []Shell{Assign(port, Join(Lit("( echo "), Word("1"), Lit(" )\n")))}, ""},
		{"a comment with a quote", []Shell{Assign(port, Join(Lit("# it's\n"), Lit("echo 1")))}, "parts[0].cmd.parts[0]: literal: byte 0: a comment with a quote, a parenthesis, a backslash, a backquote or a $ in $( ) (leave the character out, or put the comment elsewhere)"},
		{"a parenthesis in an expansion", []Shell{Assign(port, Lit("echo ${x#(}"))}, "parts[0].cmd: literal: byte 9: a parenthesis within ${ } in $( ) (set a variable first and use that)"},
		{"in a branch", []Shell{f, Lit("if true; then "), Assign(port, Lit("f")), Lit("fi\n")}, ""},
	} {
		_, err := Program(c.parts...)
		if got := errorText(err); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"SERVICE_IP": true, "TALOS_TOKEN": true, "BOOTSTRAP_TOKEN": true, "a": true, "A1": true, strings.Repeat("A", 200): true,
		"": false, "1A": false, "A-B": false, "A B": false, "A\nB": false, "é": false, "A}": false, "$A": false, strings.Repeat("A", 201): false,
		"_": false, "_X": false, "PATH": false, "IFS": false, "LC_ALL": false, "HOME": false, "path": false, "status": false, "SECONDS": false, "mirrorpatch_x": false, "LD_PRELOAD": false, "BASH_ENV": false,
	} {
		if reason, _ := refusedName(name); (reason == "") != ok {
			t.Errorf("%q: %q", name, reason)
		}
	}
}

// TestDelimiter: what is chosen keeps the rules, and is the same each time.
func TestDelimiter(t *testing.T) {
	every := ""
	for c := byte(1); c != 0; c++ {
		every += string([]byte{c, '\n'})
	}
	lines := func(each string) string { // a line for each initial, with each in it for @
		var b strings.Builder
		for i := range len(initials) {
			b.WriteString(strings.ReplaceAll(each, "@", initials[i:i+1]) + "\n")
		}
		return b.String()
	}
	for _, c := range []struct{ body, want string }{
		{"", "EOF"},
		{"a\n", "EOF"},
		{"EOF\n", "AEOF"},
		{"E\nA\n\tB\n", "CEOF"},
		{every, "E0"},
		{lines("@0"), "E1"},
		{lines("@0\n@1\n@12\n@2"), "E3"},
		{lines("\t@0)"), "E1"},
		{lines("@") + "E\\\\\n", "A0"},
		{lines("@") + "E0\\\\\nA12\\\\\n", "B0"},
		{lines(`@\\`), ""},
	} {
		d, ok := delimiter([]byte(c.body))
		if d != c.want || ok != (c.want != "") {
			t.Errorf("%.40q: got %q, want %q", c.body, d, c.want)
		}
		if ok {
			checkDelimiter(t, []byte(c.body), d)
		}
	}
	for _, in := range corpus(t) {
		body := AppendHeredoc(nil, in.s)
		if d, ok := delimiter(body); ok {
			checkDelimiter(t, body, d)
		} else {
			t.Errorf("%s: no delimiter", in.name)
		}
	}
	if _, err := Heredoc(Lit("cat"), Text(lines(`@\`))); err == nil || !strings.Contains(err.Error(), "no delimiter is safe") {
		t.Errorf("%v", err)
	}
}

// checkDelimiter states the rules in their weakest form.
func checkDelimiter(t *testing.T, body []byte, d string) {
	t.Helper()
	for line := range bytes.SplitSeq(body, []byte("\n")) {
		line = bytes.TrimLeft(line, "\t")
		if bytes.HasPrefix(line, []byte(d)) {
			t.Fatalf("%q begins the line %.40q", d, line)
		}
		if bare := bytes.TrimRight(line, `\`); len(bare) > 0 && len(bare) < len(line) && strings.HasPrefix(d, string(bare)) {
			t.Fatalf("%q and the line %.40q", d, line)
		}
	}
	for i := range len(d) {
		if c := d[i]; !isNameByte(c) {
			t.Fatalf("%q", d)
		}
	}
}
