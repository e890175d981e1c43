package suite_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

// A slow spec begins with the run: one whose turn is before it can wait for its beginning. (Ginkgo runs once in a process.)
func TestSlowSpecsRunBesideOthers(t *testing.T) {
	catalogue, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	set := suite.NewSet(catalogue)
	set.It("RPC-ENV-01", "waits for the slow one", func(t *suite.T) {
		select {
		case <-begun:
		case <-t.Done():
			t.Check(false, "the beginning of the slow spec", "none")
		}
	})
	set.Slow("RPC-ENV-02", "begins", func(*suite.T) { close(begun) })
	var order []string
	results, err := set.Run(t.Context(), suite.Config{
		Target: &target.Target{RPC: &target.RPC{URL: "http://127.0.0.1:1"}}, Selected: func(clauses.Clause) bool { return true }, Seed: 1, Timeout: 10 * time.Second,
		Progress: func(_, _ int, r suite.Result) { order = append(order, r.Clause) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(order, []string{"RPC-ENV-01", "RPC-ENV-02"}) {
		t.Fatalf("the order of the seed is %v: take another one", order)
	}
	for _, r := range results {
		if r.Outcome != verdict.OK {
			t.Errorf("%s is %s: %s", r.Clause, r.Outcome, r.Message)
		}
	}
}
