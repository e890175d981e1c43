package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

func TestDocs(t *testing.T) {
	var formats strings.Builder
	formats.WriteString("| `source` | |\n|---|---|\n")
	for _, f := range Formats {
		fmt.Fprintf(&formats, "| `%s` | %s |\n", f.Name, f.Doc)
	}
	golden.Section(t, "../../docs/replay.md", "formats", formats.String())
	golden.Section(t, "../../docs/replay.md", "exports", ExportsMarkdown())
	schema := fmt.Sprintf("Version %d.\n", Version)
	for _, table := range Tables {
		schema += "\n" + table.Markdown()
	}
	golden.Section(t, "../../docs/replay.md", "schema", schema)
}
