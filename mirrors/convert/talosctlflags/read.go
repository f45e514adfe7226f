package talosctlflags

import (
	"encoding/csv"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert/internal/tree"
)

// Read reads flags as they stand in a script: a command line of talosctl, or the
// flags alone, over several lines if need be. Words are quoted as in a shell;
// what a shell would expand in the value of such a flag is an error, since its
// value is not here; where such flags may come out of it, it is in the
// report. Comments (# to the end of the line) are
// skipped. An input that has neither talosctl nor such a flag is an error.
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
	if len(words) > 0 && !slices.ContainsFunc(words, isTalosctl) && !slices.ContainsFunc(words, isRegistryFlag) {
		r.Fail("missing-key", "", words[0].at, "neither talosctl nor a flag of registries is in the input", "want flags, such as --registry-mirror docker.io=https://m.example.com")
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

	command int // counts the commands of a script

	live       byte // what a shell expands in it, or 0
	liveAt     *tree.Node
	liveOffset int  // in text
	quoted     bool // what is expanded first is in double quotes
}

const (
	mirrorFlag   = "--registry-mirror"
	insecureFlag = "--registry-insecure-skip-verify"
)

// flagName is a flag that may be named: the text of any other may hold a secret,
// as in -uname:password.
var flagName = regexp.MustCompile(`^--[a-z0-9-]{1,40}$`)

func (r *reader) flags(words []word) {
	counts := map[string]int{}
	ours, suspect := ofTalosctl(words)
	dashes := false // the word -- was there
	for i := 0; i < len(words); i++ {
		w := words[i]
		if i == 0 || w.command != words[i-1].command || isTalosctl(w) {
			dashes = false
		}
		name, value, assigned := strings.Cut(w.text, "=")
		if name != mirrorFlag && name != insecureFlag {
			// "set --" makes arguments of what follows: the flags are for talosctl.
			dashes = dashes || w.text == "--" && !(i > 0 && words[i-1].text == "set")
			r.other(w, name, ours[i], suspect[i])
			continue
		}
		if dashes {
			r.Fail("syntax", name, w.at, "the flag stands after --, where talosctl takes it for an argument", "want it before the --")
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
		if strings.Contains(value, mirrorFlag) || strings.Contains(value, insecureFlag) {
			r.Fail("syntax", path, w.at, "a flag of registries inside the value of another", "want a space between the two, and each quoted by itself")
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

// other looks at a word that is neither a flag of registries nor its value.
func (r *reader) other(w word, name string, ours, suspect bool) {
	lower := strings.ToLower(name)
	flag := strings.HasPrefix(name, "-") && len(name) > 1
	switch {
	case strings.HasPrefix(name, "--registry-") || ours && flag && (strings.Contains(lower, "registr") || strings.Contains(lower, "mirror")):
		const fix = "want " + mirrorFlag + " or " + insecureFlag
		if flagName.MatchString(name) {
			r.Fail("unknown-key", name, w.at, fmt.Sprintf("unknown flag %q", name), fix)
		} else {
			r.Fail("unknown-key", w.path, w.at, "an unknown flag about registries", fix)
		}
	case strings.Contains(w.text, mirrorFlag) || strings.Contains(w.text, insecureFlag):
		r.Fail("syntax", w.path, w.at, "a flag of registries inside another word", "want the flag as a word of its own, as talosctl gets it")
	case suspect:
		r.Note(convert.Decision, w.path, w.liveAt, fmt.Sprintf("a shell expands %q, and what comes out is not known here; it may be flags of registries", string(w.live)),
			"write those flags out, if there are any")
	case flagName.MatchString(name):
		r.Ignore(name)
	case flag && 'A' <= name[1]&^0x20 && name[1]&^0x20 <= 'Z':
		r.Ignore(name[:2]) // its value may be glued to it
	}
}

func isTalosctl(w word) bool {
	name := path.Base(w.text)
	return name == "talosctl" || strings.HasPrefix(name, "talosctl-")
}

// ofTalosctl says which words are the arguments of a talosctl command that has
// the flags, and which of them may become such flags once a shell expanded them.
// A command that does not name talosctl counts when it has one of the flags, or
// when no command names it: then the input is arguments alone.
func ofTalosctl(words []word) (ours, suspect []bool) {
	ours, suspect = make([]bool, len(words)), make([]bool, len(words))
	anywhere := slices.ContainsFunc(words, isTalosctl)
	for from := 0; from < len(words); {
		to := from + 1
		for to < len(words) && words[to].command == words[from].command {
			to++
		}
		args := words[from:to]
		if at := slices.IndexFunc(args, isTalosctl); at >= 0 {
			args = args[at+1:]
			if otherCommand(args) {
				args = nil
			}
		} else if anywhere && !slices.ContainsFunc(args, isRegistryFlag) {
			args = nil
		}
		for i := range args {
			ours[to-len(args)+i] = true
		}
		markSuspects(args, suspect[to-len(args):to])
		from = to
	}
	return ours, suspect
}

// otherCommand reports whether arguments of talosctl are those of a command
// without the flags, such as apply-config or gen secrets.
func otherCommand(args []word) bool {
	first := slices.IndexFunc(args, func(w word) bool { return !strings.HasPrefix(w.text, "-") })
	if first < 0 || args[first].live != 0 {
		return false
	}
	at := slices.IndexFunc(args, func(w word) bool { return w.text == "gen" || w.text == "cluster" })
	if at < 0 {
		return true
	}
	if at+1 == len(args) || args[at+1].live != 0 || strings.HasPrefix(args[at+1].text, "-") {
		return false
	}
	return args[at].text+" "+args[at+1].text != "gen config" && args[at].text+" "+args[at+1].text != "cluster create"
}

// valueFlags are flags of talosctl gen config and cluster create, besides those of
// registries, that take the next word as their value.
var valueFlags = map[string]bool{}

func init() {
	for _, name := range strings.Fields(`--additional-sans --arch --cluster --config-patch --config-patch-control-plane
		--config-patch-controlplanes --config-patch-worker --config-patch-workers --context --controlplanes --cpus --disk --dns-domain
		--endpoints --install-disk --install-image --kubernetes-version --memory --name --nodes --output --output-types
		--provisioner --talos-version --talosconfig --version --with-secrets --workers -c -e -n -o -p -t`) {
		valueFlags[name] = true
	}
}

// markSuspects finds words of which a shell may make flags. Those that can only be
// the value of a flag, or one of the two arguments that gen config must have, are
// none of them.
func markSuspects(args []word, suspect []bool) {
	var found []int // live words that may be arguments
	arguments, bare := 0, 0
	for i := 0; i < len(args); i++ {
		w := args[i]
		name, _, assigned := strings.Cut(w.text, "=")
		switch {
		case several(w):
			suspect[i] = true
		case strings.HasPrefix(w.text, "-") && assigned && w.liveOffset > len(name):
		case strings.HasPrefix(w.text, "-"):
			suspect[i] = w.live != 0
			if (valueFlags[name] || name == mirrorFlag || name == insecureFlag) && !assigned && i+1 < len(args) && !several(args[i+1]) {
				i++
			}
		case strings.HasSuffix(w.text, ">") || strings.HasSuffix(w.text, "<"):
			i++ // the file
		case strings.HasPrefix(w.text, ">") || strings.HasPrefix(w.text, "<"):
		default:
			arguments++
			if w.live != 0 {
				found = append(found, i)
				if !w.quoted {
					bare++
				}
			}
		}
	}
	allowed := 0
	has := func(text string) bool {
		return slices.ContainsFunc(args, func(w word) bool { return w.text == text && w.live == 0 })
	}
	if has("gen") && has("config") {
		allowed = 4 // with those two
	}
	if arguments <= allowed {
		return
	}
	for _, i := range found {
		suspect[i] = bare == 0 || !args[i].quoted // in double quotes it is one word
	}
}

// several reports whether a shell makes several words of one, whatever its quotes.
func several(w word) bool {
	if w.live == 0 {
		return false
	}
	rest := w.text[w.liveOffset:]
	return strings.HasPrefix(rest, "@") || strings.HasPrefix(rest, "*") || strings.Contains(rest, "[@]") || strings.Contains(rest, "[*]")
}

func isRegistryFlag(w word) bool { return strings.HasPrefix(w.text, "--registry-") }

// values splits a value as the flag does: as a line of CSV.
func (r *reader) values(value, path string, at *tree.Node) []string {
	if value == "" {
		return nil
	}
	if !strings.ContainsAny(value, ",\"\r\n") {
		return []string{value}
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
	case badPort(url) || badPort("//"+host):
		r.Fail("endpoint-syntax", path, at, "a port that is not a number; or it is a password, and what follows it is missing", "want HOST=URL, and a port from 1 to 65535; credentials have no flag")
	default:
		r.Endpoint(host, mirrors.Endpoint{URL: url}, f)
	}
}

// badPort reports whether a URL has something else where its port is. It may be
// a password without its @, and is not to be named.
func badPort(url string) bool {
	_, rest, _ := strings.Cut(url, "//")
	authority, _, _ := strings.Cut(rest, "/")
	_, port, ok := strings.Cut(authority, ":")
	return ok && !strings.ContainsAny(authority, "@[") && !strings.Contains(port, ":") && strings.Trim(port, "0123456789") != ""
}

func (r *reader) insecure(host, path string, at *tree.Node) {
	if host == "" {
		return
	}
	if badPort("//" + host) {
		r.Fail("wrong-value", path, at, "a port that is not a number; or it is a password", "want host[:port]")
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
	command, liveOffset, quoted := 0, 0, false
	line, start := 1, 0 // start is the offset of the line
	begin := func(i int) {
		if at == nil {
			at = &tree.Node{Line: line, Column: i - start + 1}
		}
	}
	end := func() {
		if at != nil {
			words = append(words, word{text: b.String(), at: at, command: command, live: live, liveAt: liveAt, liveOffset: liveOffset, quoted: quoted})
		}
		b.Reset()
		at, live, liveAt, liveOffset = nil, 0, nil, 0
	}
	var quote byte
	var quoteAt *tree.Node
	expand := func(i int) {
		if live == 0 {
			liveOffset, quoted = b.Len(), quote == '"'
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
			command++
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
