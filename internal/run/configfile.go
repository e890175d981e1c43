package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/urfave/cli/v3"
)

// ConfigFlag names the file that ApplyConfigFile reads.
func ConfigFlag() cli.Flag {
	return &cli.StringFlag{Name: "config", TakesFile: true,
		Usage: "YAML file with any of these flags as keys; a flag on the command line wins over the file"}
}

// ApplyConfigFile reads the file that --config names, if any, and sets its flags unless they were
// given on the command line. Each error is one line with the file and, where possible, the line in
// it.
func ApplyConfigFile(cmd *cli.Command) error {
	path := cmd.String("config")
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Usage(fmt.Errorf("read config file: %w", err))
	}
	settings, err := parseSettings(filepath.Base(path), text)
	if err != nil {
		return Usage(err)
	}
	given := givenFlags(cmd)
	for _, s := range settings {
		if err := apply(cmd, s, given); err != nil {
			return Usage(fmt.Errorf("%s:%d: %w", filepath.Base(path), s.line, err))
		}
	}
	return nil
}

func givenFlags(cmd *cli.Command) map[string]bool {
	given := make(map[string]bool)
	for _, key := range keys(cmd) {
		given[key] = cmd.IsSet(key)
	}
	return given
}

func apply(cmd *cli.Command, s setting, given map[string]bool) error {
	allowed := keys(cmd)
	if !slices.Contains(allowed, s.key) {
		return fmt.Errorf("unknown key %q: give any of %s", s.key, strings.Join(allowed, ", "))
	}
	if given[s.key] {
		return nil
	}
	if err := cmd.Set(s.key, s.value); err != nil {
		return wrongValue(cmd, s.key, fmt.Sprintf("%q", s.value))
	}
	return nil
}

// keys are the names that a file may contain: all flags except --config.
func keys(cmd *cli.Command) []string {
	var names []string
	for _, row := range Flags(cmd) {
		if row.Name != "config" {
			names = append(names, row.Name)
		}
	}
	return names
}

// setting is a key of a file with its value, in the form that the command line would have.
type setting struct {
	key, value string
	line       int
}

// parseSettings reads YAML of one level: keys with a scalar, or with a list of scalars, which means
// the scalars joined by commas.
func parseSettings(name string, text []byte) ([]setting, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, locate(name, err)
	}
	var settings []setting
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.NullType {
			continue
		}
		pairs, ok := doc.Body.(ast.MapNode)
		if !ok {
			return nil, fmt.Errorf("%s:%d: give keys with values, as in slots: 16", name, lineOf(doc.Body))
		}
		for it := pairs.MapRange(); it.Next(); {
			s, err := settingOf(it)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, s.line, err)
			}
			settings = append(settings, s)
		}
	}
	return settings, nil
}

func settingOf(it *ast.MapNodeIter) (setting, error) {
	s := setting{key: it.Key().String(), line: lineOf(it.Key())}
	if key, ok := it.Key().(*ast.StringNode); ok {
		s.key = key.Value
	}
	nodes := []ast.Node{it.Value()}
	if list, ok := it.Value().(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	values := make([]string, len(nodes))
	for i, node := range nodes {
		text, ok := scalarText(node)
		if !ok {
			return s, fmt.Errorf("%s wants one value or a list of them", s.key)
		}
		values[i] = text
	}
	s.value = strings.Join(values, ",")
	return s, nil
}

// scalarText is the text of a value, without quotes; numbers keep their digits.
func scalarText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.NullNode:
		return "", true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	default:
		return "", false
	}
}

func lineOf(node ast.Node) int {
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// locate turns the library's error, which has several lines, into file:line: message.
func locate(name string, err error) error {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil && located.GetToken().Position != nil {
		return fmt.Errorf("%s:%d: broken YAML: %s", name, located.GetToken().Position.Line, located.GetMessage())
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s: broken YAML: %s", name, first)
}
