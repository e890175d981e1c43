package registry

import (
	"slices"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

var testSpec = &eth.Spec{
	GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 4,
	GenesisForkVersion: phase0.Version{0x20, 0, 0, 0x89}, Forks: []eth.ForkPoint{{Fork: eth.Fulu}},
}

// now is when the tests' requests come.
var now = testSpec.GenesisTime.Add(time.Hour)

// recorded collects facts.
type recorded []relay.Fact

func (r *recorded) Record(fact relay.Fact) { *r = append(*r, fact) }

func validatorKey(i int) *bls.SecretKey { return bls.Derive("validator", uint64(i)) }

// withValidators is a registry that knows validators 0 to n-1.
func withValidators(n int) (*Registry, *recorded) {
	facts := new(recorded)
	r := New(testSpec, facts)
	table := make([]relay.Validator, n)
	for i := range table {
		table[i] = relay.Validator{Index: phase0.ValidatorIndex(i), Pubkey: validatorKey(i).PublicKey()}
	}
	r.SetValidators(table)
	return r, facts
}

// registration of a validator, signed with its key.
func registration(t *testing.T, validator int, feeRecipient byte, gasLimit uint64,
	at time.Time) *relay.SignedRegistration {
	t.Helper()
	message := &builderv1.ValidatorRegistration{
		FeeRecipient: bellatrix.ExecutionAddress{feeRecipient}, GasLimit: gasLimit, Timestamp: at,
		Pubkey: validatorKey(validator).PublicKey(),
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return &relay.SignedRegistration{
		Message: message, Signature: validatorKey(validator).Sign(eth.SigningRoot(root, testSpec.BuilderDomain())),
	}
}

func TestGoodEntriesAreStoredEvenWhenOthersAreBad(t *testing.T) {
	r, facts := withValidators(3)
	forged := registration(t, 1, 1, 30_000_000, now)
	forged.Message.GasLimit++
	failures := refusals(t, r, batchOf(
		registration(t, 0, 1, 30_000_000, now),
		forged,
		registration(t, 2, 1, 30_000_000, now.Add(11*time.Second)),
		registration(t, 9, 1, 30_000_000, now),
		registration(t, 2, 1, 30_000_000, testSpec.GenesisTime.Add(-time.Second)),
		registration(t, 2, 1, 30_000_000, now.Add(10*time.Second))))
	want := map[int]relay.Refusal{
		1: relay.RegistrationSignature, 2: relay.RegistrationTooLate, 3: relay.RegistrationUnknownValidator,
		4: relay.RegistrationTooEarly,
	}
	if len(failures) != len(want) {
		t.Errorf("%d failures, want %d: %v", len(failures), len(want), failures)
	}
	for _, failure := range failures {
		if failure.Refused.ID != want[failure.Index].ID {
			t.Errorf("entry %d: %v, want %s", failure.Index, failure.Refused, want[failure.Index].ID)
		}
	}
	if len(*facts) != 2 {
		t.Errorf("%d facts, want one for each stored entry", len(*facts))
	}
}

// Each row registers the first entry and then the second; limit is the gas limit that counts
// afterwards.
func TestWhichRegistrationCounts(t *testing.T) {
	for name, row := range map[string]struct {
		second *relay.SignedRegistration
		limit  uint64
		facts  int
	}{
		"newer":                                  {registration(t, 0, 1, 31_000_000, now.Add(time.Second)), 31_000_000, 2},
		"REL-REG-03 older is ignored":            {registration(t, 0, 1, 31_000_000, now.Add(-time.Second)), 30_000_000, 1},
		"REL-REG-13 same timestamp, new content": {registration(t, 0, 1, 31_000_000, now), 31_000_000, 2},
		"newer without new content":              {registration(t, 0, 1, 30_000_000, now.Add(time.Second)), 30_000_000, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, facts := withValidators(1)
			for _, entry := range []*relay.SignedRegistration{registration(t, 0, 1, 30_000_000, now), row.second} {
				if failures := refusals(t, r, batchOf(entry)); len(failures) > 0 {
					t.Fatal(failures)
				}
			}
			r.SetDuties(0, phase0.Root{}, []relay.Duty{{Slot: 1, Proposer: validatorKey(0).PublicKey()}})
			if got := r.Duty(1).Registration.Message.GasLimit; got != row.limit {
				t.Errorf("gas limit %d, want %d", got, row.limit)
			}
			r.Flush(now)
			if len(*facts) != row.facts {
				t.Errorf("%d facts, want %d", len(*facts), row.facts)
			}
		})
	}
}

// The subscriber gets what a validator asks for now, once that counts. It gets no renewal that asks
// for the same, and nothing older.
func TestSubscriberGetsWhatChanges(t *testing.T) {
	r, _ := withValidators(1)
	var got []uint64
	r.Subscribe(func(now *builderv1.ValidatorRegistration) {
		if stored(r, 0).Message.GasLimit != now.GasLimit {
			t.Error("it is told before it counts")
		}
		got = append(got, now.GasLimit)
	})
	for _, entry := range []*relay.SignedRegistration{
		registration(t, 0, 1, 30_000_000, now),
		registration(t, 0, 1, 30_000_000, now.Add(time.Second)),
		registration(t, 0, 1, 31_000_000, now.Add(2*time.Second)),
		registration(t, 0, 1, 32_000_000, now.Add(time.Second)),
	} {
		if failures := refusals(t, r, batchOf(entry)); len(failures) > 0 {
			t.Fatal(failures)
		}
	}
	if !slices.Equal(got, []uint64{30_000_000, 31_000_000}) {
		t.Errorf("the subscriber got %d", got)
	}
}

// What is held, byte for byte, costs no look at its signature, and neither does the same message
// with another one: only one is right.
func TestRepeatsCostNoSignatureCheck(t *testing.T) {
	r, _ := withValidators(1)
	first := registration(t, 0, 1, 30_000_000, now)
	refusals(t, r, batchOf(first))
	r.verifyBatch = func([]bls.Triple) []error {
		t.Error("a signature is looked at")
		return nil
	}
	if failures := refusals(t, r, batchOf(first)); len(failures) > 0 {
		t.Error(failures)
	}
	again := *first
	again.Signature[5] ^= 1
	failures := refusals(t, r, batchOf(&again))
	if len(failures) != 1 || failures[0].Refused.ID != relay.RegistrationSignature.ID {
		t.Errorf("another signature over what is held: %v", failures)
	}
}

func TestRestoredRegistrationsCount(t *testing.T) {
	r, facts := withValidators(1)
	r.Restore(slices.Values([]*relay.SignedRegistration{registration(t, 0, 1, 30_000_000, now)}))
	r.SetDuties(0, phase0.Root{}, []relay.Duty{{Slot: 1, Proposer: validatorKey(0).PublicKey()}})
	if r.Duty(1).Registration == nil || len(*facts) != 0 {
		t.Error("a restored registration counts and is no new fact")
	}
}

func TestDutiesOfCurrentAndNextEpoch(t *testing.T) {
	r, _ := withValidators(2)
	r.Register(t.Context(), now, batchOf(registration(t, 0, 1, 30_000_000, now)))
	zero, one := validatorKey(0).PublicKey(), validatorKey(1).PublicKey()
	r.SetDuties(1, phase0.Root{}, []relay.Duty{{Slot: 5, Proposer: zero}, {Slot: 4, Proposer: zero},
		{Slot: 6, Index: 1, Proposer: one}})
	r.SetDuties(2, phase0.Root{}, []relay.Duty{{Slot: 8, Proposer: zero}})
	r.SetDuties(3, phase0.Root{}, []relay.Duty{{Slot: 12, Proposer: zero}})
	r.SetHead(relay.Head{Slot: 5})
	var slots []phase0.Slot
	duties, _ := r.Duties()
	for _, duty := range duties {
		slots = append(slots, duty.Slot)
	}
	if len(slots) != 3 || slots[0] != 4 || slots[1] != 5 || slots[2] != 8 {
		t.Errorf("slots %v, want 4 5 8: registered proposers of this epoch and the next", slots)
	}
	if duty := r.Duty(6); duty == nil || duty.Registration != nil {
		t.Error("a duty of an unregistered validator is known, without a registration")
	}
	if r.Duty(7) != nil {
		t.Error("a slot without a duty has one")
	}
	r.SetDuties(4, phase0.Root{}, nil)
	if r.DutiesKnown(1) || !r.DutiesKnown(2) {
		t.Error("duties are forgotten three epochs later, not sooner")
	}
}

func TestAttributesAreKeptByParentAndForgottenAfterTheirSlot(t *testing.T) {
	r, _ := withValidators(0)
	a, b := phase0.Hash32{1}, phase0.Hash32{2}
	r.SetAttributes(relay.Attributes{Slot: 7, ParentHash: a, ParentNumber: 6})
	r.SetAttributes(relay.Attributes{Slot: 7, ParentHash: b, ParentNumber: 5})
	r.SetAttributes(relay.Attributes{Slot: 7, ParentHash: a, ParentNumber: 60})
	if got := r.Attributes(7, a); got == nil || got.ParentNumber != 60 {
		t.Errorf("attributes %+v, want the last announced", got)
	}
	if r.Attributes(7, b) == nil || r.Attributes(8, a) != nil {
		t.Error("attributes are kept by parent and slot")
	}
	r.SetHead(relay.Head{Slot: 8})
	if r.Attributes(7, a) == nil {
		t.Error("attributes of the head's own slot's predecessor are still needed: the head may be re-organised")
	}
	r.SetHead(relay.Head{Slot: 9})
	if r.Attributes(7, a) != nil {
		t.Error("attributes of a slot that is over are kept")
	}
}

// What another instance has verified counts here without a new fact, if it is newer; the subscriber
// hears of it if it asks for something else.
func TestRegistrationsOfOtherInstances(t *testing.T) {
	r, facts := withValidators(1)
	var heard []byte
	r.Subscribe(func(m *builderv1.ValidatorRegistration) { heard = append(heard, m.FeeRecipient[0]) })
	key := validatorKey(0).PublicKey()
	for _, row := range []struct {
		recipient byte
		after     time.Duration
		want      byte
	}{{1, 0, 1}, {2, 10 * time.Second, 2}, {3, 5 * time.Second, 2}, {2, 20 * time.Second, 2}} {
		r.Adopt(now, registration(t, 0, row.recipient, 30_000_000, now.Add(row.after)))
		if got := r.Newest(key).Message.FeeRecipient[0]; got != row.want {
			t.Errorf("after recipient %d at %s: %d, want %d", row.recipient, row.after, got, row.want)
		}
	}
	if !slices.Equal(heard, []byte{1, 2}) || len(*facts) != 0 {
		t.Errorf("heard of recipients %v, recorded %d facts; want 1 and 2, and no fact", heard, len(*facts))
	}
	if at := r.Newest(key).Message.Timestamp; !at.Equal(now.Add(20 * time.Second)) {
		t.Errorf("renewed at %s", at)
	}
}

// Two instances that took different registrations of one second end with the same one.
func TestRegistrationsOfOneSecondAtTwoInstances(t *testing.T) {
	one, other := registration(t, 0, 1, 30_000_000, now), registration(t, 0, 2, 30_000_000, now)
	a, _ := withValidators(1)
	b, _ := withValidators(1)
	a.Register(t.Context(), now, batchOf(one))
	b.Register(t.Context(), now, batchOf(other))
	for _, r := range []*Registry{a, b} { // each hears of both, in the order of the journal
		r.Adopt(now, one)
		r.Adopt(now, other)
	}
	key := validatorKey(0).PublicKey()
	if a, b := a.Newest(key).Message.FeeRecipient[0], b.Newest(key).Message.FeeRecipient[0]; a != 2 || b != 2 {
		t.Errorf("recipients %d and %d, want the journal's last, 2", a, b)
	}
}

// An instance that changes a registration twice within a minute tells the other one, which has it
// at once, and records it only if the first one does not.
func TestRegistrationsBeforeTheyAreRecorded(t *testing.T) {
	here, recordedHere := withValidators(1)
	there, recordedThere := withValidators(1)
	here.TellOthers(there.AdoptUnrecorded)
	key := validatorKey(0).PublicKey()
	register := func(recipient byte, at time.Time) {
		here.Register(t.Context(), at, batchOf(registration(t, 0, recipient, 30_000_000, at)))
	}
	wantThere := func(recipient byte, at time.Time) {
		t.Helper()
		if got := there.Newest(key).Message; got.FeeRecipient[0] != recipient || !got.Timestamp.Equal(at) {
			t.Errorf("recipient %d at %s there, want %d at %s", got.FeeRecipient[0], got.Timestamp, recipient, at)
		}
	}
	hearFacts := func() {
		for _, f := range *recordedHere {
			stored := f.(relay.RegistrationStored)
			there.Adopt(stored.At, stored.Registration)
		}
	}
	register(1, now)
	hearFacts()
	register(2, now.Add(10*time.Second))
	wantThere(2, now.Add(10*time.Second))
	hearFacts()                          // the first one once more, which is older now
	register(2, now.Add(20*time.Second)) // only renews
	wantThere(2, now.Add(20*time.Second))
	if len(*recordedHere) != 1 || len(*recordedThere) != 0 {
		t.Fatalf("%d facts here, %d there; want 1 and 0", len(*recordedHere), len(*recordedThere))
	}

	// An older one counts at neither.
	older := registration(t, 0, 3, 30_000_000, now.Add(15*time.Second))
	there.Register(t.Context(), now.Add(21*time.Second), batchOf(older))
	if got := there.Newest(key).Message.FeeRecipient[0]; got != 2 {
		t.Errorf("recipient %d after an older registration, want 2", got)
	}

	t.Run("the first instance dies", func(t *testing.T) {
		there.recordDue(now.Add(2 * time.Minute))
		if len(*recordedThere) != 0 {
			t.Error("recorded while the first instance may still do so")
		}
		there.recordDue(now.Add(3 * time.Minute))
		if len(*recordedThere) != 1 {
			t.Errorf("%d facts, want the change", len(*recordedThere))
		}
	})
	t.Run("the first instance lives", func(t *testing.T) {
		register(4, now.Add(5*time.Minute)) // a fact at once here; told to nobody
		hearFacts()
		register(5, now.Add(5*time.Minute+time.Second))
		wantThere(5, now.Add(5*time.Minute+time.Second))
		here.recordDue(now.Add(7 * time.Minute))
		hearFacts()
		before := len(*recordedThere)
		there.recordDue(now.Add(time.Hour))
		if len(*recordedThere) != before {
			t.Error("recorded twice")
		}
	})
}

// Two registrations of one second at one instance: the first one's fact comes back from the journal
// when the second one is there already, and must not undo it.
func TestFactOfOneSecondComesBackLate(t *testing.T) {
	r, facts := withValidators(1)
	one, other := registration(t, 0, 1, 30_000_000, now), registration(t, 0, 2, 30_000_000, now)
	r.Register(t.Context(), now, batchOf(one))
	r.Register(t.Context(), now, batchOf(other))
	r.Adopt(now, one)
	if got := r.Newest(validatorKey(0).PublicKey()).Message.FeeRecipient[0]; got != 2 {
		t.Fatalf("recipient %d, want that of the later one, 2", got)
	}
	r.recordDue(now.Add(time.Minute))
	if len(*facts) != 2 {
		t.Errorf("%d facts, want 2", len(*facts))
	}
}
