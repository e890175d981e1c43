package registry

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// A request that names one validator a thousand times costs one look at a signature, and the newest
// entry counts.
func TestOneSignatureForEachValidatorOfARequest(t *testing.T) {
	r, _ := withMade(3)
	checked := 0
	r.verifyBatch = func(triples []bls.Triple) []error {
		checked += len(triples)
		return byLastByte(triples)
	}
	var entries []relay.SignedRegistration
	for i := range 1000 {
		entries = append(entries, many(3, uint64(i+1), now.Add(-time.Duration(i)*time.Second), 1)...)
	}
	if failures := refusals(t, r, entries); len(failures) != 0 || checked != 3 {
		t.Errorf("%d refused, %d signatures checked, want 3", len(failures), checked)
	}
	if got := r.Newest(made(2)); got.Message.GasLimit != 1 || !got.Message.Timestamp.Equal(now) {
		t.Errorf("%+v, want the newest", got.Message)
	}
}

// If the newest entry of a validator is wrong, its others are not ignored in silence: one of them
// may have been right.
func TestOlderEntriesBehindAWrongOneAreRefused(t *testing.T) {
	r, _ := withMade(2)
	entries := many(2, 1, now, 1)
	wrong := many(1, 2, now.Add(time.Second), 0)
	failures := refusals(t, r, append(entries, wrong...))
	if len(failures) != 2 || failures[0].Index != 0 || failures[1].Index != 2 || r.Newest(made(0)) != nil ||
		r.Newest(made(1)) == nil {
		t.Errorf("%v", failures)
	}
}

// That holds for all of them, whatever order they come in.
func TestManyEntriesBehindAWrongOneAreRefused(t *testing.T) {
	const n = 5
	r, _ := withMade(1)
	var entries []relay.SignedRegistration
	for _, second := range []int{1, 0, 4, 2, 3} {
		entries = append(entries, many(1, 1, now.Add(time.Duration(second)*time.Second), 1)...)
	}
	entries[2].Signature[95] = 0
	if failures := refusals(t, r, entries); len(failures) != n || r.Newest(made(0)) != nil {
		t.Errorf("%v", failures)
	}
}

// Of very many refused entries the first hundred are listed, and all are counted.
func TestAHundredFailuresAreListed(t *testing.T) {
	r, _ := withMade(1)
	const bad = 5 * relay.MaxListedFailures
	failed := r.Register(t.Context(), now, many(bad+1, 1, now, 1))
	if failed.Count != bad || len(failed.First) != relay.MaxListedFailures {
		t.Fatalf("%d counted, %d listed", failed.Count, len(failed.First))
	}
	for i, failure := range failed.First {
		if failure.Index != i+1 {
			t.Fatalf("failure %d is of entry %d", i, failure.Index)
		}
	}
}

// When the client is gone nobody looks at the rest of its signatures.
func TestRegistrationsEndWithTheirClient(t *testing.T) {
	const chunks = 10
	r, _ := withMade(chunks * judgedTogether)
	r.processors = make(chan struct{}, 1)
	ctx, leave := context.WithCancel(t.Context())
	looked := 0
	r.verifyBatch = func(triples []bls.Triple) []error {
		looked++
		leave()
		return byLastByte(triples)
	}
	r.Register(ctx, now, many(chunks*judgedTogether, 1, now, 1))
	if looked != 1 {
		t.Errorf("%d chunks were looked at after the client had left, want the one that was begun", looked)
	}
}

// However many requests come at a time, registrations leave half of the processors to others.
func TestHalfOfTheProcessorsVerifyRegistrations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := withMade(8 * judgedTogether)
		r.facts = new(lockedFacts)
		var running, most atomic.Int32
		r.verifyBatch = func(triples []bls.Triple) []error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return byLastByte(triples)
		}
		var requests sync.WaitGroup
		for i := range 4 {
			requests.Go(func() {
				r.Register(t.Context(), now, many(8*judgedTogether, uint64(i), now, 1))
			})
		}
		requests.Wait()
		if want := max(1, runtime.GOMAXPROCS(0)/2); int(most.Load()) > want {
			t.Errorf("%d at a time, want %d", most.Load(), want)
		}
	})
}
