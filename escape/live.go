package escape

import (
	"fmt"
	"strings"
)

// Variable is a variable of the script that gets its value at run time: from
// the environment, or by [Assign]. Its value is checked by the script before
// the first use. It is a [Part] of a here-document's body. The zero value is an
// error wherever it is used.
type Variable struct {
	name string
	form Form
}

// Live is the variable name, whose value must have the form. The name is
// letters, digits and underscores, and none that a shell or this package's
// scripts use themselves. A wrong name or the zero Form is an error wherever
// the variable is used.
//
// A form does not make a value a string to YAML. Bare, the DNS name null is
// nothing, the base64 1e50 and the token 123456.1234567890123456 are numbers,
// and - fd00:: begins a mapping: in YAML, write double quotes around the
// variable. No form but [Any] and [Chars] takes a double quote or a backslash.
func Live(name string, form Form) Variable { return Variable{name, form} }

// Name is the variable's name.
func (v Variable) Name() string { return v.name }

// problems says what is wrong with the variable.
func (v Variable) problems() []*Error {
	var errs []*Error
	if reason, fix := refusedName(v.name); reason != "" {
		errs = append(errs, &Error{Place: "live", Name: v.name, Offset: -1, Reason: reason, Fix: fix})
	}
	if e := v.form.problem(); e != nil {
		e.Name = v.name
		errs = append(errs, e)
	}
	return errs
}

func (v Variable) part() part {
	errs := v.problems()
	if len(errs) == 0 && v.form == Any {
		errs = append(errs, &Error{Place: "live", Name: v.name, Offset: -1, Reason: "a value of form Any cannot stand bare in a document: it may hold a newline",
			Fix: "use its YAML method, or a narrower form"})
	}
	return part{variable: v, live: true, errs: errs}
}

// Word is the value as one word of a command: "${NAME}". For a command that
// evaluates its arguments, see [Word].
func (v Variable) Word() Shell {
	return Shell{
		segments: []segment{{kind: use, variable: v}, {kind: source, text: `"${` + v.name + `}"`}},
		errs:     v.problems(),
		first:    '"',
		end:      seam{inWord: true, name: true, begins: no, last: 'w'},
	}
}

// YAML is the value as a YAML double-quoted scalar, quotes included, written
// by the script itself at run time. It must be the whole scalar: within quotes,
// or beside other text, the value could end it and say what follows. Any value
// can stand in YAML so; one that is not UTF-8 stops the script with a message.
// The script needs sed for it. Where printf is no builtin (mksh R59c and posh
// 0.14.1), a value of more than [MaxArgument] bytes stops it too, in the same way.
func (v Variable) YAML() Part { return yamlPart{v} }

type yamlPart struct{ v Variable }

func (y yamlPart) part() part {
	return part{variable: y.v, live: true, yaml: true, errs: y.v.problems()}
}

// Assign sets v to what cmd prints, and checks the form right after. The
// newlines at its end belong to a value of form [Any]; for any other form they
// are left out, as $( ) does. A NUL that cmd prints is lost in every shell but
// zsh, since no other variable holds one.
//
// When cmd fails, the script stops. In cmd, as in the script, the first command
// that fails ends it; within a function that a condition calls (if f, f || …)
// only the last one counts, since set -e has no effect there. cmd may not hold a
// here-document: posh 0.14.1 cannot read one within $( ).
//
// [Program] takes v for computed here instead of required from the
// environment; a use before this place is an error.
func Assign(v Variable, cmd Shell) Shell {
	errs := v.problems()
	errs = append(errs, under("cmd", cmd.errs)...)
	if cmd.end.last == 0 && len(cmd.errs) == 0 {
		errs = append(errs, &Error{Path: "cmd", Place: "assign", Name: v.name, Offset: -1, Reason: "no command", Fix: "write the command that prints the value"})
	}
	if cmd.holds(document) {
		errs = append(errs, &Error{Path: "cmd", Place: "assign", Name: v.name, Offset: -1, Reason: "a here-document within $( ), which not every shell can read", Fix: "put it into a function before this, and call that"})
	}
	if cmd.holds(assigned) {
		errs = append(errs, &Error{Path: "cmd", Place: "assign", Name: v.name, Offset: -1, Reason: "an Assign within $( ), whose variable is gone at its end", Fix: "put it before this"})
	}
	if e := cmd.unfit; e != nil {
		errs = append(errs, under("cmd", []*Error{e})...)
	}
	if cmd.closes > 0 || cmd.opens > 0 {
		errs = append(errs, &Error{Path: "cmd", Place: "assign", Name: v.name, Offset: -1, Reason: "parentheses that are not balanced, such as the ) of a pattern of case", Fix: "put a case into a function before this, and call that"})
	}
	s := Shell{errs: errs, first: 'A', assigns: true, end: seam{begins: yes, last: '\n'}}
	// set -e within $( ): bash 5.2 switches it off there. The last line: set -e
	// has no effect in a function that a condition calls.
	begin, kept, end := v.name+"=$(set -e\n", "", "\n)\n[ $? -eq 0 ] || exit 1\n"
	if v.form == Any {
		// An x behind the value keeps the newlines that $( ) takes away. cmd has
		// a subshell of its own, so that the x comes behind an exit 0 too.
		begin += "(set -e\n"
		kept = "\n)\n" + ownPrefix + "status=$?\necho x\nexit \"$" + ownPrefix + "status\""
		end += v.name + "=${" + v.name + "%x}\n"
	}
	s.segments = append(s.segments, segment{kind: source, text: begin})
	s.segments = append(s.segments, cmd.segments...)
	s.segments = append(s.segments, segment{kind: source, text: kept + end}, segment{kind: assigned, variable: v})
	return s
}

// refusedName says why a name cannot be a live variable's.
func refusedName(name string) (reason, fix string) {
	if name == "" {
		return "no name", "use Live"
	}
	for i := range len(name) {
		if c := name[i]; !isNameByte(c) || i == 0 && '0' <= c && c <= '9' {
			return "not a variable's name", "letters, digits and underscores, no digit first"
		}
	}
	if len(name) > 200 {
		return fmt.Sprintf("a name of %d bytes", len(name)), "at most 200"
	}
	if strings.HasPrefix(name, ownPrefix) {
		return "a name that the emitted script uses itself", "choose one that does not begin with " + ownPrefix
	}
	for _, prefix := range reservedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return "a name that shells or programs give a meaning of their own", "choose one that does not begin with " + prefix
		}
	}
	if reservedNames[name] {
		return "a name that shells or programs give a meaning of their own", "choose a longer one, such as APP_" + strings.ToUpper(name)
	}
	return "", ""
}

// ownPrefix begins every function and variable that the emitted script defines
// for itself.
const ownPrefix = "mirrorpatch_"
