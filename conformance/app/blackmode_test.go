package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

// A spec that is judged in black mode has no world. One that asks for it all the same breaks down
// as soon as the target has refused what must be refused. (Ginkgo runs once in a process, so this
// takes a process of its own.)
func TestBlackModeNeedsNoWorld(t *testing.T) {
	const own = "GAVEL_TEST_BLACK_MODE"
	if os.Getenv(own) == "" {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestBlackModeNeedsNoWorld$", "-test.v")
		command.Env = append(os.Environ(), own+"=1")
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprint(w, `{"code":400,"message":"no"}`)
	}))
	defer refuses.Close()
	where := &target.Target{Relay: &target.Relay{ProposerURL: refuses.URL}, RPC: &target.RPC{URL: refuses.URL}}
	if err := where.Complete(); err != nil {
		t.Fatal(err)
	}
	r, err := app.Run(t.Context(), app.Options{Target: where, Most: clauses.Black, Patterns: []string{"REL-*", "RPC-*"},
		Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, c := range r.Clauses {
		switch c.Verdict {
		case clauses.SuiteError:
			t.Errorf("%s breaks down without a world: %s", c.ID, c.Why)
		case clauses.Pass:
			judged++
		default: // wrong, or not judged
		}
	}
	if judged < 10 {
		t.Errorf("%d clauses pass: the target refuses nothing", judged)
	}
}
