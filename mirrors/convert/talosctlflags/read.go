package talosctlflags

import (
	"encoding/csv"
	"fmt"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads flags as they stand in a script: a command line of talosctl, or the
// flags alone, over several lines if need be. Words are quoted as in a shell;
// what a shell would expand is an error, since its value is not here. Comments
// (# to the end of the line) are skipped.
func Read(data []byte) (*mirrors.Source, convert.Report, error) {
	text, err := tree.PlainText(data)
	if err != nil {
		return nil, convert.Report{}, err
	}
	r := newReader()
	words := r.split(text)
	if len(words) == 0 && r.Err() == nil {
		r.Fail("syntax", "", &tree.Node{}, "the input is empty", "want flags, such as --registry-mirror docker.io=https://m.example.com")
	}
	r.flags(words)
	return r.Finish()
}

// ReadArgs reads the arguments of a talosctl command, such as os.Args[1:] of a
// program that wraps it. Paths are args[0] and so on.
func ReadArgs(args []string) (*mirrors.Source, convert.Report, error) {
	r := newReader()
	words := make([]word, len(args))
	for i, a := range args {
		words[i] = word{text: a, at: &tree.Node{}, path: fmt.Sprintf("args[%d]", i)}
	}
	r.flags(words)
	return r.Finish()
}

type reader struct{ *tree.Builder }

func newReader() *reader { return &reader{tree.NewBuilder("talosctl")} }

type word struct {
	text string
	at   *tree.Node
	path string

	live   byte // what a shell expands in it, or 0
	liveAt *tree.Node
}

const (
	mirrorFlag   = "--registry-mirror"
	insecureFlag = "--registry-insecure-skip-verify"
)

func (r *reader) flags(words []word) {
	counts := map[string]int{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, assigned := strings.Cut(w.text, "=")
		if name != mirrorFlag && name != insecureFlag {
			switch {
			case strings.HasPrefix(name, "--registry-"):
				r.Fail("unknown-key", name, w.at, fmt.Sprintf("unknown flag %q", name), "want "+mirrorFlag+" or "+insecureFlag)
			case strings.HasPrefix(name, "-") && len(name) > 1:
				r.Ignore(name)
			}
			continue
		}
		if !assigned {
			if i++; i == len(words) {
				r.Fail("syntax", name, w.at, "the flag has no value", "want "+name+" VALUE")
				return
			}
			value = words[i].text
			w = words[i]
		}
		path := w.path
		if path == "" {
			path = fmt.Sprintf("%s[%d]", name, counts[name])
		}
		counts[name]++
		if w.live != 0 {
			r.Fail("syntax", path, w.liveAt, fmt.Sprintf("a shell expands %q, and its value is not here", string(w.live)),
				"write the value, or put the word in single quotes if it is meant as it stands")
			continue
		}
		for _, v := range r.values(value, path, w.at) {
			if name == mirrorFlag {
				r.mirror(v, path, w.at)
			} else {
				r.insecure(v, path, w.at)
			}
		}
	}
}

// values splits a value as the flag does: as a line of CSV.
func (r *reader) values(value, path string, at *tree.Node) []string {
	if value == "" {
		return nil
	}
	vs, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil {
		r.Fail("syntax", path, at, "the value is no list with commas; talosctl refuses it", `want HOST=URL, or "HOST=URL" in double quotes where it has a comma`)
	}
	return vs
}

func (r *reader) mirror(v, path string, at *tree.Node) {
	f := tree.Field{Path: path, Key: at, Value: at}
	host, url, ok := strings.Cut(v, "=")
	switch {
	case !ok:
		r.Fail("syntax", path, at, "no = in the value; talosctl refuses it", "want HOST=URL; a URL that has a comma stands in double quotes, inside the quotes of the shell")
	case host == "":
		r.Fail("syntax", path, at, "no host before the =", "want HOST=URL")
	default:
		r.Endpoint(host, mirrors.Endpoint{URL: url}, f)
	}
}

func (r *reader) insecure(host, path string, at *tree.Node) {
	if host == "" {
		return
	}
	r.TLS(host, mirrors.TLS{InsecureSkipVerify: true}, tree.Field{Path: path, Key: at, Value: at})
}

// split takes a script apart into words.
func (r *reader) split(text string) []word {
	var words []word
	var b strings.Builder
	var at, liveAt *tree.Node
	var live byte
	line, start := 1, 0 // start is the offset of the line
	begin := func(i int) {
		if at == nil {
			at = &tree.Node{Line: line, Column: i - start + 1}
		}
	}
	end := func() {
		if at != nil {
			words = append(words, word{text: b.String(), at: at, live: live, liveAt: liveAt})
		}
		b.Reset()
		at, live, liveAt = nil, 0, nil
	}
	var quote byte
	var quoteAt *tree.Node
	expand := func(i int) {
		if live == 0 {
			live, liveAt = text[i], &tree.Node{Line: line, Column: i - start + 1}
		}
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		next := byte(0)
		if i+1 < len(text) {
			next = text[i+1]
		}
		switch {
		case quote == '\'':
			if c == quote {
				quote = 0
			} else {
				b.WriteByte(c)
			}
		case c == '\\' && next == '\r' && i+2 < len(text) && text[i+2] == '\n':
			i += 2
			line, start = line+1, i+1
			continue
		case c == '\\' && next == '\n':
			i++
			line, start = line+1, i+1
			continue
		case quote == '"':
			switch {
			case c == quote:
				quote = 0
			case c == '\\' && next != 0 && strings.IndexByte("\"\\$`", next) >= 0:
				b.WriteByte(next)
				i++
			case c == '$' || c == '`':
				expand(i)
			default:
				b.WriteByte(c)
			}
		case c == '\'' || c == '"':
			begin(i)
			quote, quoteAt = c, &tree.Node{Line: line, Column: i - start + 1}
		case c == '\\' && next != 0:
			begin(i)
			b.WriteByte(next)
			i++
		case c == ' ' || c == '\t' || c == '\r':
			end()
		case c == '\n' || c == ';' || c == '&' || c == '|':
			end()
		case c == '#' && at == nil:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '$' || c == '`':
			begin(i)
			expand(i)
		default:
			begin(i)
			b.WriteByte(c)
		}
		if c == '\n' {
			line, start = line+1, i+1
		}
	}
	if quote != 0 {
		r.Fail("syntax", "", quoteAt, fmt.Sprintf("the quote %q is not closed", string(quote)), "want it closed")
		return nil
	}
	end()
	return words
}
