package suite

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

// newRun is a run of a target with a relay at an address.
func newRun(t *testing.T, address string, retries int) *run {
	t.Helper()
	where := &target.Target{Relay: &target.Relay{ProposerURL: address}}
	if err := where.Complete(); err != nil {
		t.Fatal(err)
	}
	return &run{ctx: t.Context(), unanswered: map[string]int{},
		cfg: Config{Target: where, Retries: retries, Timeout: 10 * time.Second, Gone: map[string]string{}}}
}

func specOf(body func(*T)) Spec {
	return Spec{Clause: clauses.Clause{ID: "REL-STA-01"}, Title: "does it", Body: body}
}

// With retries, a spec is repeated until it passes, and each failure before is told.
func TestWhatFailsIsRetried(t *testing.T) {
	for _, row := range []struct {
		retries, passesAt int
		outcome           clauses.Outcome
		tries             int
		failures          []string
	}{
		{0, 2, clauses.Failed, 1, nil},
		{2, 1, clauses.OK, 1, nil},
		{2, 3, clauses.OK, 3, []string{"expected luck; got 1", "expected luck; got 2"}},
		{2, 9, clauses.Failed, 3, []string{"expected luck; got 1", "expected luck; got 2"}},
	} {
		n := 0
		got := newRun(t, "http://127.0.0.1:1", row.retries).judge(specOf(func(t *T) {
			n++
			t.Check(n >= row.passesAt, "luck", n)
		}))
		if got.Outcome != row.outcome || got.Tries != row.tries || !slices.Equal(got.Failures, row.failures) {
			t.Errorf("%+v: %s after %d tries, failures %q", row, got.Outcome, got.Tries, got.Failures)
		}
		if row.failures != nil && got.FirstTry != row.failures[0] {
			t.Errorf("%+v: the first try was %q", row, got.FirstTry)
		}
	}
}

// A server that stops answering in the middle of a run is asked a few times more, and no spec waits
// for it afterwards. One that answers the plain request goes on being judged.
func TestASilentTargetIsNotWaitedFor(t *testing.T) {
	for name, answersStatus := range map[string]bool{"silent": false, "silent in part": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if answersStatus && r.URL.Path == "/eth/v1/builder/status" {
					return
				}
				panic(http.ErrAbortHandler) // closes the connection
			}))
			defer server.Close()
			r := newRun(t, server.URL, 0)
			asked := 0
			var last Result
			for range 2 * mostUnanswered {
				last = r.judge(specOf(func(t *T) {
					asked++
					t.Get(t.Client(t.Target.Relay.ProposerURL), "/elsewhere")
				}))
			}
			want, outcome := mostUnanswered, clauses.Inconclusive
			if answersStatus {
				want, outcome = 2*mostUnanswered, clauses.Failed
			}
			if asked != want || last.Outcome != outcome {
				t.Errorf("asked by %d specs, want %d; the last one is %s (%s)", asked, want, last.Outcome, last.Message)
			}
		})
	}
}

// After the run's deadline no spec begins, and none fails for it.
func TestNoSpecBeginsAfterTheDeadline(t *testing.T) {
	r := newRun(t, "http://127.0.0.1:1", 3)
	var stop context.CancelFunc
	r.ctx, stop = context.WithCancel(t.Context())
	during := r.judge(specOf(func(t *T) {
		stop()
		t.Do(t.Client("http://127.0.0.1:1"), probe.Request{Method: http.MethodGet, Path: "/"})
	}))
	after := r.judge(specOf(func(*T) { t.Error("it began") }))
	for _, got := range []Result{during, after} {
		if got.Outcome != clauses.Inconclusive || got.Tries != 1 {
			t.Errorf("%s after %d tries: %s", got.Outcome, got.Tries, got.Message)
		}
	}
}
