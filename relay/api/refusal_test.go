package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// Each refusal has a status, and each status is of a refusal.
func TestStatusesAreComplete(t *testing.T) {
	for _, r := range relay.Refusals {
		if status := Statuses[r.ID]; status < 400 || status > 599 || http.StatusText(status) == "" {
			t.Errorf("%s: status %d is no refusal", r.ID, status)
		}
	}
	if len(Statuses) != len(relay.Refusals) {
		t.Errorf("%d statuses for %d refusals", len(Statuses), len(relay.Refusals))
	}
}

// An answer says by its header which refusal it is, also if the error wraps one; what is none is
// our own fault.
func TestRefuse(t *testing.T) {
	for _, row := range []struct {
		err          error
		status       int
		id, contains string
	}{
		{relay.LimitTooHigh.With("at most 7"), 400, "limit-too-high", "limit is too high: at most 7"},
		{fmt.Errorf("ask: %w", relay.NotReady.Plain()), 503, "not-ready", "not ready"},
		{errors.New("the disk is gone"), 500, "internal", "internal error"},
	} {
		answer := httptest.NewRecorder()
		Refuse(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody), row.err)
		if id := answer.Header().Get(serve.RefusalHeader); answer.Code != row.status || id != row.id ||
			!strings.Contains(answer.Body.String(), row.contains) {
			t.Errorf("%v: %d %q %s", row.err, answer.Code, id, answer.Body)
		}
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| id | status | message | meaning | clauses |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, r := range relay.Refusals {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s | %s |\n", r.ID, Statuses[r.ID], cell.Replace(r.Short),
			cell.Replace(r.Long), r.Clauses)
	}
	golden.Section(t, "../../docs/relay.md", "refusals", b.String())
}
