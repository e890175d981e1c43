package refusal_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/refusal"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/stream"
)

// A detail follows the message, and a name comes before the detail.
func TestMessages(t *testing.T) {
	var c refusal.Catalogue
	limit := c.Define("limit-too-high", "limit is too high", "The message names the greatest one.", "REL-DAT-12",
		"STR-HIS-07")
	for want, refused := range map[string]*refusal.Refused{
		"limit is too high":                     limit.Plain(),
		"limit is too high: 7":                  limit.With("%d", 7),
		"limit is too high of pages: at most 7": limit.Of("of pages", "at most %d", 7),
	} {
		if refused.Error() != want || refused.RefusalID() != "limit-too-high" {
			t.Errorf("%s: %q, want %q", refused.RefusalID(), refused, want)
		}
	}
	if len(c) != 1 || c[0] != limit || limit.Clauses != "REL-DAT-12, STR-HIS-07" || limit.Short != "limit is too high" {
		t.Errorf("%+v", c)
	}
}

var (
	id      = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	clauses = regexp.MustCompile(`^((REL|STR|RPC)-[A-Z]{3}-\d{2}(, |$))*$`)
)

// An id is a metric label, a log field and a header; the texts are read by people who have only the
// answer.
func TestCatalogues(t *testing.T) {
	for product, catalogue := range map[string]refusal.Catalogue{"relay": relay.Refusals, "rpc": rpc.Refusals,
		"stream": stream.Refusals} {
		seen := make(map[string]bool)
		for _, r := range catalogue {
			name := product + ": " + r.ID
			if seen[r.ID] {
				t.Errorf("%s: there are two of this id", name)
			}
			seen[r.ID] = true
			if !id.MatchString(r.ID) {
				t.Errorf("%s: an id is lower-case words with dashes", name)
			}
			if strings.TrimSpace(r.Short) != r.Short || r.Short == "" || strings.HasSuffix(r.Short, ".") {
				t.Errorf("%s: the message %q is a phrase without a full stop, since a detail may follow it", name, r.Short)
			}
			if strings.TrimSpace(r.Long) != r.Long || !strings.HasSuffix(r.Long, ".") {
				t.Errorf("%s: the meaning %q is made of whole sentences", name, r.Long)
			}
			if strings.Contains(r.Short+r.Long, "\n") {
				t.Errorf("%s: the texts are one line each", name)
			}
			if !clauses.MatchString(r.Clauses) {
				t.Errorf("%s: %q are no ids of clauses", name, r.Clauses)
			}
		}
		// What is not of a product answers with these: a crash, and a service that opens.
		if !seen["internal"] || !seen["not-ready"] {
			t.Errorf("%s: internal or not-ready is missing", product)
		}
	}
}
