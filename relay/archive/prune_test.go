package archive

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/relay"
)

func countedAt(block byte, at time.Time) relay.Fact {
	return relay.SubmissionJudged{Trace: trace(5, block, wei(1)), ReceivedAt: at, EligibleAt: at, Verified: true}
}

// Only submissions go, only old ones, and in more batches than one.
func TestPrune(t *testing.T) {
	onEach(t, func(t *testing.T, a *Archive) {
		const old = pruneBatch + 1
		facts := []relay.Fact{delivery(trace(5, 9, wei(1))), registration(1, 30_000_000)}
		for range old {
			facts = append(facts, countedAt(1, noon.Add(-time.Microsecond)))
		}
		record(t, a, append(facts, countedAt(2, noon), countedAt(3, noon.Add(time.Second)))...)
		deleted := int64(0)
		for {
			batch, err := a.Prune(t.Context(), noon)
			deleted += batch
			if err == nil {
				break
			}
			if !errors.Is(err, projectiontest.ErrFault) {
				t.Fatal(err)
			}
		}
		if got := received(t, a, relay.TraceQuery{Limit: 10}); got != "3 2" {
			t.Errorf("received %q, want 3 2", got)
		}
		// A batch whose answer was lost is deleted, and not counted.
		if _, broken := a.projection.Database.(*projectiontest.Faulty); !broken && deleted != old {
			t.Errorf("%d deleted, want %d", deleted, old)
		}
		if got := delivered(t, a, relay.TraceQuery{Limit: 10}); got != "9" {
			t.Errorf("delivered %q, want 9", got)
		}
		if found, err := a.Registration(t.Context(), phase0.BLSPubKey{1}); err != nil || found == nil {
			t.Errorf("registration %v, %v", found, err)
		}
	})
}

// Submissions of noon, one and two o'clock are kept for an hour and a half. At three the database
// fails, so that the second goes at four, with the third.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := open(t)
		record(t, a, countedAt(1, noon), countedAt(2, noon.Add(time.Hour)), countedAt(3, noon.Add(2*time.Hour)))
		began := time.Now()
		a.projection.Database = &projectiontest.Faulty{Database: a.projection.Database, Next: func() projectiontest.Fault {
			if time.Since(began) == 3*time.Hour {
				return projectiontest.BeforeBegin
			}
			return projectiontest.None
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			a.Keep(ctx, func() time.Time { return noon.Add(time.Since(began)) }, 90*time.Minute)
			close(ended)
		}()
		for hour, want := range []string{"3 2 1", "3 2 1", "3 2", "3 2", ""} {
			synctest.Wait()
			if got := received(t, a, relay.TraceQuery{Limit: 10}); got != want {
				t.Errorf("after %d hours %q, want %q", hour, got, want)
			}
			<-time.After(time.Hour)
		}
		cancel()
		<-ended
		a.Keep(t.Context(), time.Now, 0) // keeps everything: it returns
	})
}
