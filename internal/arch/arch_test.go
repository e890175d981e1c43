package arch

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

const module = "github.com/gavel-relay/gavel"

// listed is what the go command says of a package. Test files are not among its files and imports.
type listed struct {
	Dir, ImportPath, Doc       string
	GoFiles, CgoFiles, Imports []string
}

func (l listed) path() string {
	if l.ImportPath == module {
		return "."
	}
	return strings.TrimPrefix(l.ImportPath, module+"/")
}

// list asks the go command for all packages of the module, also for such as do not compile at the
// moment.
func list(t *testing.T) []listed {
	t.Helper()
	command := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,Doc,GoFiles,CgoFiles,Imports", module+"/...")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatalf("decode packages: %v", err)
		}
		packages = append(packages, p)
	}
}

func graphOf(packages []listed) Graph {
	graph := Graph{}
	for _, p := range packages {
		imports := make([]string, len(p.Imports))
		for i, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			switch own, found := strings.CutPrefix(imported, module+"/"); {
			case found:
				imports[i] = own
			case strings.Contains(first, "."):
				imports[i] = "mod:" + imported
			default:
				imports[i] = "std:" + imported
			}
		}
		graph[p.path()] = Package{p.path(), imports}
	}
	return graph
}

func TestImportLaw(t *testing.T) {
	graph := graphOf(list(t))
	for _, rule := range Law {
		for _, breach := range graph.Check(rule) {
			t.Error(breach)
		}
		for _, lost := range graph.Unmatched(rule.Packages, Future) {
			t.Errorf("no package %s: the rule that guards it guards nothing; rename it in the law, too", lost)
		}
		for _, lost := range graph.Unmatched(rule.Except, Future) {
			t.Errorf("no package %s: it is an exception of a rule that needs none", lost)
		}
	}
	for _, pkg := range graph.Arrived(Future) {
		t.Errorf("%s exists: take it off the list of future packages, so that its rules count", pkg)
	}
}

// Functions of the time package that read or wait for the wall clock.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func TestPurePackagesArePure(t *testing.T) {
	for _, p := range list(t) {
		pkg := p.path()
		if !slices.Contains(Pure, pkg) && !slices.Contains(Parallel, pkg) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			found := clockReads(files, file)
			if slices.Contains(Pure, pkg) {
				found = append(found, concurrency(files, file)...)
			}
			for _, found := range found {
				t.Errorf("%s/%s: a pure package is told the time, starts nothing and waits for nothing", pkg, found)
			}
		}
	}
}

// clockReads lists where a file reads the clock or waits for it.
func clockReads(files *token.FileSet, file *ast.File) (found []string) {
	clock := "time"
	for _, imported := range file.Imports {
		if imported.Path.Value == `"time"` && imported.Name != nil {
			clock = imported.Name.Name
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if n, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := n.X.(*ast.Ident); ok && of.Name == clock && slices.Contains(wallClock, n.Sel.Name) {
				found = append(found, at(files, n)+"time."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// concurrencyImports are what is imported to lock, to share and to wait.
var concurrencyImports = []string{`"sync"`, `"sync/atomic"`, `"golang.org/x/sync/`}

// concurrency lists where a file starts goroutines, speaks of channels, or imports what locks.
func concurrency(files *token.FileSet, file *ast.File) (found []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			if slices.ContainsFunc(concurrencyImports, func(pkg string) bool { return strings.HasPrefix(n.Path.Value, pkg) }) {
				found = append(found, at(files, n)+n.Path.Value)
			}
		case *ast.GoStmt:
			found = append(found, at(files, n)+"go")
		case *ast.ChanType:
			found = append(found, at(files, n)+"chan")
		}
		return true
	})
	return found
}

// at is the place of a node, with a colon behind it.
func at(files *token.FileSet, n ast.Node) string {
	position := files.Position(n.Pos())
	return fmt.Sprintf("%s:%d: ", filepath.Base(position.Filename), position.Line)
}

func TestImpuritiesAreFound(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "x.go", `package x
import wall "time"
import "sync"
import "sync/atomic"
import "golang.org/x/sync/errgroup"
import "synchronous"
func f(at wall.Time) { go f(at.Add(wall.Second)); _ = wall.Now }
var c <-chan int
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(clockReads(files, file), ", "); got != "x.go:7: time.Now" {
		t.Error(got)
	}
	want := `x.go:3: "sync", x.go:4: "sync/atomic", x.go:5: "golang.org/x/sync/errgroup", x.go:7: go, x.go:8: chan`
	if got := strings.Join(concurrency(files, file), ", "); got != want {
		t.Error(got)
	}
}

// A package is explained once, in one place.
func TestEachPackageHasOneComment(t *testing.T) {
	for _, p := range list(t) {
		var with []string
		names := slices.Concat(p.GoFiles, p.CgoFiles)
		for _, name := range names {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil,
				parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			if file.Doc != nil {
				with = append(with, name)
			}
		}
		if len(names) > 0 && len(with) != 1 {
			t.Errorf("%s has %d package comments %v, want one", p.path(), len(with), with)
		}
	}
}

// The tree of docs/architecture.md is what packages say of themselves.
func TestTreeDocs(t *testing.T) {
	var b strings.Builder
	top := ""
	for _, p := range list(t) {
		path := p.path()
		if folder, _, _ := strings.Cut(path, "/"); folder != top {
			top = folder
			fmt.Fprintf(&b, "\n### %s\n| package | |\n|---|---|\n", top)
		}
		pure := ""
		if slices.Contains(Pure, path) {
			pure = "*Pure.* "
		}
		fmt.Fprintf(&b, "| `%s` | %s%s |\n", path, pure, about(p))
	}
	golden.Section(t, "../../docs/architecture.md", "tree", strings.TrimPrefix(b.String(), "\n"))
}

// about is the first sentence of a package's comment, without the package's name.
func about(p listed) string {
	words := strings.Fields(p.Doc)
	if len(words) < 3 {
		return ""
	}
	rest := strings.Join(words[2:], " ")
	if rest, found := strings.CutPrefix(rest, "is "); found {
		return rest
	}
	return strings.ReplaceAll(rest, "|", `\|`)
}

func TestDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| package | never imports | because |\n|---|---|---|\n")
	for _, rule := range Law {
		packages := words(rule.Packages)
		if len(rule.Except) > 0 {
			packages += " (but not " + words(rule.Except) + ")"
		}
		banned := words(rule.Banned)
		if len(rule.Allowed) > 0 {
			banned += " (but " + words(rule.Allowed) + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", packages, banned, rule.Because)
	}
	fmt.Fprintf(&b, "\nPure packages read no clock, start no goroutine, lock nothing and have no channels: %s.\n",
		words(Pure))
	fmt.Fprintf(&b,
		"\nThese read no clock either, but use several processors within a call, since one would take too long: %s.\n",
		words(Parallel))
	if len(Future) > 0 {
		fmt.Fprintf(&b, "\nNot built yet: %s.\n", words(Future))
	}
	golden.Section(t, "../../docs/architecture.md", "import law", b.String())
}

func words(patterns []string) string {
	quoted := make([]string, len(patterns))
	for i, pattern := range patterns {
		_, path := cutKind(pattern)
		if path == "..." {
			path = "every package"
			quoted[i] = path
			continue
		}
		quoted[i] = "`" + path + "`"
	}
	return strings.Join(quoted, ", ")
}
