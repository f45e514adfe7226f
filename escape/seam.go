package escape

import "strings"

// seam is what a piece's end does to the first byte of the next one.
type seam struct {
	inWord   bool // a # here would be part of a word
	less     bool // a < here would make <<
	redirect bool // a &, ( or # here belongs to a redirection in some shell
	bracket  bool // a ( here would make ((
	target   bool // what stands here is part of the target of >& or <&
	prefix   bool // within ~name or =name, which shells expand, also when the next piece quotes its part of the name
	name     bool // a [ here may begin a subscript

	// A = begins a =name at the start of a word and behind another = or a colon.
	separated bool // behind such a byte
	equals    bool // the piece is such a =, if the piece before allows it

	begins   position
	reserved bool // within a word such as then, behind which a command begins
	last     byte // the last byte but blanks: an operator, or w for a word; 0 is none
}

// position tells whether a command can begin behind a piece.
type position int

const (
	asBefore position = iota // when it can before the piece
	no
	yes
)

// reservedWords are the words behind which a command begins.
var reservedWords = []string{"then", "do", "else", "elif", "if", "while", "until", "!", "{"}

// behind is the seam of a piece that stands behind another one.
func (s seam) behind(before seam) seam {
	if s.begins == asBefore {
		s.begins = before.begins
		if before.inWord && !before.reserved {
			s.begins = no
		}
	}
	if s.begins == no {
		s.reserved = false
	}
	if s.last == 0 {
		s.last = before.last
	}
	if s.equals {
		s.prefix = !before.inWord || before.separated
		s.equals = false
	}
	return s
}

// clash says what is wrong with a piece that begins with first behind this end.
func (s seam) clash(first byte) *Error {
	bad := func(reason, fix string) *Error {
		return &Error{Place: "literal", Offset: 0, Reason: reason, Fix: fix}
	}
	switch {
	case first == 0:
		return nil
	case first == '#' && s.redirect:
		return bad("a # right behind a redirection, where shells disagree on what it is", "put a blank before it")
	case first == '#' && s.inWord:
		return bad("a # at its start is no comment here, since the piece before it ends in a word", "begin the literal with a newline or a blank")
	case first == '<' && s.less:
		return bad("makes << with the piece before it", "use Heredoc")
	case first == '&' && s.redirect:
		return bad("makes >& or <& with the piece before it", "write it and its number in one literal")
	case first == '(' && (s.inWord || s.redirect):
		return bad("a ( at its start becomes part of the word or redirection before it", "put a blank between them, or write f() in one literal")
	case first == '(' && s.bracket:
		return bad("makes (( with the piece before it, which is arithmetic in some shells", "put a blank between them")
	case first == '[' && s.inWord:
		return bad("a [ at its start becomes part of the word before it, and a subscript in some shells", "put a blank between them, or quote it")
	case s.target && !delimits(first):
		return bad("becomes part of the target of >& or <& before it, which bash expands twice", "begin the literal with a newline or a blank")
	case s.prefix && first != '/' && !delimits(first):
		return bad("becomes part of the ~name or =name before it, which shells expand", `quote the ~ or =, or put a / behind the ~`)
	}
	return nil
}

// evaluated tells whether a shell evaluates what is assigned to the variable:
// as arithmetic, as a prompt, or as the name of a file to run. Names that
// shells and programs only read as text are not among them.
func evaluated(name string) bool {
	if plainNames[name] || strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, ownPrefix) {
		return false
	}
	if reservedNames[name] {
		return true
	}
	for _, prefix := range reservedPrefixes {
		if prefix != "_" && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// plainNames are reserved, and yet a script may well set them to a word.
var plainNames = set(`
CDPATH EDITOR HOME HOST HOSTNAME IFS LANG LANGUAGE LD_LIBRARY_PATH LOGNAME MANPATH NLSPATH PATH PWD SHELL STTY TERM TERMINFO
TMPDIR USER USERNAME VISUAL commands functions history modules options parameters prompt signals status
`)
