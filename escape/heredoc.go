package escape

import (
	"fmt"
	"strings"
)

// Part is a part of the body of an unquoted here-document: [Text], a live
// [Variable], or [Variable.YAML].
type Part interface {
	part() part
}

type part struct {
	text     string
	variable Variable
	live     bool
	yaml     bool
	errs     []*Error
}

type text string

func (t text) part() part { return part{text: string(t)} }

// Text is literal text of a here-document's body. Every byte stays itself
// through the shell, $, backquote and backslash too. NUL is refused, and so is
// 0x01, which bash 4.4 drops from an unquoted here-document together with the
// meaning of the backslash behind it.
func Text(s string) Part { return text(s) }

// Heredoc is the command cmd with a here-document as its standard input: the
// parts of the body, one behind the other. Values of live variables are put in
// by the shell and are not scanned again.
//
// A here-document is empty or ends in a newline; a body that does neither is an
// error, not a body with a newline more. The error names all that is wrong with
// cmd and the body; the piece that comes with it carries the same.
//
// Where the shell keeps the body: dash and busybox in a pipe; bash 5.1 and later in a
// pipe up to 65536 bytes after expansion; the others, and a larger body, in a
// file, in $TMPDIR or /tmp. A container with a read-only root file system
// needs a writable /tmp.
func Heredoc(cmd Shell, body ...Part) (Shell, error) {
	errs := command(cmd)
	var uses []segment
	size := 0
	for _, b := range body {
		if t, ok := b.(text); ok {
			size += len(t) + len(t)/8
		}
	}
	out := make([]byte, 0, size+64)
	for i, b := range body {
		path := fmt.Sprintf("body[%d]", i)
		if v, pointer := b.(*Variable); b == nil || pointer && v == nil {
			errs = append(errs, &Error{Path: path, Place: "heredoc", Offset: -1, Reason: "a nil Part", Fix: "use Text, or leave it out"})
			continue
		}
		p := b.part()
		errs = append(errs, under(path, p.errs)...)
		if p.live {
			uses = append(uses, segment{kind: use, variable: p.variable, yaml: p.yaml})
			if p.yaml {
				out = append(out, "${"+yamlVariable(p.variable.name)+"}"...)
			} else {
				out = append(out, "${"+p.variable.name+"}"...)
			}
			continue
		}
		if i := strings.IndexByte(p.text, 0); i >= 0 {
			errs = append(errs, under(path, []*Error{nul("heredoc", i)})...)
		}
		if i := strings.IndexByte(p.text, 1); i >= 0 {
			errs = append(errs, &Error{Path: path, Place: "heredoc", Offset: i, Reason: "byte 0x01 cannot stand in an unquoted here-document: bash 4.4 drops it and the escape behind it",
				Fix: "use HeredocQuoted or Word"})
		}
		out = AppendHeredoc(out, p.text)
	}
	// The last byte is a newline in the script exactly when it is one in the
	// last text: no escape and no live variable ends in one.
	if len(out) > 0 && out[len(out)-1] != '\n' {
		errs = append(errs, unfinished())
	}
	return place(cmd, uses, out, false, errs)
}

// HeredocQuoted is the command cmd with body as its standard input, by a
// here-document with a quoted delimiter: nothing in the body is expanded, and
// it stands in the script as it is. It carries every byte but NUL. A body that
// is not empty and does not end in a newline is an error.
//
// In a locale in which the body is not valid text, yash 2.52 and (without the
// LC_ALL=C that [Program] writes) ksh93u+m fail.
func HeredocQuoted(cmd Shell, body string) (Shell, error) {
	errs := command(cmd)
	if i := strings.IndexByte(body, 0); i >= 0 {
		errs = append(errs, under("body", []*Error{nul("heredoc", i)})...)
	}
	if body != "" && body[len(body)-1] != '\n' {
		errs = append(errs, unfinished())
	}
	return place(cmd, nil, []byte(body), true, errs)
}

// AppendHeredoc appends s to dst as it stands in the body of an unquoted
// here-document: a backslash before each backslash, $ and backquote. It does
// not allocate when dst has room. It does not refuse what [Text] refuses.
//
// What it writes is safe only where the shell reads bytes: behind LC_ALL=C and
// export LC_ALL, as [Program] writes them. In a Shift-JIS or GBK locale a byte of
// s may take the backslash behind it into a character.
func AppendHeredoc(dst []byte, s string) []byte { return heredocBody.append(dst, s) }

// All three are needed, each time: zsh 5.9 expands $= and $^, bash and zsh $[.
// Nothing else may have one: \" keeps its backslash.
var heredocBody = newPrefixing('\\', "\\$`")

// command checks what stands before <<.
func command(cmd Shell) []*Error {
	errs := under("cmd", cmd.errs)
	bad := func(reason, fix string) {
		errs = append(errs, &Error{Path: "cmd", Place: "heredoc", Offset: -1, Reason: reason, Fix: fix})
	}
	switch last := cmd.end.last; {
	case len(cmd.errs) > 0:
	case last == 0:
		bad("no command", "write the command that reads the here-document")
	case last == '\n':
		bad("the command ends in a newline", "leave the newline out: the here-document belongs to the command's own line")
	case strings.IndexByte(";&|(<>", last) >= 0:
		bad(fmt.Sprintf("the command ends in %q", last), "end it with the command that reads the here-document")
	case cmd.end.reserved || cmd.end.begins != no && last == 'w':
		bad("the command ends in a word such as then, behind which a command begins", "end it with the command that reads the here-document")
	}
	return errs
}

func unfinished() *Error {
	return &Error{Path: "body", Place: "heredoc", Offset: -1, Reason: "the body does not end in a newline, which no here-document can express",
		Fix: `end it with Text("\n"), or give the bytes to printf %s as a Word`}
}

// place writes the command, the body and the delimiter.
func place(cmd Shell, uses []segment, body []byte, quoted bool, errs []*Error) (Shell, error) {
	delim, ok := delimiter(body)
	if !ok {
		errs = append(errs, &Error{Path: "body", Place: "heredoc", Offset: -1, Reason: "no delimiter is safe in every shell: for each letter a line is that letter and backslashes",
			Fix: "give the bytes to printf %s as a Word"})
	}
	if len(errs) > 0 {
		return Shell{errs: errs}, together(errs)
	}
	open, end := " <<"+delim+"\n", delim+"\n"
	if quoted {
		open = " <<'" + delim + "'\n"
	}
	var doc strings.Builder
	doc.Grow(len(open) + len(body) + len(end))
	doc.WriteString(open)
	doc.Write(body)
	doc.WriteString(end)
	s := Shell{first: cmd.first, end: seam{begins: yes, last: '\n'}, closes: cmd.closes, opens: cmd.opens, unfit: cmd.unfit}
	s.segments = append(s.segments, cmd.segments...)
	s.segments = append(s.segments, uses...)
	s.segments = append(s.segments, segment{kind: document, text: doc.String()})
	return s, nil
}
