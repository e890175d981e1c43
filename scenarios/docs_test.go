package scenarios

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// TestLanguageDocs keeps the reference in docs/scenarios.md what the parser takes.
func TestLanguageDocs(t *testing.T) {
	golden.Section(t, "../docs/scenarios.md", "language", Catalogue())
}

// TestLibraryDocs lists the library there.
func TestLibraryDocs(t *testing.T) {
	var out strings.Builder
	for _, name := range Names() {
		p, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "- **%s** — %s\n", name, strings.Join(strings.Fields(p.Why), " "))
	}
	golden.Section(t, "../docs/scenarios.md", "library", out.String())
}

// The worked examples of the document are plans.
func TestWorkedExamples(t *testing.T) {
	raw, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	examples := 0
	for _, part := range strings.Split(text, "```yaml\n")[1:] {
		example, _, _ := strings.Cut(part, "```")
		if !strings.HasPrefix(example, "why:") {
			continue
		}
		examples++
		if _, err := Parse("example.yaml", []byte(example)); err != nil {
			t.Error(err)
		}
	}
	if examples < 3 {
		t.Errorf("%d worked examples, want three", examples)
	}
}
