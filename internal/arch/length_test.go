package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// maxLines is what a function may have from its first line to its last: it fits a screen.
const maxLines = 60

// catalogues are lists written as functions: each entry stands for itself, and the list is read by
// looking one up.
var catalogues = map[string]string{
	"conformance/suite/relay/":   "the specs of an operation",
	"conformance/suite/rpc/":     "the specs of a method",
	"conformance/suite/stream/":  "the specs of an operation",
	"conformance/suite/sidecar/": "the specs of an operation",
	"conformance/suite/builder/": "the specs of an operation",
	"conformance/mutant/":        "the mutants of an interface",
}

// Every function outside a catalogue can be read in one look. Tests are stories and may be longer.
func TestFunctionsAreShort(t *testing.T) {
	for path, text := range goFiles(t) {
		if strings.HasSuffix(path, "_test.go") || isCatalogue(path) {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			first, last := files.Position(fn.Pos()).Line, files.Position(fn.End()).Line
			if lines := last - first + 1; lines > maxLines {
				t.Errorf("%s:%d: %s has %d lines, and may have %d", path, first, fn.Name.Name, lines, maxLines)
			}
		}
	}
}

func isCatalogue(path string) bool {
	for folder := range catalogues {
		if strings.HasPrefix(path, folder) {
			return true
		}
	}
	return false
}
