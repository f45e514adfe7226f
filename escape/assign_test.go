package escape

import (
	"strings"
	"testing"

	"github.com/mirrorpatch/mirrorpatch/internal/shelltest"
)

// TestAssignAny: a value of form Any is what the command prints, to the last
// newline, however the command ends.
func TestAssignAny(t *testing.T) {
	values := []string{"", "x", "xx", "\n", "\n\n", "x\n", "a", "a\n", "a\n\n\n", "\nx\nx\n", " \t\n ", "-n\n", "x\\", "é\n", "\u3000x\n", "\"$(id)`id`\\\n\n", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", strings.Repeat("0123456789abcde\n", 4000)}
	for _, c := range []struct {
		name    string
		command func(s string) Shell
	}{
		{"a command", func(s string) Shell { return Join(Lit("printf %s "), Word(s)) }},
		{"exit 0", func(s string) Shell { return Join(Lit("printf %s "), Word(s), Lit("\nexit 0\n")) }},
		{"a pipe", func(s string) Shell { return Join(Lit("printf %s "), Word(s), Lit(" | cat")) }},
		{"a function that exits", func(s string) Shell {
			return Join(Lit("leave() { printf %s \"$1\"; exit; }\nleave "), Word(s), Lit("\n"))
		}},
		{"a list", func(s string) Shell { return Join(Lit("false || printf %s "), Word(s)) }},
		{"comments", func(s string) Shell {
			return Join(Lit("# a comment; if case x in ] }\n( printf %s \")\" '(' >/dev/null ) # { [\nprintf %s "), Word(s), Lit(" # done\n"))
		}},
		{"a condition", func(s string) Shell { return Join(Lit("if printf %s "), Word(s), Lit("; then :; fi")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Live("APP_TEXT", Any)
			var parts []Shell
			want := ""
			for _, s := range values {
				parts = append(parts, Assign(v, c.command(s)), Lit("printf '<%s>' "), v.Word(), Lit("\n"))
				want += "<" + s + ">"
			}
			script, err := Program(parts...)
			if err != nil {
				t.Fatal(err)
			}
			shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
				out, stderr, code := runFile(t, sh, script.String(), environment("APP_TEXT=LEAKED"))
				if out != want || stderr != "" || code != 0 {
					t.Errorf("status %d, %q\n got %.900q\nwant %.900q", code, stderr, out, want)
				}
			})
		})
	}
}

// TestAssignOther: the newlines at the end are no part of a value of another form.
func TestAssignOther(t *testing.T) {
	v := Live("APP_PORT", Port)
	script, err := Program(Assign(v, Lit("printf '6443\\n\\n'")), Lit("printf '<%s>' "), v.Word())
	if err != nil {
		t.Fatal(err)
	}
	shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
		if out, stderr, code := runArgument(t, sh, script.String(), environment()); out != "<6443>" || stderr != "" || code != 0 {
			t.Errorf("status %d, %q, %q", code, out, stderr)
		}
	})
}

// TestAssignFails: a command that fails stops the script, whatever it printed
// and wherever it failed.
func TestAssignFails(t *testing.T) {
	for name, command := range map[string]Shell{
		"alone":                Lit("false"),
		"before a success":     Lit("false\nprintf x"),
		"after output":         Lit("printf x\nfalse"),
		"behind a semicolon":   Lit("printf x; false"),
		"in an and-list":       Lit("printf ax && false && true"),
		"in an or-list":        Lit("printf ax; false || false"),
		"exit":                 Lit("printf ax; exit 3"),
		"in a function":        Lit("fails() { printf ax\nfalse\nprintf x\n}\nfails"),
		"in a subshell":        Lit("( printf ax; false )"),
		"in a group":           Lit("{ printf ax; false; }"),
		"a negation":           Lit("printf ax; ! true"),
		"at the end of a pipe": Lit("printf ax | { cat; false; }"),
		"a missing program":    Lit("no-such-program-here 2>/dev/null"),
		"an unset variable":    Lit("printf ax; : \"$APP_NOT_SET\" 2>/dev/null"),
		"a signal":             Lit("printf ax; sh -c 'kill -9 $$' 2>/dev/null"),
	} {
		for form, v := range map[string]Variable{"Any": Live("APP_TEXT", Any), "Chars": Live("APP_TEXT", Chars("ax"))} {
			after := Join(Lit("echo LEAKED "), v.Word(), Lit("\n"))
			whole := []Shell{Assign(v, command), after}
			called := []Shell{Lit("f() {\n"), Assign(v, command), after, Lit("}\nif f; then echo LEAKED; fi\n")}
			for place, parts := range map[string][]Shell{"": whole, "in a function of a condition": called} {
				if place != "" && (name == "before a success" || name == "in a function") {
					continue // a success comes last: see Assign
				}
				script, err := Program(parts...)
				if err != nil {
					t.Fatal(err)
				}
				shelltest.Each(t, func(t *testing.T, sh shelltest.Shell) {
					out, stderr, code := runFile(t, sh, script.String(), environment("APP_TEXT=LEAKED"))
					if out != "" || code == 0 {
						t.Errorf("%s %s, %s: status %d, %q, %q", name, place, form, code, out, stderr)
					}
				})
			}
		}
	}
}
