package escape

import (
	"regexp"
	"slices"
	"strings"
)

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
//     $(…)), $'…', $"…", $[…] or [[ (they differ between shells), ((, a ( within
//     a word but f(), a quote or backslash within ${…}, a ${…} that is not
//     POSIX (bash runs what the value of NAME says for ${NAME@P}), NUL, or, outside of
//     quotes and comments, a byte that is not printable ASCII;
//   - hold >& or <& but with digits or - right behind, and then a blank or an
//     operator: bash 5.2 expands any other target twice, quoted or not;
//   - hold a # within a word or right behind < or >, or a [ behind a name, a
//     quote or an expansion (a subscript in bash, ksh93u+m, mksh and zsh);
//   - hold the words alias, emulate, setopt, shopt or unsetopt, which change how
//     the shell reads what comes next;
//   - within $(…), hold case (call a function there), a parenthesis within
//     ${…}, a line continuation within a word, or a comment with a quote, a
//     parenthesis, a backslash, a backquote or a $, which posh 0.14.1 cannot read;
//   - end in NAME= and more of that word, where NAME is a variable that a shell
//     evaluates, such as SECONDS.
//
// $(…) around a [Word] is what [Assign] is for. A literal that breaks a rule is
// an error that the piece carries. What stands behind a ~ or a zsh =command at
// the end of a literal is checked when the pieces are put together.
//
// The name of a type parameter, reflect and unsafe get around the constant type:
// allow Lit and [Chars] only where they are called, as this module's tests do.
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
	piece := Shell{segments: []segment{{kind: source, text: text}}, end: lex.end, closes: lex.closes, opens: lex.opens, unfit: lex.unfit}
	if i := lex.skipContinuations(0); i < len(text) {
		piece.first = text[i]
	}
	return piece
}

// lexer reads shell source far enough to know where quoting begins and ends.
// It refuses what shells read differently.
type lexer struct {
	s      string
	i      int
	err    *Error
	end    seam
	closes int // parentheses that are closed and were not opened
	opens  int // parentheses that are left open
	unfit  *Error
}

func (l *lexer) fail(offset int, reason, fix string) {
	if l.err == nil {
		l.err = &Error{Place: "literal", Offset: offset, Reason: reason, Fix: fix}
	}
	l.i = len(l.s)
}

// inSubstitution refuses what cannot stand within $( ): at once, or when the
// literal becomes a part of what Assign puts there.
func (l *lexer) inSubstitution(now bool, offset int, reason, fix string) {
	if now {
		l.fail(offset, reason, fix)
	} else if l.unfit == nil {
		l.unfit = &Error{Place: "literal", Offset: offset, Reason: reason, Fix: fix}
	}
}

func (l *lexer) skipContinuations(i int) int {
	for strings.HasPrefix(l.s[i:], "\\\n") {
		i += 2
	}
	return i
}

// next is the byte that the shell reads behind the byte at i, or 0.
func (l *lexer) next(i int) byte {
	if n := l.skipContinuations(i + 1); n < len(l.s) {
		return l.s[n]
	}
	return 0
}

// changing are the commands that change how a shell reads what comes next.
var changing = []string{"alias", "emulate", "setopt", "shopt", "unsetopt"}

// delimits tells whether c ends a word.
func delimits(c byte) bool { return strings.IndexByte(" \t\n;&|<>()", c) >= 0 }

// plain reads commands, to the end of the literal or, in a command
// substitution, over the parenthesis that closes it.
func (l *lexer) plain(substitution bool) {
	opened := l.i
	depth := 0
	start := l.i // of the word that is being read
	begins := asBefore
	last := byte(0)
	l.end = seam{}
	for l.i < len(l.s) {
		at := l.i
		c := l.s[at]
		before := l.end
		if c == '\\' && at+1 < len(l.s) && l.s[at+1] == '\n' {
			if before.inWord {
				l.inSubstitution(substitution, at, "a line continuation within a word in $( )", "write the word in one line")
				if l.err != nil {
					return
				}
			}
			l.i += 2
			continue
		}
		if !before.inWord {
			start = at
		}
		after := l.next(at)
		if delimits(c) {
			if before.inWord && !slices.Contains(reservedWords, l.unfolded(start, at)) {
				begins = no
			}
			if c != ' ' && c != '\t' {
				last = c
				if c != '<' && c != '>' {
					begins = yes
				}
			}
			l.end = seam{}
			l.i++
		} else {
			last = 'w'
			l.end = seam{inWord: true, prefix: before.prefix, equals: before.equals}
		}
		switch c {
		case '\'':
			n := strings.IndexByte(l.s[at+1:], '\'')
			if n < 0 {
				l.fail(at, "a single quote is left open", "close it; untrusted text goes through Word")
				return
			}
			l.i = at + n + 2
			l.end.name = true
		case '"':
			word := l.end
			l.double(substitution)
			l.end = word
			l.end.name = true
		case '`':
			l.fail(at, "a backquote", "write $( )")
		case '$':
			word := l.end
			l.dollar(false, substitution)
			l.end = word
			l.end.name = true
		case '\\':
			if at+1 == len(l.s) {
				l.fail(at, "ends in a backslash, which would quote the next piece's first byte", "close it with what it is to quote")
				return
			}
			if !isGraphic(l.s[at+1]) && l.s[at+1] != ' ' && l.s[at+1] != '\t' {
				l.fail(at+1, unprintable, "put it in quotes")
				return
			}
			l.i += 2
			l.end.name = true
		case '#':
			switch {
			case before.redirect:
				l.fail(at, "a # right behind a redirection, where shells disagree on what it is", "put a blank before it when a comment is meant, and quote it when a file is")
				return
			case before.inWord:
				l.fail(at, "a # within a word", "quote it when the character is meant, and put a blank before it when a comment is")
				return
			}
			n := strings.IndexByte(l.s[at:], '\n')
			if n < 0 {
				l.fail(at, "a comment is left open", "end it with a newline")
				return
			}
			if strings.ContainsAny(l.s[at:at+n], "'\"`()$\\") {
				l.inSubstitution(substitution, at, "a comment with a quote, a parenthesis, a backslash, a backquote or a $ in $( )", "leave the character out, or put the comment elsewhere")
				if l.err != nil {
					return
				}
			}
			l.i = at + n
			l.end = seam{}
		case '<', '>':
			if after == '<' && c == '<' {
				l.fail(at, "<<", "use Heredoc or HeredocQuoted")
				return
			}
			l.end = seam{less: c == '<', redirect: true}
			if after == '&' {
				if !l.duplicate(at) {
					return
				}
				last = 'w'
			}
		case '|':
			l.end.redirect = before.redirect // >|
		case '(':
			if after == '(' {
				l.fail(at, "((, which is arithmetic in some shells and two subshells in others", "put a blank between them, or use $(( ))")
				return
			}
			if before.redirect || before.inWord && after != ')' {
				l.fail(at, "a ( that is part of a word or a redirection, which is no POSIX shell", "put a blank before it when a subshell is meant")
				return
			}
			depth++
			l.end.bracket = true
		case ')':
			if depth > 0 {
				depth--
			} else if substitution {
				return
			} else {
				l.closes++
			}
		case ' ', '\t', '\n', ';', '&':
		case '[':
			if before.name {
				l.fail(at, "a [ behind a name, a quote or an expansion, which is a subscript in some shells", "quote it")
				return
			}
			if !before.inWord && after == '[' {
				if n := l.skipContinuations(l.skipContinuations(at+1) + 1); n == len(l.s) || delimits(l.s[n]) {
					l.fail(at, "[[, which is no POSIX shell", "use [ ] or case")
					return
				}
			}
			l.i++
		default:
			if !isGraphic(c) {
				l.fail(at, unprintable, "put it in quotes")
				return
			}
			if !before.inWord {
				if l.keyword("case") {
					l.inSubstitution(substitution, at, "case within $( )", "put it into a function and call that")
					if l.err != nil {
						return
					}
				}
				for _, command := range changing {
					if l.keyword(command) {
						l.fail(at, command+", which changes how the shell reads what comes next", "write a function, or quote the word where it is data")
						return
					}
				}
			}
			switch {
			case c == '=' && l.skipContinuations(0) == at:
				l.end.equals = true
			case c == '~', c == '=' && (!before.inWord || before.separated):
				l.end.prefix = true
			case c == '/':
				l.end.prefix, l.end.equals = false, false
			case isNameByte(c), c == '}':
				l.end.name = true
			}
			l.end.separated = c == '=' || c == ':'
			l.i++
		}
	}
	if substitution {
		l.fail(opened-2, "$( is left open", "use Assign")
		return
	}
	l.opens = depth
	l.end.begins, l.end.last = begins, last
	if l.end.inWord {
		word := l.unfolded(start, len(l.s))
		l.end.reserved = begins != no && slices.Contains(reservedWords, word)
		if !l.end.reserved {
			l.end.begins = no
		}
		if name, _, ok := strings.Cut(word, "="); ok && evaluated(strings.TrimSuffix(name, "+")) {
			l.fail(start, "ends within an assignment to a variable that shells evaluate", "use a name of your own, or end the literal with a newline when the value is whole")
		}
	}
}

const unprintable = "a byte that is not printable ASCII outside of quotes"

func isGraphic(c byte) bool { return ' ' < c && c < 0x7f }

// unfolded is the source from i to j without its line continuations.
func (l *lexer) unfolded(i, j int) string { return strings.ReplaceAll(l.s[i:j], "\\\n", "") }

// duplicate reads >& or <& with its target, which is constant.
func (l *lexer) duplicate(at int) bool {
	i := l.skipContinuations(l.skipContinuations(at+1) + 1)
	n := i
	for n < len(l.s) && '0' <= l.s[n] && l.s[n] <= '9' {
		n = l.skipContinuations(n + 1)
	}
	if n == i && n < len(l.s) && l.s[n] == '-' {
		n = l.skipContinuations(n + 1)
	}
	if n == i || n < len(l.s) && !delimits(l.s[n]) {
		l.fail(at, "a target of "+l.s[at:at+1]+"& that is not digits or -, which bash expands twice", "write the number right behind it, or a file behind > and 2>&1")
		return false
	}
	l.i = n
	l.end = seam{target: true}
	return true
}

func (l *lexer) keyword(k string) bool {
	rest, ok := strings.CutPrefix(l.s[l.i:], k)
	return ok && (rest == "" || strings.IndexByte(" \t\n\\;&|<>()\"'$", rest[0]) >= 0)
}

func (l *lexer) double(substitution bool) {
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
			l.dollar(true, substitution)
		case '`':
			l.fail(l.i, "a backquote", "write $( ), or a backslash before it for the character")
		default:
			l.i++
		}
	}
	l.fail(opened, "a double quote is left open", "close it; untrusted text goes through Word, a variable's value through Variable.Word")
}

func (l *lexer) dollar(quoted, substitution bool) {
	at := l.i
	if at+1 == len(l.s) {
		l.fail(at, "ends in $, which would join the next piece's first byte", `write \$ for the character`)
		return
	}
	switch c := l.s[at+1]; {
	case c == '(':
		if at+2 < len(l.s) && l.s[at+2] == '(' {
			l.arithmetic(substitution)
			return
		}
		l.i = at + 2
		l.plain(true)
	case c == '{':
		l.parameter(substitution)
	case isNameByte(c), strings.IndexByte("@*#?-$!", c) >= 0:
		l.i = at + 2
	case quoted && strings.IndexByte("\" \t\n", c) >= 0:
		l.i = at + 1
	default:
		l.fail(at, "a $ that shells read differently", `write $NAME, ${NAME}, $( ), $(( )), or \$ for the character`)
	}
}

// What ${ } may have beside a name is what POSIX has. bash runs the commands in
// the value of NAME for ${NAME@P}, and in a subscript or an offset that comes
// from a variable.
var (
	parameterName  = regexp.MustCompile(`^(#?[0-9A-Za-z_]+|#[@*]|[@*#?$!-])`)
	afterParameter = regexp.MustCompile("^(:?[-=?+]|[#%}]|[\n'\"\\\\`{<])")
)

// parameter reads ${…}. Quotes and backslashes within it differ between
// shells (measured in bash 5.0, dash 0.5.12, posh 0.14.1, ksh93u+m, zsh 5.9).
func (l *lexer) parameter(substitution bool) {
	opened := l.i
	l.i += 2
	name := parameterName.FindString(l.s[l.i:])
	if name == "" && l.i < len(l.s) {
		l.fail(opened, "${ is not followed by a name", "write ${NAME}")
		return
	}
	l.i += len(name)
	if l.i < len(l.s) && !afterParameter.MatchString(l.s[l.i:]) || strings.HasPrefix(name, "#") && l.i < len(l.s) && l.s[l.i] != '}' {
		l.fail(opened, "a ${ } that is no POSIX shell", "write ${NAME}, ${#NAME}, or one of - = ? + # % behind the NAME")
		return
	}
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case '}':
			l.i++
			return
		case '$':
			l.dollar(true, substitution)
		case '\'', '"', '\\', '`', '{', '\n', '<':
			l.fail(l.i, "a quote, backslash, backquote, brace, newline or < within ${ }", "set a variable first and use that")
		case '(', ')':
			l.inSubstitution(substitution, l.i, "a parenthesis within ${ } in $( )", "set a variable first and use that")
			l.i++
		default:
			l.i++
		}
	}
	l.fail(opened, "${ is left open", "close it")
}

func (l *lexer) arithmetic(substitution bool) {
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
			l.dollar(true, substitution)
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
