package app_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

// A relay that is not there, beside a stream that answers everything with 200: nothing of the
// former is judged, and of the latter nothing passes but what asks for no more. (Ginkgo runs once
// in a process, so one test asks both.)
func TestTargetsThatAreNoServers(t *testing.T) {
	everything := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
	}))
	defer everything.Close()
	nobody := httptest.NewServer(nil)
	nobody.Close()
	where := &target.Target{Relay: &target.Relay{ProposerURL: nobody.URL}, Stream: &target.Stream{URL: everything.URL}}
	if err := where.Complete(); err != nil {
		t.Fatal(err)
	}
	r, err := app.Run(t.Context(), app.Options{Target: where, Most: clauses.Black, Patterns: []string{"REL-*", "STR-HIS-*",
		"STR-INF-*"}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Clauses {
		switch {
		case c.Interface() == "relay" && c.Verdict != clauses.NotRun && c.Verdict != clauses.NotSure:
			t.Errorf("%s is %s of a relay that is not there", c.ID, c.Verdict)
		case c.Interface() == "stream" && (c.Verdict == clauses.Pass || c.Verdict == clauses.PassLenient):
			t.Errorf("%s passes on a server that answers everything with 200", c.ID)
		}
	}
	if r.Exit != clauses.Nonconformant {
		t.Errorf("status %d", r.Exit)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	where := &target.Target{Relay: &target.Relay{ProposerURL: "http://127.0.0.1:1"}}
	for _, o := range []app.Options{
		{Target: where, Patterns: []string{"REL-NOT-01"}},
		{Target: where, Patterns: []string{"STR-*"}},
		{Target: where, Levels: []string{"sometimes"}},
	} {
		if _, err := app.Run(t.Context(), o); err == nil {
			t.Errorf("%+v ran", o)
		}
	}
}
