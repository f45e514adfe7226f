package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/configpatch"
	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// The rules of findings that are about the files that a command is given.
const (
	ruleUnreadable    = "unreadable"
	ruleConfiguration = "configuration"
	ruleSkeleton      = "skeleton"
	ruleOwnRegistries = "own-registries"
	ruleOlderNodes    = "older-nodes"
)

// fileRules tells of them what 'mirrorctl rules' prints.
var fileRules = []mirrors.Rule{
	{Name: ruleUnreadable, Severity: "error", Finds: "a file that cannot be read", Reason: "Nothing is known of it.", Fix: "Name a file that can be read."},
	{Name: ruleConfiguration, Severity: "error", Finds: "a machine configuration that Talos's own code does not load", Reason: "A node would not load it either.", Fix: "Write what Talos takes at that place."},
	{Name: ruleSkeleton, Severity: "error", Finds: "a skeleton that cannot be carried, or that does not use an input", Reason: "What is applied would not be what the file says.", Fix: "Write what the message wants."},
	{Name: ruleOwnRegistries, Severity: "error", Finds: "registries in a skeleton", Reason: "The patch beside it would append to their lists, and containerd ignores a registry with an endpoint twice.", Fix: "Write all of them into the file that -f names."},
	{Name: ruleOlderNodes, Severity: "warning", Finds: "cozystack values whose talos.version is older than --talos-version", Reason: "The nodes may not know the form that is written, or what it says.", Fix: "Give the older of client and node as --talos-version."},
	{Name: "replace-blind", Severity: "warning", Finds: "what the patches of --mode replace cannot do without knowing the configuration", Reason: "An entry that they cannot name or delete stays where there is one.", Fix: "Use plan, which knows the configuration, where that matters."},
}

// inConfig turns what Talos's code says of a machine configuration, or of a
// skeleton with its inputs filled in, into findings with a place in the file.
// That code stops at the first document with a mistake; here each is asked about.
func inConfig(file string, data []byte, err error) error {
	if err == nil {
		return nil
	}
	docs, findings := documents(data)
	if findings == nil {
		for _, doc := range docs {
			if _, err := configpatch.Read(doc.text); err != nil {
				findings = append(findings, problemsIn(err, doc)...)
			}
		}
	}
	if findings == nil { // it is about several documents, or what Migrate says
		findings = problemsIn(err, docs...)
	}
	return &findingsError{file: file, findings: findings}
}

// problemsIn gives each problem in an error of configpatch about these documents
// its place.
func problemsIn(err error, docs ...document) mirrors.Findings {
	known := layoutOf(docs)
	var findings mirrors.Findings
	var walk func(error)
	walk = func(err error) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range joined.Unwrap() {
				walk(e)
			}
			return
		}
		var e *configpatch.Error
		var wrong *mirrors.Error
		switch {
		case errors.As(err, &wrong):
			findings = append(findings, wrong.Findings...)
		case errors.As(err, &e) && e.Err == nil:
			fix := ""
			if e.Fix != "" {
				fix = "want " + inFlags(e.Fix)
			}
			path := e.Path
			if path == "" && e.Line == 0 {
				path = known.named(e.Reason)
			}
			findings = append(findings, known.finding(ruleConfiguration, path, e.Line, e.Reason, fix))
		default:
			findings = append(findings, machineryFindings(known, err)...)
		}
	}
	walk(err)
	slices.SortStableFunc(findings, func(a, b mirrors.Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return findings
}

// document is one of a stream, behind as many empty lines as are before it
// there: so its lines are those of the whole.
type document struct {
	text []byte
	root *yaml.Node
}

// documents reads each document of a stream; one of nothing does not count.
func documents(data []byte) (docs []document, wrong mirrors.Findings) {
	if len(data) > mirrors.MaxSize {
		return nil, findingsOf(tooLarge())
	}
	line, from := 0, 0
	var doc bytes.Buffer
	flush := func() {
		if len(bytes.TrimSpace(comment.ReplaceAll(doc.Bytes(), nil))) > 0 {
			text := append(bytes.Repeat([]byte("\n"), from), doc.Bytes()...)
			root, err := mirrors.ReadDocument(text)
			wrong = append(wrong, findingsOf(err)...)
			if root != nil && root.Kind != yaml.MappingNode {
				wrong = append(wrong, mirrors.Finding{Rule: "wrong-kind", Severity: mirrors.SeverityError, Line: root.Line, Column: root.Column,
					Message: "a document that is no mapping", Fix: "want a Talos machine configuration"})
			}
			docs = append(docs, document{text, root})
		}
		doc.Reset()
		from = line
	}
	for text := range bytes.Lines(data) {
		if marker.Match(text) {
			flush()
		}
		doc.Write(text)
		line++
	}
	flush()
	if docs == nil {
		wrong = mirrors.Findings{{Rule: "syntax", Severity: mirrors.SeverityError, Message: "the input is empty", Fix: "want a Talos machine configuration"}}
	}
	return docs, wrong
}

// A line that begins so is one between documents, also within a block scalar.
var marker = regexp.MustCompile(`^---(\s|$)`)

var comment = regexp.MustCompile(`(?m)^\s*#.*$|^---\s*$|^---\s+#.*$`)

func findingsOf(err error) mirrors.Findings {
	var e *mirrors.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e.Findings
	}
	return mirrors.Findings{{Rule: ruleConfiguration, Severity: mirrors.SeverityError, Message: err.Error()}}
}

var (
	inDocument  = regexp.MustCompile(`(?m)\(line (\d+)\)`)
	atLine      = regexp.MustCompile(`(?m)^\s+line (\d+): (.*)$`)
	unknownKeys = regexp.MustCompile(`(?m)unknown keys: (.*)$`)
	bullet      = regexp.MustCompile(`(?m)^\s*\* (.*)$`)
)

// machineryFindings gives the problems in a text of machinery their places.
// Machinery 1.13.9 names lines in its text, and configpatch the paths of
// unknown keys; what has neither stands at the document, or at the whole file.
func machineryFindings(known layout, err error) (findings mirrors.Findings) {
	text := err.Error()
	from := known.from
	if m := inDocument.FindStringSubmatch(text); m != nil && from == 0 {
		from, _ = strconv.Atoi(m[1])
	}
	found := func(rule, path string, line int, message, fix string) {
		findings = append(findings, known.finding(rule, path, line, message, fix))
	}
	for _, m := range atLine.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[1])
		found(ruleConfiguration, known.lines[line], line, m[2], "want what Talos takes there")
	}
	if m := unknownKeys.FindStringSubmatch(text); m != nil {
		for path := range strings.SplitSeq(m[1], ", ") {
			found("unknown-key", path, from, "unknown key", "want a key that Talos 1.13.9 knows")
		}
	}
	if findings == nil {
		for _, m := range bullet.FindAllStringSubmatch(text, -1) {
			found(ruleConfiguration, "", from, m[1], "want what Talos takes")
		}
	}
	if findings == nil {
		found(ruleConfiguration, "", from, strings.Join(strings.Fields(text), " "), "want a Talos machine configuration")
	}
	return findings
}

// A layout is where the paths of one document, or of several, stand.
type layout struct {
	nodes map[string]*yaml.Node
	lines map[int]string // the first path that begins in a line
	from  int            // where the one document begins; 0 when there are several
}

func layoutOf(docs []document) layout {
	l := layout{nodes: map[string]*yaml.Node{}, lines: map[int]string{}}
	for _, doc := range docs {
		if doc.root == nil {
			continue
		}
		if len(docs) == 1 {
			l.from = doc.root.Line
		}
		below := map[string]*yaml.Node{}
		keys(doc.root, "", below)
		for path, node := range below {
			first, ok := l.lines[node.Line]
			if !ok || cmp.Or(cmp.Compare(len(path), len(first)), cmp.Compare(path, first)) < 0 {
				l.lines[node.Line] = path
			}
		}
		// Paths in a registry document have its name before them.
		var head struct{ Kind, Name string }
		if doc.root.Decode(&head) == nil && head.Kind != "" {
			named := fmt.Sprintf("%s %q", head.Kind, head.Name)
			for path, node := range below {
				l.nodes[named+": "+path] = node
			}
			l.nodes[named] = doc.root
		}
		if len(docs) == 1 || head.Kind == "" {
			maps.Copy(l.nodes, below)
		}
	}
	return l
}

// finding is one that stands at path, or else at line, or at what is around path
// where that is known better.
func (l layout) finding(rule, path string, line int, message, fix string) mirrors.Finding {
	f := mirrors.Finding{Rule: rule, Severity: mirrors.SeverityError, Path: path, Line: line, Message: message, Fix: fix}
	exact := plain(path)
	for around := exact; around != ""; {
		if node := l.nodes[around]; node != nil {
			if around == exact || node.Line > line {
				f.Line, f.Column = node.Line, node.Column
			}
			return f
		}
		around = around[:max(0, strings.LastIndexAny(around, ".[:"))]
	}
	return f
}

// named is the path of the entry that a text names as Talos names documents, such
// as RegistryTLSConfig/m.internal; of the legacy one when there is no document.
func (l layout) named(text string) string {
	m := documentName.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, path := range []string{
		fmt.Sprintf("%s %q", m[1], m[2]),
		fmt.Sprintf("machine.registries."+legacyOf[m[1]], m[2]),
	} {
		if l.nodes[plain(path)] != nil {
			return path
		}
	}
	return ""
}

var legacyOf = map[string]string{"RegistryMirrorConfig": "mirrors[%q]", "RegistryAuthConfig": "config[%q].auth", "RegistryTLSConfig": "config[%q].tls"}

var documentName = regexp.MustCompile(`\b(Registry(?:Mirror|Auth|TLS)Config)/(\S+): `)

// plain writes a path as keys does.
func plain(path string) string {
	return strings.TrimPrefix(plainKey.ReplaceAllString(path, ".$1"), ".")
}

// plainKey is a key in quotes that keys writes without.
var plainKey = regexp.MustCompile(`\["([^"\\.\[\]: ]+)"\]`)

// keys collects the keys and items below a node by their paths.
func keys(n *yaml.Node, path string, places map[string]*yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			below := fmt.Sprintf("%s[%d]", path, i)
			places[below] = item
			keys(item, below, places)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			below := key.Value
			switch {
			case strings.ContainsAny(key.Value, ".[]: "):
				below = fmt.Sprintf("%s[%q]", path, key.Value)
			case path != "":
				below = path + "." + key.Value
			}
			places[below] = key
			keys(value, below, places)
		}
	}
}

// inFlags writes what configpatch wants of its caller in the words of the
// command line.
func inFlags(text string) string {
	return ofLibrary.ReplaceAllStringFunc(text, func(word string) string { return flagOf[word] })
}

var flagOf = map[string]string{
	"WithForm(Legacy)":    "--form legacy",
	"WithForm(Documents)": "--form documents",
	"WithImageCache":      "--image-cache",
	"WithSection":         "--section",
	"DocumentsOnly":       "--documents-only",
	"Own":                 "--own",
	"Merge":               "--mode merge",
	"Replace":             "--mode replace",
	"Converge":            "mirrorctl plan",
	"Migrate":             "mirrorctl migrate",
}

var ofLibrary = regexp.MustCompile(`\b(WithForm\((Legacy|Documents)\)|(WithImageCache|WithSection|DocumentsOnly|Own|Merge|Replace|Converge|Migrate)\b)`)
