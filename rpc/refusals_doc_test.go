package rpc_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

var refusalID = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)

// An id is a metric label, a log field and a row of the docs; the texts are read by people who have
// only the answer.
func TestRefusals(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range rpc.Refusals {
		if seen[r.ID] {
			t.Errorf("%s: there are two of this id", r.ID)
		}
		seen[r.ID] = true
		if !refusalID.MatchString(r.ID) {
			t.Errorf("%s: an id is lower-case words with dashes", r.ID)
		}
		if r.Code < -32768 || r.Code > -32000 {
			t.Errorf("%s: code %d is none that JSON-RPC leaves to errors of the service", r.ID, r.Code)
		}
		if (r.Status != http.StatusOK && r.Status < 400) || r.Status > 599 || http.StatusText(r.Status) == "" {
			t.Errorf("%s: status %d is neither that of an answered call nor a refusal", r.ID, r.Status)
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

// An answer is 5xx only where the service could not try: what a caller sends wrong is never our
// failure.
func TestOnlyTheServiceItselfFails(t *testing.T) {
	ours := map[string]bool{rpc.Overloaded.ID: true, rpc.NotReady.ID: true, rpc.JournalUnavailable.ID: true}
	for _, r := range rpc.Refusals {
		if r.Status >= 500 && !ours[r.ID] {
			t.Errorf("%s has status %d", r.ID, r.Status)
		}
	}
}

func TestRefusalMessage(t *testing.T) {
	plain, detailed := rpc.HeaderNotFound.Plain(), rpc.HeaderNotFound.With("block %d", 7)
	if plain.Error() != "header not found" || detailed.Error() != "header not found: block 7" {
		t.Errorf("%q, %q", plain, detailed)
	}
	if detailed.RPCCode() != rpc.HeaderNotFound.Code || detailed.HTTPStatus() != 200 ||
		detailed.RefusalID() != "header-not-found" || detailed.RPCData() != nil {
		t.Errorf("%+v", detailed)
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| id | code | HTTP status | message | meaning |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, r := range rpc.Refusals {
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s | %s |\n", r.ID, r.Code, r.Status, cell.Replace(r.Short), cell.Replace(r.Long))
	}
	golden.Section(t, "../docs/rpc.md", "refusals", b.String())
}
