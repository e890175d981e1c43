package arch

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The glossary is short enough to be read before the code. Each word has one meaning, a source, and
// places that exist.
func TestGlossary(t *testing.T) {
	rows := tableOf(t, "docs/glossary.md", "# Glossary")
	if len(rows) > 40 {
		t.Errorf("%d words, want at most 40", len(rows))
	}
	var words []string
	for _, row := range rows {
		if len(row) != 4 || slices.Contains(row, "") {
			t.Errorf("want word, meaning, source and place: %v", row)
			continue
		}
		if slices.Contains(words, row[0]) {
			t.Errorf("%s has two meanings", row[0])
		}
		words = append(words, row[0])
		for _, path := range quoted(row[3]) {
			if _, err := os.Stat(root + "/" + path); err != nil {
				t.Errorf("%s lives in %s: %v", row[0], path, err)
			}
		}
	}
}

// Whoever wants to change something finds the file by its name. The list is in
// docs/architecture.md; a file that is renamed is found here.
func TestChangesHaveTheirFile(t *testing.T) {
	rows := tableOf(t, "docs/architecture.md", "## Where a change goes")
	if len(rows) < 40 {
		t.Errorf("%d changes, want at least 40", len(rows))
	}
	listed, folders := map[string]bool{}, map[string]bool{}
	for _, row := range rows {
		paths := quoted(row[len(row)-1])
		if len(row) != 2 || len(paths) != 1 {
			t.Errorf("want a change and its one file: %v", row)
			continue
		}
		if file, err := os.Stat(root + "/" + paths[0]); err != nil || file.IsDir() {
			t.Errorf("%s: want a file, %s: %v", row[0], paths[0], err)
		}
		if listed[paths[0]] {
			t.Errorf("%s stands twice: one of its changes would need a file of its own", paths[0])
		}
		folder, _, _ := strings.Cut(paths[0], "/")
		listed[paths[0]], folders[folder] = true, true
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		made := strings.HasPrefix(name, ".") || slices.Contains([]string{"bin", "docs", "runs"}, name)
		if entry.IsDir() && !made && !folders[name] {
			t.Errorf("no change goes to %s", name)
		}
	}
}

// A reader who follows a submission or a bundle through the code finds each function in the file
// that docs/architecture.md names before it.
func TestWaysHaveTheirFunctions(t *testing.T) {
	raw, err := os.ReadFile(root + "/docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range []string{"### A submission, file by file", "### An eth_sendBundle, file by file"} {
		_, text, found := strings.Cut(string(raw), way)
		text, _, _ = strings.Cut(text, "\n#")
		steps := regexp.MustCompile("`([a-z0-9_/]+\\.go)`\\s+\\(((?:`\\w+`[,; ]*)+)").FindAllStringSubmatch(text, -1)
		if files := strings.Count(text, ".go`"); !found || len(steps) < 15 || len(steps) != files {
			t.Errorf("%s: %d files, %d of them with functions", way, files, len(steps))
		}
		for _, step := range steps {
			source, err := os.ReadFile(root + "/" + step[1])
			if err != nil {
				t.Error(err)
				continue
			}
			for _, name := range quoted(step[2]) {
				if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[\[(]`).Match(source) {
					t.Errorf("%s has no function %s", step[1], name)
				}
			}
		}
	}
}

// tableOf are the cells of the first table behind a heading, without its head.
func tableOf(t *testing.T, path, heading string) (rows [][]string) {
	t.Helper()
	raw, err := os.ReadFile(root + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut("\n"+string(raw), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", path, heading)
	}
	for _, line := range strings.Split(text, "\n") {
		cells, isRow := strings.CutPrefix(line, "| ")
		if !isRow && len(rows) > 0 && !strings.HasPrefix(line, "|") {
			break
		}
		if !isRow {
			continue
		}
		var row []string
		for _, cell := range strings.Split(strings.TrimSuffix(cells, "|"), " | ") {
			row = append(row, strings.TrimSpace(cell))
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table behind %q", path, heading)
	}
	return rows[1:]
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// quoted are the texts between backticks.
func quoted(cell string) (texts []string) {
	for _, m := range codeSpan.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts
}
