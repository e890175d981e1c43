package clauses_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// What clauses follow from can be read: each statement of the sections stands in docs/spec.md
// in the same order, and nothing else does.
func TestStatementsStandInTheSpecification(t *testing.T) {
	raw, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{}
	for _, section := range c.Sections {
		for _, statement := range section.Statements {
			want = append(want, section.Name+" "+statement)
		}
	}
	described, _, found := strings.Cut(string(raw), "\n## Where the description is silent\n")
	if !found {
		t.Fatal("docs/spec.md does not say where the description ends")
	}
	got := statements(described)
	for _, id := range want {
		if !slices.Contains(got, id) {
			t.Errorf("docs/spec.md lacks %q", id)
		}
	}
	for _, id := range got {
		if !slices.Contains(want, id) {
			t.Errorf("docs/spec.md has %q, which no section states", id)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Error("docs/spec.md has another order than the sections")
	}
}

var specLine = regexp.MustCompile(`(?m)^(?:### (.+)|- \*\*(.+?)\*\*)`)

// statements are the ids in a document: the name of the section, and what begins a line in bold.
func statements(text string) []string {
	var ids []string
	section := ""
	for _, m := range specLine.FindAllStringSubmatch(text, -1) {
		if m[1] != "" {
			section = m[1]
			continue
		}
		ids = append(ids, section+" "+m[2])
	}
	return ids
}
