package tree

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"gopkg.in/yaml.v3"
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

	b := &tomlBuilder{lines: newLines(data), index: map[*Node]map[string]*Node{}}
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
			if err := b.assign(table, e, 0); err != nil {
				return nil, err
			}
		}
	}
	if err := p.Error(); err != nil {
		return nil, syntax(0, 0, "not TOML: "+err.Error(), "")
	}
	return root, nil
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

func (b *tomlBuilder) assign(n *Node, e *unstable.Node, depth int) error {
	var last *unstable.Node
	for it := e.Key(); it.Next(); {
		if last != nil {
			n = b.step(n, last)
		}
		last = it.Node()
	}
	line, column := b.lines.position(int(last.Raw.Offset))
	v, err := b.value(e.Value(), line, column, depth)
	if err != nil {
		return err
	}
	b.add(n, last, v)
	return nil
}

// value makes a node; line and column are those of what is around it, for
// values that go-toml gives no place.
func (b *tomlBuilder) value(e *unstable.Node, line, column, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, syntax(line, column, fmt.Sprintf("lists or tables are nested more than %d deep", maxDepth), "")
	}
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
			v, err := b.value(it.Node(), line, column, depth+1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, v)
		}
	case unstable.InlineTable:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for it := e.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			if err := b.assign(n, it.Node(), depth+1); err != nil {
				return nil, err
			}
		}
	default:
		n.Tag = "!!timestamp"
	}
	return n, nil
}
