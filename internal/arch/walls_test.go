package arch

import "testing"

// walls are folders with one file and one importer that stay, and why.
var walls = map[string]string{}

// A folder is the promise of a boundary. One file that one package imports belongs into that
// package, unless the law or a build needs the wall (decision 17).
func TestEachFolderIsMoreThanOneFile(t *testing.T) {
	packages := list(t)
	importers := map[string]int{}
	for _, p := range packages {
		for _, imported := range p.Imports {
			importers[imported]++
		}
	}
	seen := map[string]bool{}
	for _, p := range packages {
		if !isLonely(len(p.GoFiles)+len(p.CgoFiles), importers[p.ImportPath]) {
			continue
		}
		seen[p.path()] = true
		if walls[p.path()] == "" {
			t.Errorf("%s has one file and one importer: fold it into its importer, or say here why not", p.path())
		}
	}
	for path := range walls {
		if !seen[path] {
			t.Errorf("%s is in the list of walls, but has more than one file or importer: delete it there", path)
		}
	}
}

// isLonely says whether a folder holds one file that one package uses. A package without importers
// is a program, or serves tests.
func isLonely(files, importers int) bool { return files == 1 && importers == 1 }
