package bundle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

func TestNoEffectDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| object | member | sent by | why nothing is lost |\n|---|---|---|---|\n")
	for _, object := range Toleration() {
		places := make([]string, len(object.Places))
		for i, place := range object.Places {
			places[i] = fmt.Sprintf("`%s` `%s`", place.Method, place.Path)
		}
		for _, m := range object.Members {
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s |\n", strings.Join(places, ", "), m.Name, m.Sender, m.Why)
		}
	}
	golden.Section(t, "../../docs/rpc.md", "no effect", b.String())
}
