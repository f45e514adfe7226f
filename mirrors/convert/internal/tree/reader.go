package tree

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
	"github.com/mirrorpatch/mirrorpatch/mirrors/convert"
	"github.com/mirrorpatch/mirrorpatch/mirrors/internal/nodekind"
)

// Reader walks nodes and collects what is wrong, for [Reader.Err], and what
// cannot be carried over, for Report.
type Reader struct {
	// File is the name of the file, where the input has several.
	File string

	// Loose takes scalars as gopkg.in/yaml.v2 does when it fills a struct: any
	// scalar for a string, and yes, on, no and off for a boolean.
	Loose bool

	Report   convert.Report
	findings mirrors.Findings
	more     int // findings that were too many
	aliased  int
	sizes    map[*Node]int // of what aliases stand for
	ignored  map[string]bool
}

// maxAliased is how many values may be reached through YAML aliases.
const maxAliased = 200_000

// maxFindings is how many mistakes are kept, as many as mirrors.Decode keeps: a
// file of 2 MB has room for a million.
const maxFindings = 10_000

// Err returns an [*mirrors.Error] with all that is wrong, nil when nothing is.
// The others are errors of the same file.
func (r *Reader) Err(others ...error) error {
	fs := r.findings
	if r.more > 0 {
		fs = append(slices.Clip(fs), mirrors.Finding{Rule: "input-size", Severity: mirrors.SeverityError,
			Message: fmt.Sprintf("%d more mistakes are not shown", r.more), Fix: "want those above corrected first"})
	}
	return mirrors.Join(append(others, fs.Err())...)
}

// Fail reports something that is wrong.
func (r *Reader) Fail(rule, path string, at *Node, message, fix string) {
	if len(r.findings) >= maxFindings {
		r.more++
		return
	}
	if r.File != "" {
		path = strings.TrimSuffix(r.File+": "+path, ": ")
	}
	r.findings = append(r.findings, mirrors.Finding{Rule: rule, Severity: mirrors.SeverityError, Path: path,
		Line: at.Line, Column: at.Column, Message: message, Fix: fix})
}

// Note adds an entry to the report.
func (r *Reader) Note(kind convert.Kind, path string, at *Node, reason, fix string) {
	e := convert.Entry{Kind: kind, File: r.File, Path: path, Reason: reason, Fix: fix}
	if at != nil {
		e.Line, e.Column = at.Line, at.Column
	}
	r.Report.Entries = append(r.Report.Entries, e)
}

// Unknown reports a key that the format does not have.
func (r *Reader) Unknown(path string, key *Node, program string, known ...string) {
	fix := "want " + strings.Join(known, ", ")
	if len(known) == 0 {
		fix = "drop it"
	}
	r.Note(convert.Loss, path, key, program+" does not know this key and ignores it", fix)
}

// UnknownNearSecrets is Unknown where the key may be a value in the wrong place,
// such as {password:secret} without a space. It names the mapping alone.
func (r *Reader) UnknownNearSecrets(path string, key *Node, program string, known ...string) {
	r.Note(convert.Loss, path, key, program+" does not know a key here and ignores it", "want "+strings.Join(known, ", "))
}

// Ignore names a key that has nothing to do with registries.
func (r *Reader) Ignore(path string) {
	if r.File != "" {
		path = r.File + ": " + path
	}
	if !r.ignored[path] {
		if r.ignored == nil {
			r.ignored = map[string]bool{}
		}
		r.ignored[path] = true
		r.Report.Ignored = append(r.Report.Ignored, path)
	}
}

// Resolve follows an alias.
func (r *Reader) Resolve(n *Node) *Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
		r.aliased += r.size(n)
	}
	if r.aliased > maxAliased {
		if r.aliased < 2*maxAliased {
			r.Fail("input-size", "", n, fmt.Sprintf("aliases stand for more than %d values", maxAliased), "write out what is meant")
		}
		r.aliased = 2 * maxAliased // no sum grows without end
		return &Node{Kind: yaml.ScalarNode, Tag: "!!null", Line: n.Line, Column: n.Column}
	}
	return n
}

// size counts the values in a node, those behind aliases as often as they are
// there, up to a little more than the limit. A circle counts once.
func (r *Reader) size(n *Node) int {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if size, ok := r.sizes[n]; ok {
		return size
	}
	if len(n.Content) == 0 {
		return 1
	}
	if r.sizes == nil {
		r.sizes = map[*Node]int{}
	}
	r.sizes[n] = 1
	size := 1
	for _, c := range n.Content {
		if size += r.size(c); size > maxAliased {
			size = maxAliased + 1
			break
		}
	}
	r.sizes[n] = size
	return size
}

// Null reports whether there is no value.
func Null(n *Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// Field is an entry of a mapping.
type Field struct {
	Path, Name string
	Key, Value *Node // Value is what an alias stands for
}

// Fields returns the entries of a mapping in order, merge keys followed: what
// the mapping itself says wins. Null is an empty mapping.
func (r *Reader) Fields(n *Node, path string) []Field {
	return r.fields(n, path, 0)
}

func (r *Reader) fields(n *Node, path string, depth int) []Field {
	n = r.Resolve(n)
	if Null(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.Fail("wrong-kind", path, n, "found "+nodekind.Of(n), "want a mapping")
		return nil
	}
	if depth > 20 {
		r.Fail("wrong-kind", path, n, "merge keys are nested too deep, or in a circle", "write out what is meant")
		return nil
	}
	var fs, merged []Field
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := r.Resolve(n.Content[i])
		switch {
		case k.Kind != yaml.ScalarNode:
			r.Fail("wrong-kind", path, n.Content[i], "found "+nodekind.Of(k)+" as a key", "want a string")
		case k.ShortTag() == "!!merge":
			list := []*Node{n.Content[i+1]}
			if v := r.Resolve(n.Content[i+1]); v.Kind == yaml.SequenceNode {
				list = v.Content
			}
			for _, m := range list {
				merged = append(merged, r.fields(m, path, depth+1)...)
			}
		case !seen[k.Value]:
			seen[k.Value] = true
			fs = append(fs, Field{Path(path, k.Value), k.Value, n.Content[i], r.Resolve(n.Content[i+1])})
		}
	}
	for _, f := range merged {
		if !seen[f.Name] {
			seen[f.Name] = true
			fs = append(fs, f)
		}
	}
	return fs
}

// Text returns a string; false when there is none, or null, or what is there is
// something else.
func (r *Reader) Text(f Field) (string, bool) {
	n := f.Value
	switch {
	case Null(n):
		return "", false
	case n.Kind == yaml.ScalarNode && (r.Loose || n.ShortTag() == "!!str"):
		return n.Value, true
	}
	fix := "want a string"
	if n.Kind == yaml.ScalarNode {
		fix += ": put it in quotes"
	}
	r.Fail("wrong-kind", f.Path, n, "found "+nodekind.Of(n), fix)
	return "", false
}

// Bool returns a boolean; what is not there or null is false.
func (r *Reader) Bool(f Field) bool {
	n := f.Value
	if Null(n) {
		return false
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		return strings.EqualFold(n.Value, "true")
	}
	fix := "want true or false"
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		switch v := strings.ToLower(n.Value); v {
		case "yes", "on", "y", "no", "off", "n":
			if r.Loose && n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0 {
				return v == "yes" || v == "on" || v == "y"
			}
		case "true", "false":
			fix += ", without quotes"
		}
	}
	r.Fail("wrong-kind", f.Path, n, "found "+nodekind.Of(n), fix)
	return false
}

// List returns the entries of a list; Name is empty. Null is an empty list.
func (r *Reader) List(f Field) []Field {
	n := f.Value
	if Null(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.Fail("wrong-kind", f.Path, n, "found "+nodekind.Of(n), "want a list")
		return nil
	}
	fs := make([]Field, len(n.Content))
	for i, c := range n.Content {
		fs[i] = Field{Path: fmt.Sprintf("%s[%d]", f.Path, i), Key: c, Value: r.Resolve(c)}
	}
	return fs
}

// Texts returns the strings of a list, with their places.
func (r *Reader) Texts(f Field) []Text {
	var ts []Text
	for _, e := range r.List(f) {
		if Null(e.Value) {
			r.Fail("wrong-kind", e.Path, e.Value, "found null", "want a string")
			continue
		}
		if s, ok := r.Text(e); ok {
			ts = append(ts, Text{s, e.Path, e.Value})
		}
	}
	return ts
}

// Text is a string of the input.
type Text struct {
	Value, Path string
	At          *Node
}
