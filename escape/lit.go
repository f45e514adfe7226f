package escape

import "strings"

// constant is the type that only an untyped constant becomes without a
// conversion, since nobody outside this package can name it.
type constant string

// Lit is source that the programmer writes: a string constant of the calling
// program, never a variable, which does not compile.
//
// A literal must be closed: at its end, as at its start, the shell reads
// plain source. It may end within a simple command, a list, an open {, (, if,
// while, for, case or function body. It may not
//
//   - leave '…', "…", ${…}, $(…) or $((…)) open, or end in a comment without
//     its newline, in a backslash or in a $;
//   - hold << (only [Heredoc] writes here-documents), a backquote (write
//     $(…)), $'…', $"…" or $[…] (they differ between shells), ((, a ( within a word but f(), case within
//     $(…) (call a function there), a quote or backslash within ${…}, or NUL.
//
// $(…) around a [Word] is what [Assign] is for. A literal that breaks a rule is
// an error that the piece carries.
func Lit(s constant) Shell {
	if i := strings.IndexByte(string(s), 0); i >= 0 {
		return failed(nul("literal", i))
	}
	lex := lexer{s: string(s)}
	lex.plain(false)
	if lex.err != nil {
		return failed(lex.err)
	}
	if s == "" {
		return Shell{}
	}
	text := string(s)
	piece := Shell{segments: []segment{{kind: source, text: text}}, end: lex.end}
	if i := lex.skipContinuations(0); i < len(text) {
		piece.first = text[i]
	}
	return piece
}

// lexer reads shell source far enough to know where quoting begins and ends.
// It refuses what shells read differently.
type lexer struct {
	s   string
	i   int
	err *Error
	end seam
}

func (l *lexer) fail(offset int, reason, fix string) {
	if l.err == nil {
		l.err = &Error{Place: "literal", Offset: offset, Reason: reason, Fix: fix}
	}
	l.i = len(l.s)
}

func (l *lexer) skipContinuations(i int) int {
	for strings.HasPrefix(l.s[i:], "\\\n") {
		i += 2
	}
	return i
}

// plain reads commands, to the end of the literal or, in a command
// substitution, over the parenthesis that closes it.
func (l *lexer) plain(substitution bool) {
	opened := l.i
	depth := 0
	l.end = seam{}
	for l.i < len(l.s) {
		at := l.i
		c := l.s[at]
		inWord := l.end.inWord
		if c == '\\' {
			if at+1 == len(l.s) {
				l.fail(at, "ends in a backslash, which would quote the next piece's first byte", "close it with what it is to quote")
				return
			}
			l.i += 2
			if l.s[at+1] != '\n' {
				l.end = seam{inWord: true}
			}
			continue
		}
		after := byte(0) // the byte that the shell reads next
		if n := l.skipContinuations(at + 1); n < len(l.s) {
			after = l.s[n]
		}
		l.end = seam{inWord: true}
		switch c {
		case '\'':
			n := strings.IndexByte(l.s[at+1:], '\'')
			if n < 0 {
				l.fail(at, "a single quote is left open", "close it; untrusted text goes through Word")
				return
			}
			l.i = at + n + 2
		case '"':
			l.double()
		case '`':
			l.fail(at, "a backquote", "write $( )")
		case '$':
			l.dollar(false)
			l.end = seam{inWord: true}
		case '#':
			if inWord {
				l.i++
				break
			}
			n := strings.IndexByte(l.s[at:], '\n')
			if n < 0 {
				l.fail(at, "a comment is left open", "end it with a newline")
				return
			}
			l.i = at + n
			l.end = seam{}
		case '<':
			if after == '<' {
				l.fail(at, "<<", "use Heredoc or HeredocQuoted")
				return
			}
			l.end = seam{less: true}
			l.i++
		case '(':
			if after == '(' {
				l.fail(at, "((, which is arithmetic in some shells and two subshells in others", "put a blank between them, or use $(( ))")
				return
			}
			if (inWord || at > 0 && (l.s[at-1] == '<' || l.s[at-1] == '>')) && after != ')' {
				l.fail(at, "a ( that is part of a word or a redirection, which is no POSIX shell", "put a blank before it when a subshell is meant")
				return
			}
			depth++
			l.end = seam{bracket: true}
			l.i++
		case ')':
			l.end = seam{}
			l.i++
			if substitution {
				if depth == 0 {
					return
				}
				depth--
			}
		case ' ', '\t', '\n', ';', '&', '|', '>':
			l.end = seam{}
			l.i++
		default:
			if substitution && !inWord && l.keyword("case") {
				l.fail(at, "case within $( )", "put it into a function and call that")
				return
			}
			l.i++
		}
	}
	if substitution {
		l.fail(opened-2, "$( is left open", "use Assign")
	}
}

func (l *lexer) keyword(k string) bool {
	rest, ok := strings.CutPrefix(l.s[l.i:], k)
	return ok && (rest == "" || strings.IndexByte(" \t\n\\;&|<>()\"'$", rest[0]) >= 0)
}

func (l *lexer) double() {
	opened := l.i
	l.i++
	for l.i < len(l.s) {
		switch l.s[l.i] {
		case '"':
			l.i++
			return
		case '\\':
			l.i += 2
		case '$':
			l.dollar(true)
		case '`':
			l.fail(l.i, "a backquote", "write $( ), or a backslash before it for the character")
		default:
			l.i++
		}
	}
	l.fail(opened, "a double quote is left open", "close it; untrusted text goes through Word, a variable's value through Variable.Word")
}

func (l *lexer) dollar(quoted bool) {
	at := l.i
	if at+1 == len(l.s) {
		l.fail(at, "ends in $, which would join the next piece's first byte", `write \$ for the character`)
		return
	}
	switch c := l.s[at+1]; {
	case c == '(':
		if at+2 < len(l.s) && l.s[at+2] == '(' {
			l.arithmetic()
			return
		}
		l.i = at + 2
		l.plain(true)
	case c == '{':
		l.parameter()
	case isNameByte(c), strings.IndexByte("@*#?-$!", c) >= 0:
		l.i = at + 2
	case quoted && strings.IndexByte("\" \t\n", c) >= 0:
		l.i = at + 1
	default:
		l.fail(at, "a $ that shells read differently", `write $NAME, ${NAME}, $( ), $(( )), or \$ for the character`)
	}
}

// parameter reads ${…}. Quotes and backslashes within it differ between
// shells (measured in bash 5.0, dash 0.5.12, posh 0.14.1, ksh93u+m, zsh 5.9).
func (l *lexer) parameter() {
	opened := l.i
	l.i += 2
	if l.i < len(l.s) && !isNameByte(l.s[l.i]) && strings.IndexByte("@*#?-$!", l.s[l.i]) < 0 {
		l.fail(opened, "${ is not followed by a name", "write ${NAME}")
		return
	}
	l.i++
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case '}':
			l.i++
			return
		case '$':
			l.dollar(true)
		case '\'', '"', '\\', '`', '{', '\n', '<':
			l.fail(l.i, "a quote, backslash, backquote, brace, newline or < within ${ }", "set a variable first and use that")
		default:
			l.i++
		}
	}
	l.fail(opened, "${ is left open", "close it")
}

func (l *lexer) arithmetic() {
	opened := l.i
	l.i += 3
	depth := 0
	for l.i < len(l.s) {
		c := l.s[l.i]
		switch {
		case c == '(':
			depth++
			l.i++
		case c == ')' && depth > 0:
			depth--
			l.i++
		case c == ')':
			if !strings.HasPrefix(l.s[l.i:], "))") {
				l.fail(opened, "$(( without ))", "put a blank after $( when a subshell is meant")
				return
			}
			l.i += 2
			return
		case c == '$':
			if l.i+1 < len(l.s) && l.s[l.i+1] == '(' {
				l.fail(l.i, "$( within $(( ))", "set a variable first and use that")
				return
			}
			l.dollar(true)
		case isNameByte(c), strings.IndexByte(" \t+-*/%<>=!&|^~?:,", c) >= 0:
			l.i++
		default:
			l.fail(l.i, "a character that is no part of POSIX arithmetic", "set a variable first and use that")
		}
	}
	l.fail(opened, "$(( is left open", "close it")
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
