package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
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
				findings = append(findings, machineryFindings(doc.root, err)...)
			}
		}
	}
	if findings == nil { // it is about several documents
		findings = machineryFindings(nil, err)
	}
	return &findingsError{file: file, findings: findings}
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
)

// machineryFindings gives the problems in an error of configpatch their places.
// Machinery 1.13.9 names lines in its text, and configpatch the paths of
// unknown keys; what has neither stands at the document, or at the whole file.
func machineryFindings(root *yaml.Node, err error) mirrors.Findings {
	text := err.Error()
	from := 0
	if m := inDocument.FindStringSubmatch(text); m != nil {
		from, _ = strconv.Atoi(m[1])
	}
	places := map[string]*yaml.Node{} // of the document's keys, by path
	lines := map[int]string{}         // the first path that begins in a line
	if root != nil {
		from = root.Line
		keys(root, "", places)
	}
	for path, node := range places {
		if first, ok := lines[node.Line]; !ok || len(path) < len(first) {
			lines[node.Line] = path
		}
	}

	var findings mirrors.Findings
	found := func(rule, path string, line int, message, fix string) {
		f := mirrors.Finding{Rule: rule, Severity: mirrors.SeverityError, Path: path, Line: line, Message: message, Fix: fix}
		if node := places[path]; node != nil {
			f.Line, f.Column = node.Line, node.Column
		}
		findings = append(findings, f)
	}
	for _, m := range atLine.FindAllStringSubmatch(text, -1) {
		line, _ := strconv.Atoi(m[1])
		found(ruleConfiguration, lines[line], line, m[2], "want what Talos takes there")
	}
	if m := unknownKeys.FindStringSubmatch(text); m != nil {
		for path := range strings.SplitSeq(m[1], ", ") {
			found("unknown-key", path, from, "unknown key", "want a key that Talos 1.13.9 knows")
		}
	}
	if findings == nil {
		line, _, _ := strings.Cut(text, "\n")
		found(ruleConfiguration, "", from, line, "want a Talos machine configuration")
	}
	return findings
}

// keys collects the keys below a node by their paths.
func keys(n *yaml.Node, path string, places map[string]*yaml.Node) {
	switch n.Kind {
	case yaml.SequenceNode:
		for i, item := range n.Content {
			keys(item, fmt.Sprintf("%s[%d]", path, i), places)
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
