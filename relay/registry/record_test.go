package registry

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
)

// A validator can sign as much as it likes: memory has its newest registration at once, the journal
// gets a change a minute.
func TestChangesAreRecordedOnceAMinute(t *testing.T) {
	r, facts := withMade(1)
	for i := range 1000 {
		at := now.Add(time.Duration(i) * time.Second / 10)
		if failed := r.Register(t.Context(), at, many(1, uint64(i), at.Truncate(time.Second), 1)); failed.Count != 0 {
			t.Fatal(failed)
		}
		if got := r.Newest(made(0)); got.Message.GasLimit != uint64(i) {
			t.Fatalf("gas limit %d, want %d", got.Message.GasLimit, i)
		}
	}
	if len(*facts) != 2 { // at 0 s and at 60 s of a hundred
		t.Errorf("%d facts", len(*facts))
	}
	r.recordDue(now.Add(119 * time.Second))
	if len(*facts) != 2 {
		t.Error("a change is recorded before its minute is over")
	}
	r.recordDue(now.Add(120 * time.Second))
	if len(*facts) != 3 || (*facts)[2].(relay.RegistrationStored).Registration.Message.GasLimit != 999 {
		t.Errorf("%d facts, want the newest change as the third", len(*facts))
	}
	if r.recordDue(now.Add(time.Hour)); len(*facts) != 3 {
		t.Error("what is recorded is recorded again")
	}
}

// Who signs the same anew each epoch costs a fact a day.
func TestRenewalsAreRecordedOnceADay(t *testing.T) {
	r, facts := withMade(1)
	const epoch = 384 * time.Second
	for at := now; at.Before(now.Add(49 * time.Hour)); at = at.Add(epoch) {
		r.Register(t.Context(), at, many(1, 1, at, 1))
		r.recordDue(at)
	}
	if len(*facts) != 3 {
		t.Errorf("%d facts in 49 hours, want 3", len(*facts))
	}
}

// Run records changes when their time has come; what waits at the end is flushed.
func TestRunRecordsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := withMade(1)
		facts := new(lockedFacts)
		r.facts = facts
		time.Sleep(time.Until(now))
		go r.Run(t.Context(), clock.Real{})
		for i := range 2 {
			r.Register(t.Context(), now, many(1, uint64(i), now, 1))
		}
		if count := facts.count(); count != 1 {
			t.Fatalf("%d facts, want one", count)
		}
		time.Sleep(2 * changeEvery)
		synctest.Wait()
		if count := facts.count(); count != 2 {
			t.Errorf("%d facts after two minutes, want two", count)
		}
	})
}
