package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Types that say which fork something is of.
const (
	forkType    = module + "/internal/eth.Fork"
	versionType = "github.com/attestantio/go-eth2-client/spec.DataVersion"
	columnType  = module + "/internal/eth.Column["
)

// compiled is what the go command says of a package that it has compiled.
type compiled struct {
	Dir, ImportPath, Export string
	GoFiles, Imports        []string
}

// compile lists all packages of the module and what they import, with their export data.
func compile(t *testing.T) map[string]compiled {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,Imports",
		module+"/...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("compile packages: %v", err)
	}
	packages := map[string]compiled{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p compiled
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("decode packages: %v", err)
		}
		packages[p.ImportPath] = p
	}
}

// Only the table tells forks apart: other packages ask a fork what it has, or look into their
// column, which has an entry for each row. A fork that is compared is forgotten when the next one
// comes.
func TestOnlyTheTableComparesForks(t *testing.T) {
	packages := compile(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	columns := 0
	for _, p := range packages {
		if !strings.HasPrefix(p.ImportPath, module+"/") || p.ImportPath == module+"/internal/eth" || !namesForks(p) {
			continue
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		config := types.Config{Importer: imports, FakeImportC: true}
		if _, err := config.Check(p.ImportPath, files, parsed, info); err != nil {
			t.Fatalf("check %s: %v", p.ImportPath, err)
		}
		for _, file := range parsed {
			found, complete := forksTold(info, file)
			columns += complete
			for at, what := range found {
				position := files.Position(at)
				t.Errorf("%s:%d: %s: ask the fork what it has, or look into an eth.Column",
					strings.TrimPrefix(position.Filename, p.Dir[:len(p.Dir)-len(strings.TrimPrefix(p.ImportPath, module+"/"))]),
					position.Line, what)
			}
		}
	}
	if columns == 0 {
		t.Error("no column was found: the test looks at nothing")
	}
}

func namesForks(p compiled) bool {
	return slices.Contains(p.Imports, module+"/internal/eth") ||
		slices.Contains(p.Imports, "github.com/attestantio/go-eth2-client/spec")
}

// forksTold lists where a file tells forks apart, or leaves one out of a column; and counts the
// columns that have an entry for each fork.
func forksTold(info *types.Info, file *ast.File) (found map[token.Pos]string, complete int) {
	found = map[token.Pos]string{}
	isFork := func(e ast.Expr) bool {
		of := info.Types[e].Type
		return of != nil && (of.String() == forkType || of.String() == versionType)
	}
	isNamed := func(e ast.Expr) bool { // a fork by its name; 0 is none
		value := info.Types[e].Value
		return isFork(e) && value != nil && value.ExactString() != "0"
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			ordered := n.Op == token.LSS || n.Op == token.LEQ || n.Op == token.GTR || n.Op == token.GEQ
			equal := n.Op == token.EQL || n.Op == token.NEQ
			if ordered && isFork(n.X) || equal && (isNamed(n.X) || isNamed(n.Y)) {
				found[n.Pos()] = "forks are compared"
			}
		case *ast.CaseClause:
			if slices.ContainsFunc(n.List, isNamed) {
				found[n.Pos()] = "a case is of a fork"
			}
		case *ast.CompositeLit:
			of := info.Types[n].Type
			if of == nil || len(n.Elts) == 0 {
				break
			}
			if as, is := of.Underlying().(*types.Map); !is || as.Key().String() != forkType {
				break
			}
			if !strings.HasPrefix(of.String(), columnType) {
				found[n.Pos()] = "a table of forks is no eth.Column"
			} else if missing := missingIn(info, n); missing != "" {
				found[n.Pos()] = "the column has nothing for " + missing
			} else {
				complete++
			}
		}
		return true
	})
	return found, complete
}

// missingIn names the forks that a column has no entry for.
func missingIn(info *types.Info, column *ast.CompositeLit) string {
	has := map[string]bool{}
	for _, e := range column.Elts {
		if entry, is := e.(*ast.KeyValueExpr); is && info.Types[entry.Key].Value != nil {
			has[info.Types[entry.Key].Value.ExactString()] = true
		}
	}
	var missing []string
	for _, fork := range eth.Forks() {
		if !has[fmt.Sprint(uint8(fork))] {
			missing = append(missing, fork.String())
		}
	}
	return strings.Join(missing, ", ")
}
