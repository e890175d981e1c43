package app_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/gavel-relay/gavel/relay"
)

// conformanceRows are the ids of the table of checks, by letter: submissions, registrations,
// headers, payloads, data.
func conformanceRows() (ids []string) {
	for _, group := range []struct {
		letter string
		last   int
	}{{"S", 41}, {"R", 8}, {"H", 6}, {"P", 12}, {"D", 8}} {
		for i := range group.last {
			ids = append(ids, fmt.Sprintf("%s%02d", group.letter, i+1))
		}
	}
	return ids
}

// Every row has a subtest of its name in this package, and every refusal that names a row names one
// of the table.
func TestEveryRowHasASubtest(t *testing.T) {
	tested := map[string]bool{}
	files, err := filepath.Glob("*_rows_test.go")
	must(t, err)
	name := regexp.MustCompile(`^([SRHPD][0-9]{2}) `)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		must(t, err)
		ast.Inspect(parsed, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				must(t, err)
				if found := name.FindStringSubmatch(text); found != nil {
					tested[found[1]] = true
				}
			}
			return true
		})
	}
	listed := map[string]bool{}
	for _, id := range conformanceRows() {
		listed[id] = true
		if !tested[id] {
			t.Errorf("row %s has no subtest", id)
		}
	}
	for id := range tested {
		if !listed[id] {
			t.Errorf("a subtest is named after row %s, which is not in the table", id)
		}
	}
	for _, refusal := range relay.Refusals {
		if refusal.Row != "" && !listed[refusal.Row] {
			t.Errorf("refusal %s names row %s, which is not in the table", refusal.ID, refusal.Row)
		}
	}
}
