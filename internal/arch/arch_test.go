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
		for _, lost := range graph.Unmatched(rule.Rooms, Future) {
			t.Errorf("no room %s: the rule that guards it guards nothing; rename it in the law, too", lost)
		}
		for _, lost := range graph.Unmatched(rule.Except, Future) {
			t.Errorf("no room %s: it is an exception of a rule that needs none", lost)
		}
	}
	for _, room := range graph.Arrived(Future) {
		t.Errorf("%s exists: take it off the list of future rooms, so that its rules count", room)
	}
}

// Functions of the time package that read or wait for the wall clock.
var wallClock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

func TestPureRoomsHaveNoClockAndNoGoroutines(t *testing.T) {
	for _, p := range list(t) {
		if !slices.Contains(Pure, p.path()) {
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, found := range impurities(files, file) {
				t.Errorf("%s/%s: a pure room is told the time and starts nothing", p.path(), found)
			}
		}
	}
}

// impurities lists where a file reads the clock or starts a goroutine.
func impurities(files *token.FileSet, file *ast.File) []string {
	clock := "time"
	for _, imported := range file.Imports {
		if imported.Path.Value == `"time"` && imported.Name != nil {
			clock = imported.Name.Name
		}
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "go"
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == clock && slices.Contains(wallClock, n.Sel.Name) {
				what = "time." + n.Sel.Name
			}
		}
		if what != "" {
			at := files.Position(n.Pos())
			found = append(found, fmt.Sprintf("%s:%d: %s", filepath.Base(at.Filename), at.Line, what))
		}
		return true
	})
	return found
}

func TestImpuritiesAreFound(t *testing.T) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "x.go", `package x
import wall "time"
func f(at wall.Time) { go f(at.Add(wall.Second)); _ = wall.Now }
`, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(impurities(files, file), ", "); got != "x.go:3: go, x.go:3: time.Now" {
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
			fmt.Fprintf(&b, "\n### %s\n| room | |\n|---|---|\n", top)
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
	b.WriteString("| room | never imports | because |\n|---|---|---|\n")
	for _, rule := range Law {
		rooms := words(rule.Rooms)
		if len(rule.Except) > 0 {
			rooms += " (but not " + words(rule.Except) + ")"
		}
		banned := words(rule.Banned)
		if len(rule.Allowed) > 0 {
			banned += " (but " + words(rule.Allowed) + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", rooms, banned, rule.Because)
	}
	fmt.Fprintf(&b, "\nPure rooms read no clock, and no goroutine of theirs outlives the call: %s.\n", words(Pure))
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
			path = "every room"
			quoted[i] = path
			continue
		}
		quoted[i] = "`" + path + "`"
	}
	return strings.Join(quoted, ", ")
}
