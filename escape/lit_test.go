package escape

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

var literals = []struct {
	in   constant
	want string // the error, or empty
}{
	{"", ""},
	{"kubectl apply -n ", ""},
	{"set -eu\n", ""},
	{"# a comment that isn't closed by '\n", ""},
	{"if [ -n \"$x\" ]; then\n", ""},
	{"f() {\n", ""},
	{"( ", ""},
	{")", ""},
	{"case $x in a) ", ""},
	{"x='a\nb' y=\"$(date '+%s')\" z=\\'", ""},
	{"echo \"a'b\" 'c\"d' \\' \\\" ", ""},
	{"echo $# $$ $? $! $- $@ $* $1 ${10} ${#x} ${x%%.*} ${x:-y} ${x:?not set (want z)}", ""},
	{"n=$((n + 1)); m=$(( (n<<2) / ${#x} ))\n", ""},
	{"echo $#c 'a#b' \\# a\\#b\n", ""},
	{"x=$(echo '# )' \")\" # a comment\n)", ""},
	{"x=$( (id) )", ""},
	{"cat <file >out 2>&1 <&3\n", ""},
	{"echo \\\n  a", ""},
	{"echo \"costs $ 5\" \"5$\"", ""},
	{"echo \"é\" '€' # ü ' \"\n", ""},
	{"cat 2>&1 <&3 >&- 1>&2|x >&2;y 2>&\\\n1", ""},
	{"[ -f *.[ch] ] && case $x in *[!0-9]* | [[:alpha:]][a-z]) ", ""},
	{"x=/a:~/b:$HOME/c ~/bin/x [ a = b ] --x=y x= \n", ""},
	{"SECONDS=\n_x=PATH=HOME=", ""},
	{"echo 'alias' aliases x-alias", ""},
	{"x=\"$(echo a \\\n  b)\"", ""},
	{"x=${x:?not (yet) set}", ""},
	{"echo '", "literal: byte 5: a single quote is left open (close it; untrusted text goes through Word)"},
	{"echo \"", "literal: byte 5: a double quote is left open (close it; untrusted text goes through Word, a variable's value through Variable.Word)"},
	{"echo \"\\\"", "literal: byte 5: a double quote is left open (close it; untrusted text goes through Word, a variable's value through Variable.Word)"},
	{"echo \"\\", "literal: byte 5: a double quote is left open (close it; untrusted text goes through Word, a variable's value through Variable.Word)"},
	{"# comment ", "literal: byte 0: a comment is left open (end it with a newline)"},
	{"a;# comment ", "literal: byte 2: a comment is left open (end it with a newline)"},
	{"a \\\n# comment ", "literal: byte 4: a comment is left open (end it with a newline)"},
	{"x=$", "literal: byte 2: ends in $, which would join the next piece's first byte (write \\$ for the character)"},
	{"echo \"$", "literal: byte 6: ends in $, which would join the next piece's first byte (write \\$ for the character)"},
	{"echo \\", "literal: byte 5: ends in a backslash, which would quote the next piece's first byte (close it with what it is to quote)"},
	{"x=`id`", "literal: byte 2: a backquote (write $( ))"},
	{"x=\"`\"", "literal: byte 3: a backquote (write $( ), or a backslash before it for the character)"},
	{"cat <<EOF\n", "literal: byte 4: << (use Heredoc or HeredocQuoted)"},
	{"cat <\\\n<EOF\n", "literal: byte 4: << (use Heredoc or HeredocQuoted)"},
	{"cat <<<x", "literal: byte 4: << (use Heredoc or HeredocQuoted)"},
	{"x=$(cat <<EOF\nEOF\n)", "literal: byte 8: << (use Heredoc or HeredocQuoted)"},
	{"x=$(kubectl get ", "literal: byte 2: $( is left open (use Assign)"},
	{"x=\"$(kubectl get ", "literal: byte 3: $( is left open (use Assign)"},
	{"x=$((1 + ", "literal: byte 2: $(( is left open (close it)"},
	{"x=$((1)", "literal: byte 2: $(( without )) (put a blank after $( when a subshell is meant)"},
	{"x=$((\"1\"))", "literal: byte 5: a character that is no part of POSIX arithmetic (set a variable first and use that)"},
	{"x=$(($(id)))", "literal: byte 5: $( within $(( )) (set a variable first and use that)"},
	{"echo !(a", "literal: byte 6: a ( that is part of a word or a redirection, which is no POSIX shell (put a blank before it when a subshell is meant)"},
	{"a=(b c)", "literal: byte 2: a ( that is part of a word or a redirection, which is no POSIX shell (put a blank before it when a subshell is meant)"},
	{"cat <(id)", "literal: byte 5: a ( that is part of a word or a redirection, which is no POSIX shell (put a blank before it when a subshell is meant)"},
	{"((x))", "literal: byte 0: ((, which is arithmetic in some shells and two subshells in others (put a blank between them, or use $(( )))"},
	{"(\\\n(x))", "literal: byte 0: ((, which is arithmetic in some shells and two subshells in others (put a blank between them, or use $(( )))"},
	{"echo ${x", "literal: byte 5: ${ is left open (close it)"},
	{"echo ${", "literal: byte 5: ${ is left open (close it)"},
	{"echo ${x:-'}'}", "literal: byte 10: a quote, backslash, backquote, brace, newline or < within ${ } (set a variable first and use that)"},
	{"echo ${ id;}", "literal: byte 5: ${ is not followed by a name (write ${NAME})"},
	{"echo \"${x:=a} ${x=b} ${x+c} ${x:+d} ${x-e} ${x?f} ${x#g} ${x##h} ${x%i} ${x%%j} ${#} ${#@} ${#*} ${@} ${*} ${?} ${$} ${!} ${-} ${!-none}\"", ""},
	{"echo ${x@P}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${!x}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x[$i]}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x:$i}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x:1}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x/a/b}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x^^}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${#x[0]}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${#x:-1}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${@:1}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${x y}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo ${#?}", "literal: byte 5: a ${ } that is no POSIX shell (write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME)"},
	{"echo $'a'", "literal: byte 5: a $ that shells read differently (write $NAME, ${NAME}, $( ), $(( )), or \\$ for the character)"},
	{"echo $\"a\"", "literal: byte 5: a $ that shells read differently (write $NAME, ${NAME}, $( ), $(( )), or \\$ for the character)"},
	{"echo $[1]", "literal: byte 5: a $ that shells read differently (write $NAME, ${NAME}, $( ), $(( )), or \\$ for the character)"},
	{"echo $\\\n(id)", "literal: byte 5: a $ that shells read differently (write $NAME, ${NAME}, $( ), $(( )), or \\$ for the character)"},
	{"x=$(case $y in a) id;; esac)", "literal: byte 4: case within $( ) (put it into a function and call that)"},
	{"x=$(c\\\nase y in a) id;; esac)", "literal: byte 5: a line continuation within a word in $( ) (write the word in one line)"},
	{"x=$(id # it's\n)", "literal: byte 7: a comment with a quote, a parenthesis, a backslash, a backquote or a $ in $( ) (leave the character out, or put the comment elsewhere)"},
	{"x=$(echo ${y#(})", "literal: byte 13: a parenthesis within ${ } in $( ) (set a variable first and use that)"},
	{"echo a >&", "literal: byte 7: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a >&$x", "literal: byte 7: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a >& 2", "literal: byte 7: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a >&'2'", "literal: byte 7: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a <\\\n&2x", "literal: byte 7: a target of <& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a 2>&1-", "literal: byte 8: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a 2>&-#", "literal: byte 8: a target of >& that is not digits or -, which bash expands twice (write the number right behind it, or a file behind > and 2>&1)"},
	{"echo a#b", "literal: byte 6: a # within a word (quote it when the character is meant, and put a blank before it when a comment is)"},
	{"echo 'x'#b", "literal: byte 8: a # within a word (quote it when the character is meant, and put a blank before it when a comment is)"},
	{"cat <# x\n", "literal: byte 5: a # right behind a redirection, where shells disagree on what it is (put a blank before it when a comment is meant, and quote it when a file is)"},
	{"cat >\\\n# x\n", "literal: byte 7: a # right behind a redirection, where shells disagree on what it is (put a blank before it when a comment is meant, and quote it when a file is)"},
	{"cat >|# x\n", "literal: byte 6: a # right behind a redirection, where shells disagree on what it is (put a blank before it when a comment is meant, and quote it when a file is)"},
	{"cat <\\\n(id)", "literal: byte 7: a ( that is part of a word or a redirection, which is no POSIX shell (put a blank before it when a subshell is meant)"},
	{"a[", "literal: byte 1: a [ behind a name, a quote or an expansion, which is a subscript in some shells (quote it)"},
	{"echo $x[1]", "literal: byte 7: a [ behind a name, a quote or an expansion, which is a subscript in some shells (quote it)"},
	{"echo \"$x\"[1]", "literal: byte 9: a [ behind a name, a quote or an expansion, which is a subscript in some shells (quote it)"},
	{"echo ${x}\\\n[1]", "literal: byte 11: a [ behind a name, a quote or an expansion, which is a subscript in some shells (quote it)"},
	{"if [[ a =~ ( # '\n", "literal: byte 3: [[, which is no POSIX shell (use [ ] or case)"},
	{"[\\\n[", "literal: byte 0: [[, which is no POSIX shell (use [ ] or case)"},
	{"alias q='echo \"'\nq ", "literal: byte 0: alias, which changes how the shell reads what comes next (write a function, or quote the word where it is data)"},
	{"x && setopt rcquotes\n", "literal: byte 5: setopt, which changes how the shell reads what comes next (write a function, or quote the word where it is data)"},
	{"echo \u3000# '", "literal: byte 5: a byte that is not printable ASCII outside of quotes (put it in quotes)"},
	{"echo \\\u3000", "literal: byte 6: a byte that is not printable ASCII outside of quotes (put it in quotes)"},
	{"echo\r\n", "literal: byte 4: a byte that is not printable ASCII outside of quotes (put it in quotes)"},
	{"x; SECONDS=", "literal: byte 3: ends within an assignment to a variable that shells evaluate (use a name of your own, or end the literal with a newline when the value is whole)"},
	{"export RANDOM+=\"1\"+", "literal: byte 7: ends within an assignment to a variable that shells evaluate (use a name of your own, or end the literal with a newline when the value is whole)"},
	{"a\x00b", "literal: byte 1: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)"},
}

func TestLit(t *testing.T) {
	for _, c := range literals {
		l := Lit(c.in)
		if got := errorText(together(l.errs)); got != c.want {
			t.Errorf("%q:\n got %s\nwant %s", c.in, got, c.want)
		}
		if c.want == "" {
			source, _, _ := render(l, nil, "")
			if source != string(c.in) {
				t.Errorf("%q became %q", c.in, source)
			}
			if c.in != "" && !plainAtEnd(string(c.in)) {
				t.Errorf("%q: a parser does not find a word behind it", c.in)
			}
		}
	}
}

// misread is what mvdan.cc/sh v3.14.1 takes for a comment and no shell does
// (measured in all eight): a # behind an unbraced expansion, a quote or ).
var misread = regexp.MustCompile(`(\$[A-Za-z0-9_@*#?$!-]+|["'})])(\\\n)*#`)

// plainAtEnd tells whether, to mvdan.cc/sh's parser, a single-quoted word
// behind s is a single-quoted word, whatever of the grammar is still open.
// Source that it cannot read at all is none of its business.
func plainAtEnd(s string) bool {
	if misread.MatchString(s) {
		return true
	}
	const word = "'w0rd'"
	for _, before := range []string{"", "f() ", "( ", "if a; then b; el", "case $x in ", "while a; do b\n"} {
		for _, after := range []string{"", ")", "\n)", "; }", "\n}", "; fi", "\nfi", "; then b; fi", "; done", "\ndone", "; do b; done", "; esac", ") b;; esac", ";; esac", " in a) b;; esac", "() { a; }", "\n))"} {
			source := before + s + word + after + "\n"
			for _, lang := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
				file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(source), "")
				if err != nil {
					continue
				}
				found := false
				syntax.Walk(file, func(n syntax.Node) bool {
					if q, ok := n.(*syntax.SglQuoted); ok && !q.Dollar && q.Value == "w0rd" && int(q.Pos().Offset()) == len(before)+len(s) {
						found = true
					}
					return true
				})
				if !found {
					return false
				}
			}
		}
	}
	return true
}

// FuzzLit: behind each literal that is accepted, a word is a word; and two
// literals that may stand one behind the other are one.
func FuzzLit(f *testing.F) {
	for i, c := range literals {
		f.Add(string(c.in), string(literals[(i*7+3)%len(literals)].in))
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		one := Lit(constant(a))
		if len(one.errs) == 0 && a != "" && !plainAtEnd(a) {
			t.Errorf("%q: accepted, and a word behind it is none", a)
		}
		both := Join(one, Lit(constant(b)))
		if len(both.errs) == 0 && a+b != "" && !plainAtEnd(a+b) {
			t.Errorf("%q and %q: accepted, and a word behind them is none", a, b)
		}
	})
}

func TestSeams(t *testing.T) {
	for _, c := range []struct {
		parts []Shell
		want  string
	}{
		{[]Shell{Lit("echo "), Word("a"), Lit(" # c\n")}, ""},
		{[]Shell{Lit("a\n"), Lit("# it's\n")}, ""},
		{[]Shell{Lit("a"), Lit("# it's\n")}, "parts[1]: literal: byte 0: a # at its start is no comment here, since the piece before it ends in a word (begin the literal with a newline or a blank)"},
		{[]Shell{Word("a"), {}, Lit(""), Lit("# it's\n")}, "parts[3]: literal: byte 0: a # at its start is no comment here, since the piece before it ends in a word (begin the literal with a newline or a blank)"},
		{[]Shell{Lit("a\\\n"), Lit("# it's\n")}, "parts[1]: literal: byte 0: a # at its start is no comment here, since the piece before it ends in a word (begin the literal with a newline or a blank)"},
		{[]Shell{Lit("a"), Lit("\\\n"), Lit("\\\n# it's\n")}, "parts[2]: literal: byte 0: a # at its start is no comment here, since the piece before it ends in a word (begin the literal with a newline or a blank)"},
		{[]Shell{Lit("cat <"), Lit("<EOF\n")}, "parts[1]: literal: byte 0: makes << with the piece before it (use Heredoc)"},
		{[]Shell{Lit("cat <\\\n"), Lit("\\\n<EOF\n")}, "parts[1]: literal: byte 0: makes << with the piece before it (use Heredoc)"},
		{[]Shell{Lit("cat <"), Word("file"), Lit("<x\n")}, ""},
		{[]Shell{Lit("("), Lit("(id)"), Lit(")")}, "parts[1]: literal: byte 0: makes (( with the piece before it, which is arithmetic in some shells (put a blank between them)"},
		{[]Shell{Lit("f"), Lit("() { id; }\n")}, "parts[1]: literal: byte 0: a ( at its start becomes part of the word or redirection before it (put a blank between them, or write f() in one literal)"},
		{[]Shell{Lit("cat <"), Lit("(id)")}, "parts[1]: literal: byte 0: a ( at its start becomes part of the word or redirection before it (put a blank between them, or write f() in one literal)"},
		{[]Shell{Lit("cat <"), Lit("# '\n")}, "parts[1]: literal: byte 0: a # right behind a redirection, where shells disagree on what it is (put a blank before it)"},
		{[]Shell{Lit("cat >"), Lit("&2\n")}, "parts[1]: literal: byte 0: makes >& or <& with the piece before it (write it and its number in one literal)"},
		{[]Shell{Lit("cat >&2"), Word("x")}, "parts[1]: literal: byte 0: becomes part of the target of >& or <& before it, which bash expands twice (begin the literal with a newline or a blank)"},
		{[]Shell{Lit("cat >&-\\\n"), Live("APP_X", Any).Word()}, "parts[1]: literal: byte 0: becomes part of the target of >& or <& before it, which bash expands twice (begin the literal with a newline or a blank)"},
		{[]Shell{Lit("cat >&2"), Lit(";"), Lit("cat <&3"), Lit("\n"), Lit("cat <&3"), Lit(" "), Word("x")}, ""},
		{[]Shell{Lit("a"), Lit("[1]=2")}, "parts[1]: literal: byte 0: a [ at its start becomes part of the word before it, and a subscript in some shells (put a blank between them, or quote it)"},
		{[]Shell{Lit("["), Lit("[ a")}, "parts[1]: literal: byte 0: a [ at its start becomes part of the word before it, and a subscript in some shells (put a blank between them, or quote it)"},
		{[]Shell{Lit("cd ~"), Word("root")}, "parts[1]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("x=a:~\"r\"o"), Word("ot")}, "parts[1]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("echo =l"), Word("s")}, "parts[1]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("x=="), Word("ls")}, "parts[1]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("x="), Lit("="), Word("ls")}, "parts[2]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("echo "), Lit("=l"), Word("s")}, "parts[2]: literal: byte 0: becomes part of the ~name or =name before it, which shells expand (quote the ~ or =, or put a / behind the ~)"},
		{[]Shell{Lit("echo ~/"), Word("x"), Lit(" ~"), Lit("/x --a="), Word("x"), Lit(" "), Word("a"), Lit("="), Word("b"), Lit(" ~\n")}, ""},
		{[]Shell{Join(Lit("'"), Word("\x00")), Lit("`")}, "parts[0].parts[0]: literal: byte 0: a single quote is left open (close it; untrusted text goes through Word)\n" +
			"parts[0].parts[1]: word: byte 0: byte 0x00 cannot stand in a shell script (remove it, or carry the data as base64)\n" +
			"parts[1]: literal: byte 0: a backquote (write $( ))"},
	} {
		_, err := Program(c.parts...)
		if got := errorText(err); got != c.want {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
}

// commands counts what a script runs.
func commands(t testing.TB, script string) (calls, statements, expansions int) {
	t.Helper()
	if !utf8.ValidString(script) {
		// The parser reads UTF-8 only. A shell with LC_ALL=C reads bytes: a
		// character for each of them is the same to it.
		var b strings.Builder
		for i := range len(script) {
			b.WriteRune(rune(script[i]))
		}
		script = b.String()
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%v\n%.1000q", err, script)
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CallExpr:
			calls++
		case *syntax.Stmt:
			statements++
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
			expansions++
		}
		return true
	})
	return calls, statements, expansions
}

// TestStructure: what a script runs does not depend on an untrusted byte.
func TestStructure(t *testing.T) {
	build := func(s string) (string, error) {
		live, err := Heredoc(Join(Lit("cat - "), Word(s)), Text(s), Live("APP_IP", Address), Text(s), Text("\n"))
		if err != nil {
			return "", err
		}
		quoted, err := HeredocQuoted(Join(Word(s), Lit(" x")), s+"\n")
		if err != nil {
			return "", err
		}
		script, err := Program(Assign(Live("APP_PORT", Port), Join(Lit("echo "), Word(s))), live, Lit("if true; then\n"), quoted, Lit("fi\n"))
		return script.String(), err
	}
	model, err := build("x")
	if err != nil {
		t.Fatal(err)
	}
	calls, statements, expansions := commands(t, model)
	n := 0
	for _, in := range corpus(t) {
		if len(in.s) > 10000 {
			continue // the same bytes again, and slow to parse
		}
		script, err := build(in.s)
		if err != nil {
			continue
		}
		n++
		if c, s, e := commands(t, script); c != calls || s != statements || e != expansions {
			t.Fatalf("%s: %d calls, %d statements, %d expansions, and with x %d, %d, %d", in.name, c, s, e, calls, statements, expansions)
		}
	}
	if n < 5000 {
		t.Errorf("only %d strings were carried", n)
	}
}
