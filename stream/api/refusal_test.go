package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/stream"
)

// Each refusal has a status, and each status is of a refusal. What a caller sends wrong is never
// our failure.
func TestStatusesAreComplete(t *testing.T) {
	ours := map[string]bool{
		stream.TooManyListeners.ID: true, stream.NotReady.ID: true, stream.HistoryUnavailable.ID: true,
		stream.Overloaded.ID: true, stream.Internal.ID: true,
		stream.RateLimited.ID: true,
	}
	for _, r := range stream.Refusals {
		status := Statuses[r.ID]
		if status < 400 || http.StatusText(status) == "" || status >= 500 != ours[r.ID] {
			t.Errorf("%s: status %d", r.ID, status)
		}
		// A listener that is told 429 never comes back (docs/spec.md, Stream over HTTP 4).
		if status == http.StatusTooManyRequests {
			t.Errorf("%s: there are clients that stop for good", r.ID)
		}
	}
	if len(Statuses) != len(stream.Refusals) {
		t.Errorf("%d statuses for %d refusals", len(Statuses), len(stream.Refusals))
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| id | status | message | meaning |\n|---|---|---|---|\n")
	for _, r := range stream.Refusals {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", r.ID, Statuses[r.ID], r.Short, r.Long)
	}
	golden.Section(t, "../../docs/stream.md", "refusals", b.String()+"\n")
}
