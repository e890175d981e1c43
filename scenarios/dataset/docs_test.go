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
	golden.Section(t, "../../docs/replay.md", "schema",
		fmt.Sprintf("Version %d.\n\n%s\n%s\n%s\n%s\n%s\n%s\n%s", Version, Bids.Markdown(), Deliveries.Markdown(), Registrations.Markdown(),
			Requests.Markdown(), Slots.Markdown(), Stages.Markdown(), Orders.Markdown()))
}
