package registry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// byLastByte takes a signature for right whose last byte says so. It stands in for BLS where a test
// needs hundreds of signatures.
func byLastByte(triples []bls.Triple) []error {
	verdicts := make([]error, len(triples))
	for i := range triples {
		if triples[i].Signature[95] != 1 {
			verdicts[i] = errors.New("wrong")
		}
	}
	return verdicts
}

// many are entries of the first n made validators, all signed alike.
func many(n int, limit uint64, at time.Time, right byte) (list []relay.SignedRegistration) {
	for i := range n {
		entry := madeEntry(i, limit, at)
		entry.Signature[95] = right
		list = append(list, *entry)
	}
	return list
}

func withMade(n int) (*Registry, *recorded) {
	r, facts := withValidators(0)
	r.SetValidators(madeValidators(n))
	r.verifyBatch = byLastByte
	return r, facts
}

// The story of the older registration that came last: A at 1, A again at 3, B at 2. A stands, as it
// was signed at 3.
func TestOlderRegistrationDoesNotReplaceARenewedOne(t *testing.T) {
	r, _ := withValidators(1)
	r.SetDuties(0, phase0.Root{}, []relay.Duty{{Slot: 1, Proposer: validatorKey(0).PublicKey()}})
	newest := registration(t, 0, 1, 30_000_000, now.Add(3*time.Second))
	for _, entry := range []*relay.SignedRegistration{
		registration(t, 0, 1, 30_000_000, now.Add(time.Second)), newest, registration(t, 0, 2, 31_000_000,
			now.Add(2*time.Second)),
	} {
		if failures := refusals(t, r, batchOf(entry)); len(failures) > 0 {
			t.Fatal(failures)
		}
	}
	duties, _ := r.Duties()
	for where, got := range map[string]*relay.SignedRegistration{
		"registry": r.Newest(newest.Message.Pubkey), "duty": r.Duty(1).Registration, "list of duties": duties[0].Registration,
	} {
		if *got.Message != *newest.Message || got.Signature != newest.Signature {
			t.Errorf("%s: %+v, want the newest with its time and its signature", where, got.Message)
		}
	}
}

// A newer timestamp needs the validator's key like anything else.
func TestTimestampCannotBeMovedWithoutTheKey(t *testing.T) {
	r, _ := withValidators(1)
	first := registration(t, 0, 1, 30_000_000, now)
	refusals(t, r, batchOf(first))
	moved := *first
	message := *first.Message
	message.Timestamp = now.Add(5 * time.Second)
	moved.Message = &message
	failures := refusals(t, r, batchOf(&moved))
	if len(failures) != 1 || failures[0].Refused.ID != relay.RegistrationSignature.ID {
		t.Errorf("%v, want a wrong signature", failures)
	}
	if got := stored(r, 0); !got.Message.Timestamp.Equal(now) {
		t.Errorf("the timestamp is %v", got.Message.Timestamp)
	}
}

// A great batch of renewals is answered at once; what it says is held when Run has verified it, and
// only then.
func TestRenewalsOfGreatBatchesAreVerifiedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = promptRenewals + 1
		r, _ := withMade(n)
		r.facts = new(lockedFacts)
		refusals(t, r, many(n, 1, now, 1))
		later := many(n, 1, now.Add(time.Second), 1)
		later[7].Signature[95] = 0
		if failures := refusals(t, r, later); len(failures) > 0 {
			t.Fatalf("refused: %v", failures)
		}
		if got := r.Newest(made(3)); !got.Message.Timestamp.Equal(now) {
			t.Error("a renewal is shown before it is verified")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx, clock.Real{})
		time.Sleep(renewalsRest - 1)
		synctest.Wait()
		if got := r.Newest(made(3)); !got.Message.Timestamp.Equal(now) {
			t.Error("verification did not leave the processors to the rest of the renewals")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		for i := range n {
			want := now.Add(time.Second)
			if i == 7 {
				want = now
			}
			if got := r.Newest(made(i)); !got.Message.Timestamp.Equal(want) {
				t.Errorf("validator %d: %v, want %v", i, got.Message.Timestamp, want)
			}
		}
		cancel()
	})
}

// Whoever has not the key cannot keep a validator's own renewal out: not by being first, and not by
// being newer.
func TestForgedRenewalsDoNotKeepTheRightOneOut(t *testing.T) {
	const n = promptRenewals + 1
	for name, order := range map[string][]byte{"forged first": {0, 1}, "forged last": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			r, _ := withMade(n)
			refusals(t, r, many(n, 1, now, 1))
			for i, right := range order {
				refusals(t, r, many(n, 1, now.Add(time.Duration(i+1)*time.Second), right))
			}
			r.verifyRenewals(t.Context())
			for i := range n {
				if got := r.Newest(made(i)); got.Message.Timestamp.Equal(now) || got.Signature[95] != 1 {
					t.Fatalf("validator %d: %v", i, got.Message.Timestamp)
				}
			}
		})
	}
}

// What waits is of one round only, although rounds share their memory.
func TestRenewalsOfAnotherRound(t *testing.T) {
	const n = 2 * (promptRenewals + 1)
	r, _ := withMade(n)
	refusals(t, r, many(n, 1, now, 1))
	times := [n]time.Time{}
	for round := range 4 {
		at := now.Add(time.Duration(round+1) * time.Second)
		half := round % 2 * n / 2
		refusals(t, r, many(n, 1, at, 1)[half:half+n/2])
		r.verifyRenewals(t.Context())
		for i := half; i < half+n/2; i++ {
			times[i] = at
		}
		for i, want := range times {
			if want.IsZero() {
				want = now
			}
			if got := r.Newest(made(i)); !got.Message.Timestamp.Equal(want) || got.Message.GasLimit != 1 ||
				got.Message.Pubkey != made(i) {
				t.Fatalf("round %d, validator %d: %+v, want %v", round, i, got.Message, want)
			}
		}
	}
}

// What waits is bounded: beyond that a request waits for its own verification.
func TestRenewalsThatWaitAreBounded(t *testing.T) {
	const n = maxRenewals + 10
	r, _ := withMade(n)
	checked := 0
	r.verifyBatch = func(triples []bls.Triple) []error {
		checked += len(triples)
		return byLastByte(triples)
	}
	r.Restore(func(yield func(*relay.SignedRegistration) bool) {
		for _, entry := range many(n, 1, now, 1) {
			yield(&entry)
		}
	})
	if failed := r.Register(t.Context(), now, many(n, 1, now.Add(time.Second), 1)); failed.Count != 0 {
		t.Fatalf("%d refused", failed.Count)
	}
	if checked != 10 || len(r.renewals.of) != maxRenewals {
		t.Errorf("%d verified before the answer and %d wait, want 10 and %d", checked, len(r.renewals.of), maxRenewals)
	}
}
