package reconcile

import (
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/escape"
)

// A value that is known at run time alone must not change what the skeleton
// is as YAML: neither its structure (fd00:: without quotes ends in a colon,
// which makes a map) nor the type of a value (a token may be a number, base64
// may read null). So each place of an input is looked at, for every value that
// its form allows.

// mark stands for an input at one place of a skeleton.
type mark struct {
	in           Input
	line, offset int
	seen         bool // in a node; what is in none is in a comment
}

// marks are the places of a skeleton, in its order.
type marks struct {
	text string // the skeleton
	all  []*mark
	word *regexp.Regexp // what stands in their place: a word that is nowhere else in the skeleton
}

// markInputs returns text with a word in the place of each ${NAME} of an
// input. Such a word is text wherever YAML can have an input, and no escape in double quotes begins with its m.
func markInputs(text string, inputs []Input) (marked string, m *marks) {
	byName := make(map[string]Input, len(inputs))
	for _, in := range inputs {
		byName[in.Name] = in
	}
	prefix := "mark"
	for strings.Contains(text, prefix) {
		prefix += "k"
	}
	m = &marks{text: text, word: regexp.MustCompile(prefix + "([0-9]+)x")}
	var b strings.Builder
	line, start := 1, 0
	for i := 0; ; {
		n := strings.Index(text[i:], "${")
		if n < 0 {
			break
		}
		i += n
		name, _, closed := strings.Cut(text[i+2:], "}")
		in, declared := byName[name]
		if !closed || !declared {
			i += 2
			continue
		}
		line += strings.Count(text[start:i], "\n")
		b.WriteString(text[start:i])
		b.WriteString(prefix + strconv.Itoa(len(m.all)) + "x")
		m.all = append(m.all, &mark{in: in, line: line, offset: i})
		i += len(name) + 3
		start = i
	}
	b.WriteString(text[start:])
	return b.String(), m
}

// in returns the marks that s holds.
func (m *marks) in(s string) (found []*mark) {
	for _, at := range m.word.FindAllStringSubmatch(s, -1) {
		i, _ := strconv.Atoi(at[1])
		found = append(found, m.all[i])
	}
	return found
}

// whole tells whether s is one mark and nothing else. It is false without marks.
func (m *marks) whole(s string) bool {
	return m != nil && m.word.FindString(s) == s && s != ""
}

func (p *problems) misplaced(k *mark, fix, reason string) {
	*p = append(*p, &Error{Path: "skeleton", Line: k.line, Offset: k.offset, Reason: "${" + k.in.Name + "} " + reason, Fix: fix})
}

// places checks each input in and below n. key says that n is a key of a map, flow that n stands within [ ] or { }.
func (p *problems) places(m *marks, n *yaml.Node, key, flow bool) {
	names := n.Anchor + " " + n.Tag
	if n.Kind == yaml.AliasNode {
		names += " " + n.Value
	}
	for _, k := range m.in(names) {
		k.seen = true
		p.misplaced(k, "want it within a value", "in an anchor, an alias or a tag")
	}
	if n.Kind == yaml.ScalarNode {
		p.scalar(m, n, key, flow)
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for i, c := range n.Content {
		p.places(m, c, n.Kind == yaml.MappingNode && i%2 == 0, flow)
	}
}

// comments checks the inputs that places saw in no node.
func (p *problems) comments(m *marks) {
	for _, k := range m.all {
		if start := strings.LastIndexByte(m.text[:k.offset], '\n') + 1; !k.seen && m.text[start] == '%' {
			p.misplaced(k, "want it within a value", "in a directive")
		}
	}
}

const (
	// A blank is dropped there, and --- or ... at the beginning ends the document.
	endOfLine  = "may hold a blank, --- or ..., which mean something where a line begins or ends"
	wantQuotes = "want quotes around the whole of it"
	wantAlone  = "want it as the whole of a value, without quotes"
	// yaml.v3 3.0.1 and libyaml take a key of 1024 characters at most.
	wantValue = "want it in a value: a key has at most 1024 characters"
)

// scalar checks the inputs in one scalar.
func (p *problems) scalar(m *marks, n *yaml.Node, key, flow bool) {
	found := m.in(n.Value)
	plain := true
	for i, k := range found {
		k.seen = true
		form := k.in.form()
		set := form.Characters()
		blanks := strings.Contains(set, " ")
		switch {
		case form == escape.Any && (n.Style&^yaml.TaggedStyle != 0 || !m.whole(n.Value)):
			p.misplaced(k, wantAlone, "may be any text, and stands in quotes or beside other text")
		case key && (form == escape.Any || form == escape.Base64 || form == escape.Base64URL || set != ""):
			p.misplaced(k, wantValue, "may be long, and stands in a key")
		case form == escape.Any:
		case form == (escape.Form{}): // reported as such
			return
		case n.Style&yaml.DoubleQuotedStyle != 0:
			plain = false
			if strings.ContainsAny(set, `"\`) {
				p.misplaced(k, `want it in single quotes, a form without " and \, or escape.Any`, `may hold " or \, and stands in double quotes`)
			} else if set != "" && !closes(m.text, k, n, '"') {
				p.misplaced(k, "want both quotes on its line", endOfLine)
			}
		case n.Style&yaml.SingleQuotedStyle != 0:
			plain = false
			if strings.Contains(set, "'") {
				p.misplaced(k, "want it in double quotes, a form without ', or escape.Any", "may hold ', and stands in single quotes")
			} else if set != "" && !closes(m.text, k, n, '\'') {
				p.misplaced(k, "want both quotes on its line", endOfLine)
			}
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			plain = false
			if blanks {
				p.misplaced(k, "want it in quotes", "may begin with a blank, which changes the indentation of a block")
			}
		case strings.Trim(set, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._/+=-") != "",
			// -, --- and ... are YAML's own at the beginning.
			set != "" && !letterOrDigit(fixed(m, n.Value)[0]):
			p.misplaced(k, wantQuotes, "may hold characters that mean something to YAML")
			return
		case form == escape.Address && (flow || colonCanEnd(m, n.Value, i)):
			p.misplaced(k, wantQuotes, "may be an IPv6 address with a colon first or last, which makes a map")
			return
		case form == escape.URLHost && (flow || i == 0 && fixed(m, n.Value)[0] == ""):
			p.misplaced(k, wantQuotes, "may be an IPv6 address in brackets, which makes a list")
			return
		}
	}
	if len(found) > 0 && plain && found[0].in.form() != escape.Any && !(found[0].in.form() == escape.Port && m.whole(n.Value)) && otherType(fixed(m, n.Value)) {
		p.misplaced(found[0], wantQuotes, "may be read as a number, a date, true or null")
	}
}

// fixed returns the text around the marks in s: one part more than there are marks.
func fixed(m *marks, s string) []string { return m.word.Split(s, -1) }

func letterOrDigit(s string) bool {
	return s != "" && strings.Trim(s[:1], "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// colonCanEnd tells whether a colon at the end of the i-th mark of s has a blank or the end behind it.
func colonCanEnd(m *marks, s string, i int) bool {
	parts := fixed(m, s)
	next := parts[i+1]
	return next == "" && i+2 == len(parts) || next != "" && strings.ContainsAny(next[:1], " \n\t")
}

// closes tells whether n, which holds k, begins on k's line and a quote stands behind k there.
func closes(text string, k *mark, n *yaml.Node, quote byte) bool {
	rest, _, _ := strings.Cut(text[k.offset:], "\n")
	return n.Line == k.line && strings.IndexByte(rest, quote) >= 0
}

// words are what YAML 1.1 and 1.2 read as something else than text, besides numbers and dates.
var words = []string{"null", "~", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "-.inf", "+.inf", ".nan", "<<", "="}

// otherType tells whether a plain scalar with something between these parts may be something else than text.
func otherType(parts []string) bool {
	first, last := strings.ToLower(parts[0]), strings.ToLower(parts[len(parts)-1])
	for _, w := range words {
		if strings.HasPrefix(w, first) && strings.HasSuffix(w, last) {
			return true
		}
	}
	// Numbers and dates begin with a digit, a sign or a dot, and have one dot at most.
	all := strings.Join(parts, "")
	return strings.Trim(all, "0123456789abcdefABCDEFxXoO_.+-:tTzZ ") == "" && strings.Count(all, ".") < 2 &&
		(first == "" || strings.ContainsAny(first[:1], "0123456789+-."))
}
