package relay_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
)

var (
	refusalID  = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	refusalRow = regexp.MustCompile(`^([SRHPD]\d\d)?$`)
)

// An id is a metric label, a log field and a row of the docs; the texts are read by people who have
// only the answer.
func TestRefusals(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range relay.Refusals {
		if seen[r.ID] {
			t.Errorf("%s: there are two of this id", r.ID)
		}
		seen[r.ID] = true
		if !refusalID.MatchString(r.ID) {
			t.Errorf("%s: an id is lower-case words with dashes", r.ID)
		}
		if !refusalRow.MatchString(r.Row) {
			t.Errorf("%s: row %q is none of the conformance table", r.ID, r.Row)
		}
		if r.Status < 400 || r.Status > 599 || http.StatusText(r.Status) == "" {
			t.Errorf("%s: status %d is no refusal", r.ID, r.Status)
		}
		if strings.TrimSpace(r.Short) != r.Short || r.Short == "" || strings.HasSuffix(r.Short, ".") {
			t.Errorf("%s: the message %q is a phrase without a full stop, since a detail may follow it", r.ID, r.Short)
		}
		if strings.TrimSpace(r.Long) != r.Long || !strings.HasSuffix(r.Long, ".") {
			t.Errorf("%s: the meaning %q is made of whole sentences", r.ID, r.Long)
		}
		if strings.Contains(r.Short+r.Long, "\n") {
			t.Errorf("%s: the texts are one line each", r.ID)
		}
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| id | status | row | message | meaning |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, r := range relay.Refusals {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", r.ID, r.Status, r.Row, cell.Replace(r.Short), cell.Replace(r.Long))
	}
	golden.Section(t, "../docs/relay.md", "refusals", b.String())
}
