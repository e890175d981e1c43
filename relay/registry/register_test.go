package registry

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// batchOf is a request with these entries.
func batchOf(entries ...*relay.SignedRegistration) (batch []relay.SignedRegistration) {
	for _, entry := range entries {
		batch = append(batch, *entry)
	}
	return batch
}

// refusals are the failures of a request, of which none may be more than counted.
func refusals(t rapid.TB, r *Registry, entries []relay.SignedRegistration) []relay.RegistrationFailure {
	t.Helper()
	failures := r.Register(context.Background(), now, entries)
	if len(failures.First) != failures.Count {
		t.Errorf("%d failures listed, %d counted", len(failures.First), failures.Count)
	}
	return failures.First
}

// stored is what the registry holds of a test validator, nil if nothing counts.
func stored(r *Registry, validator int) *relay.SignedRegistration {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.find(validatorKey(validator).PublicKey()).registration()
}

// sign signs the message anew under a genesis fork version: that of the test network, or of another
// one.
func sign(t *testing.T, entry *relay.SignedRegistration, validator int,
	version phase0.Version) *relay.SignedRegistration {
	t.Helper()
	root, err := entry.Message.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	domain := (&eth.Spec{GenesisForkVersion: version}).BuilderDomain()
	return &relay.SignedRegistration{Message: entry.Message,
		Signature: validatorKey(validator).Sign(eth.SigningRoot(root, domain))}
}

// The rows of the reference. Validators 0 to 2 are known, 3 has exited; 0 has registered with gas
// limit 30,000,000 at the time of now. Each row comes in one batch behind a good entry of validator
// 2, which is stored whatever happens to the row..
func TestRegisterRows(t *testing.T) {
	const limit = 31_000_000
	ahead := func(d time.Duration) *relay.SignedRegistration { return registration(t, 1, 1, limit, now.Add(d)) }
	forged := registration(t, 1, 1, limit, now)
	forged.Message.FeeRecipient[19] ^= 1
	for name, row := range map[string]struct {
		entry     *relay.SignedRegistration // nil: an empty list
		validator int
		want      *relay.Refusal // nil: no failure
		stored    bool
	}{
		"REL-REG-04 11 s ahead":                 {ahead(11 * time.Second), 1, &relay.RegistrationTooLate, false},
		"REL-REG-04 10 s ahead":                 {ahead(10 * time.Second), 1, nil, true},
		"REL-REG-03 older than the stored one":  {registration(t, 0, 1, limit, now.Add(-time.Second)), 0, nil, false},
		"REL-REG-13 same timestamp, other gas":  {registration(t, 0, 1, limit, now), 0, nil, true},
		"REL-REG-13 same timestamp, other fees": {registration(t, 0, 2, limit, now), 0, nil, true},
		"REL-REG-05 unknown validator": {registration(t, 9, 1, limit, now), 9, &relay.RegistrationUnknownValidator,
			false},
		"REL-REG-05 exited validator": {registration(t, 3, 1, limit, now), 3, &relay.RegistrationUnknownValidator,
			false},
		"REL-REG-02 forged": {forged, 1, &relay.RegistrationSignature, false},
		"REL-REG-02 another's key": {sign(t, ahead(0), 2, testSpec.GenesisForkVersion), 1,
			&relay.RegistrationSignature, false},
		"REL-REG-02 another network": {sign(t, ahead(0), 1, phase0.Version{0x20, 0, 0, 0x90}), 1,
			&relay.RegistrationSignature, false},
		"REL-REG-02 infinity": {
			&relay.SignedRegistration{Message: ahead(0).Message, Signature: phase0.BLSSignature{0xc0}}, 1,
			&relay.RegistrationSignature, false,
		},
		"REL-REG-08 none": {},
		"before genesis": {registration(t, 1, 1, limit, testSpec.GenesisTime.Add(-time.Second)), 1,
			&relay.RegistrationTooEarly, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, facts := withValidators(4)
			r.SetValidators(validators(3))
			r.Register(t.Context(), now, batchOf(registration(t, 0, 1, 30_000_000, now)))
			*facts = nil
			if row.entry == nil {
				if failures := refusals(t, r, nil); failures != nil || len(*facts) != 0 {
					t.Errorf("%v and %d facts, want nothing", failures, len(*facts))
				}
				return
			}
			failures := refusals(t, r, batchOf(registration(t, 2, 1, limit, now), row.entry))
			if row.want == nil && len(failures) != 0 {
				t.Errorf("refused: %v", failures[0].Refused)
			}
			if row.want != nil && (len(failures) != 1 || failures[0].Index != 1 || failures[0].Refused.ID != row.want.ID) {
				t.Errorf("failures %v, want %s of entry 1", failures, row.want.ID)
			}
			if got := stored(r, row.validator); row.stored != (got != nil && *got.Message == *row.entry.Message) {
				t.Errorf("stored is %+v", got)
			}
			r.Flush(now)
			wantFacts := 1
			if row.stored {
				wantFacts = 2
			}
			if stored(r, 2) == nil || len(*facts) != wantFacts {
				t.Errorf("%d facts, want %d: the good entry is stored whatever the other is", len(*facts), wantFacts)
			}
		})
	}
}

// validators is the beacon chain's table of the first n test validators.
func validators(n int) []relay.Validator {
	table := make([]relay.Validator, n)
	for i := range table {
		table[i] = relay.Validator{Index: phase0.ValidatorIndex(i), Pubkey: validatorKey(i).PublicKey()}
	}
	return table
}

// Only new and changed entries cost a signature check.
func TestSignatureChecksAreCounted(t *testing.T) {
	r, _ := withValidators(4)
	checked := 0
	r.verifyBatch = func(triples []bls.Triple) []error {
		checked += len(triples)
		return bls.VerifyBatch(triples, 1)
	}
	batch := func(limit uint64, at time.Time) (list []relay.SignedRegistration) {
		for i := range 4 {
			list = append(list, *registration(t, i, 1, limit, at))
		}
		return list
	}
	mixed := batch(30_000_000, now.Add(time.Second))
	mixed[2] = *registration(t, 2, 1, 31_000_000, now.Add(time.Second))
	for _, row := range []struct {
		what    string
		entries []relay.SignedRegistration
		want    int
	}{
		{"new ones", batch(30_000_000, now), 4},
		{"the same again", batch(30_000_000, now), 0},
		{"the same, signed later", batch(30_000_000, now.Add(time.Second)), 4},
		{"the same, older", batch(30_000_000, now), 0},
		{"one changed", mixed, 1},
		{"older and changed", batch(32_000_000, now.Add(-time.Second)), 0},
		{"unknown", batchOf(registration(t, 9, 1, 30_000_000, now)), 0},
	} {
		checked = 0
		if r.Register(t.Context(), now, row.entries); checked != row.want {
			t.Errorf("%s: %d signatures checked, want %d", row.what, checked, row.want)
		}
	}
}

// However requests for the same validators overlap, the newest registration of each is what counts
// in the end, and the facts of a validator name each registration once.
func TestNewestRegistrationWinsConcurrently(t *testing.T) {
	const proposers, versions = 3, 6
	var signed [proposers][versions]*relay.SignedRegistration
	for i := range proposers {
		for v := range versions {
			signed[i][v] = registration(t, i, byte(v+1), 30_000_000, now.Add(time.Duration(v)*time.Second))
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		r, _ := withValidators(proposers)
		facts := new(lockedFacts)
		r.facts = facts
		batches := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, proposers*versions-1), 1, 8), 2, 5).Draw(rt, "batches")
		var newest [proposers]int
		var requests sync.WaitGroup
		for _, batch := range batches {
			var entries []relay.SignedRegistration
			for _, n := range batch {
				entries = append(entries, *signed[n/versions][n%versions])
				newest[n/versions] = max(newest[n/versions], n%versions+1)
			}
			requests.Go(func() {
				if failures := refusals(rt, r, entries); len(failures) != 0 {
					rt.Errorf("refused: %v", failures)
				}
			})
		}
		requests.Wait()
		r.Flush(now)
		for i, want := range newest {
			got := stored(r, i)
			if (got == nil) != (want == 0) || got != nil && *got.Message != *signed[i][want-1].Message {
				rt.Errorf("validator %d: %+v, want version %d", i, got, want)
			}
		}
		counted := map[[2]string]bool{}
		for _, fact := range facts.list {
			entry := fact.(relay.RegistrationStored).Registration
			content := [2]string{string(entry.Message.Pubkey[:]), string(entry.Message.FeeRecipient[:])}
			if counted[content] {
				rt.Errorf("one registration is recorded twice")
			}
			counted[content] = true
		}
	})
}

type lockedFacts struct {
	mu   sync.Mutex
	list []relay.Fact
}

func (f *lockedFacts) Record(fact relay.Fact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fact)
}

func (f *lockedFacts) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.list)
}

// Builders may poll while validators register: a version names one list only.
func TestDutiesVersionNamesOneList(t *testing.T) {
	r, _ := withValidators(2)
	r.SetDuties(0, phase0.Root{}, []relay.Duty{{Slot: 1, Proposer: validatorKey(0).PublicKey()}})
	none, first := r.Duties()
	if none == nil || len(none) != 0 {
		t.Errorf("%v, want an empty list", none)
	}
	changes := func(what string, want bool, change func()) {
		t.Helper()
		before, last := r.Duties()
		change()
		after, version := r.Duties()
		same := slices.EqualFunc(before, after, func(a, b relay.RegisteredDuty) bool {
			return a.Duty == b.Duty && *a.Registration.Message == *b.Registration.Message
		})
		if (version != last) != want || same == want {
			t.Errorf("%s: version %d then %d, same list: %v", what, last, version, same)
		}
	}
	register := func(validator int, limit uint64) func() {
		return func() {
			r.Register(t.Context(), now, batchOf(registration(t, validator, 1, limit, now)))
		}
	}
	changes("the proposer registers", true, register(0, 30_000_000))
	changes("the same again", false, register(0, 30_000_000))
	changes("another validator registers", false, register(1, 30_000_000))
	changes("the proposer changes its mind", true, register(0, 31_000_000))
	changes("the proposer exits", true, func() { r.SetValidators(validators(2)[1:]) })
	changes("the proposer is back", true, func() { r.SetValidators(validators(2)) })
	changes("the same validators", false, func() { r.SetValidators(validators(2)) })
	changes("duties move", true, func() {
		r.SetDuties(0, phase0.Root{1}, []relay.Duty{{Slot: 2, Proposer: validatorKey(1).PublicKey()}})
	})
	changes("a head in the epoch", false, func() { r.SetHead(relay.Head{Slot: 3}) })
	changes("the next epoch", true, func() { r.SetHead(relay.Head{Slot: 4}) })
	if first == 0 {
		t.Error("version 0 is nobody's")
	}
	if allocations := testing.AllocsPerRun(100, func() { r.Duties() }); allocations != 0 {
		t.Errorf("%v allocations for a list that has not changed", allocations)
	}
}

// The table may be replaced while registrations come in.
func TestRegisterWhileValidatorsChange(t *testing.T) {
	r, _ := withValidators(3)
	r.facts = new(lockedFacts)
	entries := batchOf(registration(t, 0, 1, 30_000_000, now), registration(t, 2, 1, 30_000_000, now))
	var refused atomic.Int32
	var both sync.WaitGroup
	both.Go(func() {
		for i := range 50 {
			r.SetValidators(validators(2 + i%2))
		}
	})
	both.Go(func() {
		for range 50 {
			for _, failure := range refusals(t, r, entries) {
				if failure.Index == 0 {
					refused.Add(1)
				}
			}
		}
	})
	both.Wait()
	if refused.Load() != 0 || stored(r, 0) == nil || r.Validators() != 3 {
		t.Errorf("validator 0 was refused %d times, %d validators", refused.Load(), r.Validators())
	}
}
