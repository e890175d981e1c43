package overlay

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// Each mutant has a patch, each patch is a mutant's, all of them fit together, and each asks for
// its own mutant by its id.
func TestPatchesApply(t *testing.T) {
	texts, err := patched(root)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range texts {
		if _, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution); err != nil {
			t.Error(err)
		}
	}
	known := map[string]bool{}
	for _, m := range slices.Concat(All, Unnoticed) {
		known[m.ID] = true
		asked := false
		for _, text := range texts {
			asked = asked || strings.Contains(text, `overlay.On("`+m.ID+`")`)
		}
		if !asked {
			t.Errorf("no patched file asks for %s", m.ID)
		}
	}
	files, err := fs.Glob(patches, "*/*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if id := strings.TrimSuffix(filepath.Base(file), ".patch"); !known[id] {
			t.Errorf("%s is the patch of no mutant", file)
		}
	}
}

// What the patches make of the services compiles: a patch still fits when its file no longer
// imports what the mutant needs.
func TestMutantsCompile(t *testing.T) {
	texts, err := patched(root)
	if err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Write(here, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	build := []string{"build", "-overlay", file}
	for path := range texts {
		if folder := "./" + filepath.Dir(path); !slices.Contains(build, folder) {
			build = append(build, folder)
		}
	}
	command := exec.CommandContext(t.Context(), "go", build...)
	command.Dir = here
	if said, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// No source of a service speaks of a mutant.
func TestServicesHaveNoMutants(t *testing.T) {
	for _, folder := range []string{"relay", "rpc", "stream", "internal", "cmd/gavel", "devnet", "scenarios", "monitor"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			raw, err := os.ReadFile(path)
			if strings.Contains(string(raw), module+"/"+asked) {
				t.Errorf("%s imports the switch of mutants", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOverlayNamesEachCopy(t *testing.T) {
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	file, err := Write(here, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(raw, &overlay); err != nil {
		t.Fatal(err)
	}
	copied, err := os.ReadFile(overlay.Replace[filepath.Join(here, "relay", "auction", "book.go")])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(copied), `overlay.On("relay-cancel-keeps-older")`) {
		t.Error("the copy of the auction's book has no mutant")
	}
	switched, err := os.ReadFile(overlay.Replace[filepath.Join(here, "conformance", "mutant", "overlay", "switch.go")])
	if err != nil || !strings.Contains(string(switched), "built = true") {
		t.Errorf("the copy of the switch does not know that there are mutants: %v", err)
	}
}

func TestPatchesThatDoNotFit(t *testing.T) {
	const text = "a\nb\nb\nabc\n"
	for _, row := range []struct{ name, patch, want string }{
		{"fits", "--- a/f\n+++ b/f\n@@\n a\n+x\n", ""},
		{"lines that are not there", "--- a/f\n+++ b/f\n@@\n-c\n", "does not have the lines"},
		{"a part of a line", "--- a/f\n+++ b/f\n@@\n-bc\n", "does not have the lines"},
		{"twice", "--- a/f\n+++ b/f\n@@\n-b\n", "more than once"},
		{"nothing to find it by", "--- a/f\n+++ b/f\n@@\n+x\n", "no line by which"},
		{"no file", "@@\n a\n", "stands before a hunk"},
		{"no hunk", "--- a/f\n+++ b/f\n a\n", "stands before a hunk"},
		{"another sign", "--- a/f\n+++ b/f\n@@\n*a\n", "begins with none"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := Parse(row.patch)
			if err == nil {
				_, err = p.Files[0].Apply(text)
			}
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("%v, want something with %q", err, row.want)
			}
		})
	}
}
