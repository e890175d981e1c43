package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A name is a scenario of the library, and what looks like a path is a file.
func TestOpenPlans(t *testing.T) {
	file := filepath.Join(t.TempDir(), "story.yaml")
	if err := os.WriteFile(file, []byte("slots: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	plans, err := OpenPlans([]string{"known-block", file})
	if err != nil || len(plans) != 2 || plans[0].Name != "known-block" || plans[1].Name != "story" {
		t.Errorf("%v, %v", plans, err)
	}
	for name, want := range map[string]string{
		"": "name a scenario or a file", "no-such-story": `there is no scenario "no-such-story"`,
		"./none.yaml": "read scenario: open ./none.yaml",
	} {
		if _, err := OpenPlans(strings.Fields(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", name, err, want)
		}
	}
}
