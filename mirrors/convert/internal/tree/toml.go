package tree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"gopkg.in/yaml.v3"

	"github.com/mirrorpatch/mirrorpatch/mirrors"
)

// TOML reads a TOML document. What go-toml refuses, duplicate keys and tables
// among it, is an error with line and column, a [*mirrors.Error].
//
// The keys of a mapping are in the order in which the file first names them,
// which decoding into a map would lose.
func TOML(data []byte) (*Node, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	ls := newLines(data)
	if offset, message := excess(data); message != "" {
		line, column := ls.position(offset)
		return nil, mirrors.Findings{{Rule: "input-size", Severity: mirrors.SeverityError, Line: line, Column: column,
			Message: message, Fix: "want what the format has"}}.Err()
	}
	// The parser below sees one expression at a time; only the decoder knows
	// what a document may not say twice.
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			return nil, syntax(line, column, "not TOML: "+strings.TrimPrefix(err.Error(), "toml: "), tomlFix(data, line))
		}
		return nil, syntax(0, 0, "not TOML: "+strings.TrimPrefix(err.Error(), "toml: "), "")
	}

	b := &tomlBuilder{lines: ls, index: map[*Node]map[string]*Node{}}
	root := mapping(1, 1)
	table := root
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = b.table(root, e)
		case unstable.KeyValue:
			b.assign(table, e)
		}
	}
	if err := p.Error(); err != nil {
		return nil, syntax(0, 0, "not TOML: "+err.Error(), "")
	}
	return root, nil
}

// maxKeys is how many keys a table may have, and how many tables with single
// brackets there may be. go-toml 2.4.3 compares each key with all before it.
const maxKeys = 5000

// excess finds what would cost go-toml much more than its size, and what no
// file of the formats has: long dotted keys, deep lists, very many keys.
func excess(data []byte) (offset int, message string) {
	var p unstable.Parser
	p.Reset(data)
	keys, tables := 0, 0
	for p.NextExpression() {
		e := p.Expression()
		offset := 0
		if it := e.Key(); it.Next() {
			offset = int(it.Node().Raw.Offset)
		}
		switch e.Kind {
		case unstable.KeyValue:
			keys++
		case unstable.Table:
			tables++
			keys = 0
		default:
			keys = 0
		}
		deep, wide := extent(e)
		switch {
		case deep > maxDepth:
			return offset, fmt.Sprintf("lists or tables are nested more than %d deep", maxDepth)
		case keys > maxKeys || wide > maxKeys:
			return offset, fmt.Sprintf("a table has more than %d keys", maxKeys)
		case tables > maxKeys:
			return offset, fmt.Sprintf("there are more than %d tables", maxKeys)
		}
	}
	return 0, ""
}

// extent counts the levels of an expression, and the keys of the largest inline
// table in it; it stops counting above the limits.
func extent(n *unstable.Node) (deep, wide int) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable, unstable.KeyValue:
		for it := n.Key(); it.Next() && deep <= maxDepth; {
			deep++
		}
		if n.Kind == unstable.KeyValue && deep <= maxDepth {
			d, w := extent(n.Value())
			return deep + d, w
		}
	case unstable.Array, unstable.InlineTable:
		for it := n.Children(); it.Next() && deep <= maxDepth; {
			d, w := extent(it.Node())
			deep, wide = max(deep, d), max(wide, w)
			if n.Kind == unstable.InlineTable {
				wide++
			}
		}
		deep++
	}
	return deep, wide
}

// tomlFix knows the mistakes that people make.
func tomlFix(data []byte, line int) string {
	rows := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(rows) {
		return ""
	}
	row := strings.TrimSpace(string(rows[line-1]))
	_, value, assigned := strings.Cut(row, "=")
	value = strings.TrimSpace(value)
	switch {
	case bytes.HasPrefix(data, []byte("\ufeff")) && line == 1:
		return "want the file without a byte order mark"
	case assigned && (value == "True" || value == "False"):
		return "want true or false, in lower case"
	case assigned && value != "" && !strings.ContainsAny(value[:1], "\"'[{0123456789+-tf\\"):
		return "want a string in quotes"
	case !assigned && strings.Contains(row, ": "):
		return "want key = value"
	}
	return ""
}

type tomlBuilder struct {
	lines lines
	index map[*Node]map[string]*Node // values by key: a search would make long tables quadratic
}

func (b *tomlBuilder) lookup(n *Node, key string) *Node { return b.index[n][key] }

func (b *tomlBuilder) add(n *Node, key *unstable.Node, value *Node) {
	line, column := b.lines.position(int(key.Raw.Offset))
	k := &Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(key.Data), Line: line, Column: column}
	n.Content = append(n.Content, k, value)
	if b.index[n] == nil {
		b.index[n] = map[string]*Node{}
	}
	b.index[n][k.Value] = value
}

// step goes to the mapping at a key, and makes it when it is not there. In an
// array of tables that is the last one.
func (b *tomlBuilder) step(n *Node, key *unstable.Node) *Node {
	v := b.lookup(n, string(key.Data))
	if v == nil {
		v = mapping(b.lines.position(int(key.Raw.Offset)))
		b.add(n, key, v)
	}
	if v.Kind == yaml.SequenceNode && len(v.Content) > 0 {
		v = v.Content[len(v.Content)-1]
	}
	return v
}

func (b *tomlBuilder) table(root *Node, e *unstable.Node) *Node {
	n := root
	for it := e.Key(); it.Next(); {
		key := it.Node()
		if e.Kind == unstable.Table || !it.IsLast() {
			n = b.step(n, key)
			continue
		}
		list := b.lookup(n, string(key.Data))
		line, column := b.lines.position(int(key.Raw.Offset))
		if list == nil {
			list = &Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: line, Column: column}
			b.add(n, key, list)
		}
		n = mapping(line, column)
		list.Content = append(list.Content, n)
	}
	return n
}

func (b *tomlBuilder) assign(n *Node, e *unstable.Node) {
	var last *unstable.Node
	for it := e.Key(); it.Next(); {
		if last != nil {
			n = b.step(n, last)
		}
		last = it.Node()
	}
	line, column := b.lines.position(int(last.Raw.Offset))
	b.add(n, last, b.value(e.Value(), line, column))
}

// value makes a node; line and column are those of what is around it, for
// values that go-toml gives no place.
func (b *tomlBuilder) value(e *unstable.Node, line, column int) *Node {
	if e.Raw.Length > 0 {
		line, column = b.lines.position(int(e.Raw.Offset))
	}
	n := &Node{Kind: yaml.ScalarNode, Value: string(e.Data), Line: line, Column: column}
	switch e.Kind {
	case unstable.String:
		n.Tag = "!!str"
	case unstable.Bool:
		n.Tag = "!!bool"
	case unstable.Integer:
		n.Tag = "!!int"
	case unstable.Float:
		n.Tag = "!!float"
	case unstable.Array:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			n.Content = append(n.Content, b.value(it.Node(), line, column))
		}
	case unstable.InlineTable:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			b.assign(n, it.Node())
		}
	default:
		n.Tag = "!!timestamp"
	}
	return n
}
