package stream_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/stream"
)

var refusalID = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// An id is a log field and a row of the docs; the texts are read by people who have only the
// answer.
func TestRefusals(t *testing.T) {
	ours := map[string]bool{
		stream.TooManyListeners.ID: true, stream.NotReady.ID: true, stream.HistoryUnavailable.ID: true,
		stream.Overloaded.ID: true, stream.Internal.ID: true,
		stream.RateLimited.ID: true,
	}
	seen := make(map[string]bool)
	for _, r := range stream.Refusals {
		if seen[r.ID] || !refusalID.MatchString(r.ID) {
			t.Errorf("%s: an id is lower-case words with dashes, and there is one of it", r.ID)
		}
		seen[r.ID] = true
		if r.Status < 400 || http.StatusText(r.Status) == "" || r.Status >= 500 != ours[r.ID] {
			t.Errorf("%s: status %d", r.ID, r.Status)
		}
		// A listener that is told 429 never comes back (docs/spec.md, Stream over HTTP 4).
		if r.Status == http.StatusTooManyRequests {
			t.Errorf("%s: there are clients that stop for good", r.ID)
		}
		if strings.TrimSpace(r.Short) != r.Short || r.Short == "" || strings.HasSuffix(r.Short, ".") ||
			!strings.HasSuffix(r.Long, ".") {
			t.Errorf("%s: %q is a phrase, %q whole sentences", r.ID, r.Short, r.Long)
		}
	}
}

func TestRefusalMessage(t *testing.T) {
	for want, refused := range map[string]*stream.Refused{
		"no such path":                        stream.NotFound.Plain(),
		"invalid last event id: \"x\"":        stream.InvalidLastEventID.With("%q", "x"),
		"invalid query parameter limit: 0":    stream.InvalidParameter.Of("limit", "%d", 0),
		"invalid query parameter: bad escape": stream.InvalidParameter.With("bad escape"),
	} {
		if refused.Error() != want {
			t.Errorf("%q, want %q", refused, want)
		}
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("\n| id | status | message | meaning |\n|---|---|---|---|\n")
	for _, r := range stream.Refusals {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %s |\n", r.ID, r.Status, r.Short, r.Long)
	}
	golden.Section(t, "../docs/stream.md", "refusals", b.String()+"\n")
}
