package jsonrpc

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc"
)

// Each refusal has a form, and each form is of a refusal.
func TestFormsAreComplete(t *testing.T) {
	for _, r := range rpc.Refusals {
		form := Forms[r.ID]
		if form.Code < -32768 || form.Code > -32000 {
			t.Errorf("%s: code %d is none that JSON-RPC leaves to errors of the service", r.ID, form.Code)
		}
		if (form.Status != http.StatusOK && form.Status < 400) || form.Status > 599 || http.StatusText(form.Status) == "" {
			t.Errorf("%s: status %d is neither that of an answered call nor a refusal", r.ID, form.Status)
		}
	}
	if len(Forms) != len(rpc.Refusals) || len(Statuses) != len(Forms) {
		t.Errorf("%d forms and %d statuses for %d refusals", len(Forms), len(Statuses), len(rpc.Refusals))
	}
}

// An answer is 5xx only where the service could not try: what a caller sends wrong is never our
// failure.
func TestOnlyTheServiceItselfFails(t *testing.T) {
	ours := map[string]bool{rpc.Overloaded.ID: true, rpc.NotReady.ID: true, rpc.JournalUnavailable.ID: true,
		rpc.NoOwner.ID: true, rpc.AnswerUnknown.ID: true}
	for id, status := range Statuses {
		if status >= 500 && !ours[id] {
			t.Errorf("%s has status %d", id, status)
		}
	}
}

// The answer to a single request names its refusal, whatever its dialect; pages may read it. A list
// does not: its errors may be different ones.
func TestRefusalIsNamedInTheHeader(t *testing.T) {
	server := mustServer(t, testConfig())
	for name, row := range map[string]struct{ body, dialect, want string }{
		"unknown method": {`{"jsonrpc":"2.0","id":1,"method":"nobody_knows"}`, "", rpc.MethodNotFound.ID},
		"unknown method, legacy": {`{"jsonrpc":"2.0","id":1,"method":"nobody_knows"}`, "legacy",
			rpc.MethodNotFound.ID},
		"no request": {`{`, "", rpc.ParseError.ID},
		"list":       {`[{"jsonrpc":"2.0","id":1,"method":"nobody_knows"}]`, "", ""},
		"good":       {small, "", ""},
	} {
		answer := post(server, row.body, "X-Error-Dialect", row.dialect)
		if got := answer.Header().Get("X-Refusal"); got != row.want {
			t.Errorf("%s: %q, want %q: %s", name, got, row.want, answer.Body)
		}
		if exposed := answer.Header().Get("Access-Control-Expose-Headers"); !strings.Contains(exposed, "X-Refusal") {
			t.Errorf("%s: pages may read %q", name, exposed)
		}
	}
}

func TestRefusalsDocs(t *testing.T) {
	var b strings.Builder
	b.WriteString("| id | code | HTTP status | message | meaning |\n|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, r := range rpc.Refusals {
		form := Forms[r.ID]
		fmt.Fprintf(&b, "| `%s` | %d | %d | %s | %s |\n", r.ID, form.Code, form.Status, cell.Replace(r.Short),
			cell.Replace(r.Long))
	}
	golden.Section(t, "../../docs/rpc.md", "refusals", b.String())
}
