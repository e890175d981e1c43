package scenarios

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxBytes bounds a plan's text. People write plans, so they are much shorter.
const maxBytes = 64 << 10

// node is a YAML value without its spelling: a scalar, a list or a mapping, and the line where it
// stands.
type node struct {
	line  int
	kind  kind
	text  string // of a scalar, without quotes; numbers keep their digits
	items []*node
	pairs []pair
}

type pair struct {
	key   string
	line  int
	value *node
}

type kind int

const (
	scalar kind = iota
	list
	mapping
	empty
)

func (k kind) String() string {
	return [...]string{"one value", "a list", "keys with values", "nothing"}[k]
}

// readYAML reads one document. It refuses anchors, aliases, tags and merge keys, so that a reader
// of a plan finds each value where it applies.
func readYAML(file string, text []byte) (*node, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("%s: %d bytes: a plan has at most %d", file, len(text), maxBytes)
	}
	parsed, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, locate(file, err)
	}
	var bodies []ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil && doc.Body.Type() != ast.CommentType {
			bodies = append(bodies, doc.Body)
		}
	}
	if len(bodies) == 0 {
		return &node{line: 1, kind: empty}, nil
	}
	if len(bodies) > 1 {
		return nil, fmt.Errorf("%s:%d: a second document: a file has one plan", file, lineOf(bodies[1]))
	}
	return convert(file, bodies[0], 0)
}

// maxDepth bounds how deep values may be nested; no plan needs as much.
const maxDepth = 16

func convert(file string, from ast.Node, depth int) (*node, error) {
	n := &node{line: lineOf(from)}
	if depth > maxDepth {
		return nil, fmt.Errorf("%s:%d: nested too deep", file, n.line)
	}
	switch v := from.(type) {
	case *ast.NullNode:
		n.kind = empty
	case *ast.StringNode:
		n.text = v.Value
	case *ast.LiteralNode:
		n.text = v.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		n.text = from.GetToken().Value
	case *ast.SequenceNode:
		n.kind = list
		for _, item := range v.Values {
			one, err := convert(file, item, depth+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, one)
		}
	case ast.MapNode:
		n.kind = mapping
		for it := v.MapRange(); it.Next(); {
			if err := n.addPair(file, it, depth); err != nil {
				return nil, err
			}
		}
		if len(n.pairs) > 0 {
			n.line = n.pairs[0].line
		}
	default:
		return nil, fmt.Errorf("%s:%d: %s: write plain values, lists and keys, without anchors, aliases or tags", file,
			n.line, from.Type())
	}
	return n, nil
}

func (n *node) addPair(file string, it *ast.MapNodeIter, depth int) error {
	key, err := convert(file, it.Key(), depth+1)
	if err != nil {
		return err
	}
	if key.kind != scalar {
		return fmt.Errorf("%s:%d: a key must be a word", file, key.line)
	}
	for _, p := range n.pairs {
		if p.key == key.text {
			return fmt.Errorf("%s:%d: %s stands here a second time, first in line %d", file, key.line, key.text, p.line)
		}
	}
	value, err := convert(file, it.Value(), depth+1)
	if err != nil {
		return err
	}
	if value.kind == empty {
		value.line = key.line
	}
	n.pairs = append(n.pairs, pair{key.text, key.line, value})
	return nil
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// locate writes the library's error, which spans several lines, as file:line: message.
func locate(file string, err error) error {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil && located.GetToken().Position != nil {
		return fmt.Errorf("%s:%d: broken YAML: %s", file, located.GetToken().Position.Line, located.GetMessage())
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: broken YAML: %s", file, first)
}
