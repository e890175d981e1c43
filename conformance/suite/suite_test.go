package suite_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/target"
)

// A slow spec begins with the run: one whose turn is before it can wait for its beginning. What
// comes to no verdict is tried once more, with other choices, for as long as there are not too many
// of it; what is not begun is not. (Ginkgo runs once in a process.)
func TestRun(t *testing.T) {
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
	var tries []uint64
	set.It("RPC-ENV-03", "knows at the second try", func(t *suite.T) {
		if tries = append(tries, t.Random.Uint64()); len(tries) < 2 {
			t.Inconclusive("a bad moment")
		}
	})
	set.It("RPC-ENV-04", "fails", func(t *suite.T) { t.Check(false, "that it fails once", "so") })
	unsure := 0
	for n := range 20 {
		set.It("RPC-ENV-05", fmt.Sprint("never knows ", n), func(t *suite.T) {
			unsure++
			t.Inconclusive("who knows")
		})
	}
	set.It("RPC-SHR-27", "needs a world", func(*suite.T) { t.Error("it began without one") })
	set.It("RPC-ENV-06", "comes last", func(*suite.T) {})
	set.Specs[len(set.Specs)-1].Last = true
	set.It("RPC-ENV-07", "comes before it", func(*suite.T) {})
	var order []string
	results, err := set.Run(t.Context(), suite.Config{
		Target: &target.Target{RPC: &target.RPC{URL: "http://127.0.0.1:1"}}, Selected: func(clauses.Clause) bool {
			return true
		}, Seed: 1, Timeout: 10 * time.Second,
		Again: true,
		Progress: func(_, _ int, r suite.Result) {
			if r.Clause == "RPC-ENV-01" || r.Clause == "RPC-ENV-02" {
				order = append(order, r.Clause)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if last := results[len(results)-1]; last.Clause != "RPC-ENV-06" {
		t.Errorf("%s came last", last.Clause)
	}
	if !slices.Equal(order, []string{"RPC-ENV-01", "RPC-ENV-02"}) {
		t.Fatalf("the order of the seed is %v: take another one", order)
	}
	second := 0
	for _, r := range results {
		want, first := clauses.OK, ""
		switch r.Clause {
		case "RPC-ENV-03":
			first = "a bad moment"
		case "RPC-ENV-04":
			want = clauses.Failed
		case "RPC-ENV-05":
			if want, first = clauses.Inconclusive, r.FirstTry; first != "" {
				second++
			}
		case "RPC-SHR-27":
			want = clauses.Inconclusive
		}
		if r.Outcome != want || r.FirstTry != first {
			t.Errorf("%s is %s (%s), and was %q; want %s, %q", r.Clause, r.Outcome, r.Message, r.FirstTry, want, first)
		}
	}
	if len(tries) != 2 || tries[0] == tries[1] {
		t.Errorf("the choices of two tries: %d", tries)
	}
	if second < 11 || unsure != 20+second || second > 12 {
		t.Errorf("%d of 20 specs without a verdict were tried twice, in %d tries; want 11 or 12", second, unsure)
	}
}
