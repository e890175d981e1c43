package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

const root = "../.."

// What code, documents and the catalogue cite can be looked up: a statement of docs/spec.md, a page
// of docs/decisions, a clause, a test.
func TestEveryReferenceResolves(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, clause := range c.Clauses {
		known[clause.ID] = true
	}
	spec := statements(t)
	texts := sources(t)
	tests := map[string]bool{}
	for path, text := range texts {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range testFunc.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = true
			}
		}
	}
	for path, text := range texts {
		if path == "internal/arch/references_test.go" {
			continue
		}
		text = wrapped.ReplaceAllString(text, " ")
		for _, m := range cited.FindAllStringSubmatch(text, -1) {
			if !resolves(spec, m[1]) {
				t.Errorf("%s cites docs/spec.md, %q, which is no statement there", path, m[1])
			}
		}
		for _, m := range decision.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || !exists(t, "docs/decisions", n) {
				t.Errorf("%s cites decision %s, which has no page in docs/decisions", path, m[1])
			}
		}
		if row := oldRow.FindString(text); row != "" {
			t.Errorf("%s cites %s: rows of earlier plans are no references; cite a clause", path, row)
		}
		for _, id := range clauseID.FindAllString(text, -1) {
			if !known[id] && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s cites %s, which is no clause", path, id)
			}
		}
		if strings.HasPrefix(path, "docs/") && path != "docs/changes.md" {
			for _, m := range testName.FindAllStringSubmatch(text, -1) {
				if !tests[m[1]] && !strings.HasSuffix(m[1], "…") {
					t.Errorf("%s names %s, which is no test", path, m[1])
				}
			}
		}
	}
}

var (
	// wrapped is where a comment goes on in the next line: a reference may stand on both.
	wrapped = regexp.MustCompile(`\n\t*// ?`)
	// cited is a statement's id: words up to a mark that ends the reference.
	cited    = regexp.MustCompile(`docs/spec\.md, ([A-Za-z_'][A-Za-z_0-9'. ]*[A-Za-z0-9])`)
	decision = regexp.MustCompile(`\bdecision (\d+)\b`)
	clauseID = regexp.MustCompile(`\b(?:REL|STR|RPC|SID|BLD|CON)-[A-Z]{3}-\d{2}\b`)
	// oldRow is a row of tables that clauses have replaced.
	oldRow   = regexp.MustCompile(`\((?:[SRHPD]\d{1,2}(?:, )?)+\)`)
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	testName = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+…?)`")
	specLine = regexp.MustCompile(`(?m)^(?:### (.+)|- \*\*(.+?)\*\*)`)
)

// statements are the sections and statements of docs/spec.md, as they are cited.
func statements(t *testing.T) map[string]bool {
	t.Helper()
	raw, err := os.ReadFile(root + "/docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	ids, section := map[string]bool{}, ""
	for _, m := range specLine.FindAllStringSubmatch(string(raw), -1) {
		if m[1] != "" {
			section = m[1]
			ids[section] = true
			continue
		}
		ids[section+" "+m[2]] = true
	}
	return ids
}

// resolves takes "Bundle hash", "Bundle hash 2", and either of two with "and" between.
func resolves(spec map[string]bool, id string) bool {
	for _, one := range strings.Split(id, " and ") {
		for words := strings.Fields(one); ; words = words[:len(words)-1] {
			if len(words) == 0 {
				return false
			}
			// A sentence may go on behind a reference.
			if spec[strings.Join(words, " ")] {
				break
			}
		}
	}
	return true
}

func exists(t *testing.T, folder string, number int) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root, folder, "0"+strconv.Itoa(number)+"-*.md"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, folder, strconv.Itoa(number)+"-*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)+len(more) == 1
}

// sources are the texts that people write, by their paths.
func sources(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() {
			if base := entry.Name(); name != "." && (strings.HasPrefix(base, ".") || base == "bin" || base == "runs" ||
				base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".md", ".yaml", ".patch":
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts[filepath.ToSlash(name)] = string(raw)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
