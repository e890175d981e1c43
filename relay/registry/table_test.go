package registry

import (
	"encoding/binary"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
)

// made is a key that nobody can sign for: the table does not care.
func made(i int) (key phase0.BLSPubKey) {
	binary.BigEndian.PutUint64(key[:], uint64(i)*0x9e3779b97f4a7c15)
	return key
}

func madeValidators(n int) []relay.Validator {
	list := make([]relay.Validator, n)
	for i := range list {
		list[i] = relay.Validator{Index: phase0.ValidatorIndex(i), Pubkey: made(i)}
	}
	return list
}

// madeEntry is an entry of such a key.
func madeEntry(i int, limit uint64, at time.Time) *relay.SignedRegistration {
	return &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{Pubkey: made(i), GasLimit: limit,
		Timestamp: at}}
}

// madeRegistrations yields n of them, each of which is garbage as soon as the next one comes.
func madeRegistrations(n int) iter.Seq[*relay.SignedRegistration] {
	return func(yield func(*relay.SignedRegistration) bool) {
		for i := range n {
			entry := madeEntry(i, 36_000_000, now)
			entry.Signature[0] = byte(i)
			if !yield(entry) {
				return
			}
		}
	}
}

func heapBytes() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// A million validators, all of them registered, with all indexes: what mainnet needs. The second
// table is what an epoch brings.
func TestMemoryOfAMillionRegistrations(t *testing.T) {
	const registrations, maxBytes = 1_000_000, 400
	before := heapBytes()
	r, _ := withValidators(0)
	r.SetValidators(madeValidators(registrations))
	r.Restore(madeRegistrations(registrations))
	r.SetValidators(madeValidators(registrations + 100)[100:])
	each := float64(heapBytes()-before) / registrations
	t.Logf("%.0f bytes a registration", each)
	if each > maxBytes {
		t.Errorf("%.0f bytes a registration, want at most %d", each, maxBytes)
	}
	if r.Validators() != registrations || r.table.find(made(registrations-1)).registration() == nil ||
		r.table.find(made(0)).known {
		t.Error("the table does not hold what it was given")
	}
	runtime.KeepAlive(r)
}

// Whatever tables follow each other, the registry knows the last one, unless it is empty: a plain
// map is the model.
func TestValidatorTableIsTheLastOneGiven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := withValidators(0)
		for _, keys := range rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 1, -1, rapid.ID), 1,
			4).Draw(t, "tables") {
			shift := rapid.IntRange(0, 2).Draw(t, "shift") // before finality a re-organisation can give a key another index
			var table []relay.Validator
			model := map[phase0.ValidatorIndex]phase0.BLSPubKey{}
			for _, key := range keys {
				v := relay.Validator{Index: phase0.ValidatorIndex(key + shift), Pubkey: made(key)}
				table, model[v.Index] = append(table, v), v.Pubkey
			}
			r.SetValidators(table)
			if r.Validators() != len(model) {
				t.Errorf("%d validators, want %d", r.Validators(), len(model))
			}
			for index := range phase0.ValidatorIndex(16) {
				got, known := r.Pubkey(index)
				if want, ok := model[index]; known != ok || got != want {
					t.Errorf("index %d: %x %v, want %x %v", index, got, known, want, ok)
				}
			}
		}
	})
}

// Registrations outlive a table that leaves their validator out, and those of a validator not seen
// yet wait for it.
func TestRegistrationsStayWhenTheTableChanges(t *testing.T) {
	r, facts := withValidators(1)
	r.Restore(slices.Values([]*relay.SignedRegistration{
		registration(t, 0, 1, 31_000_000, now), registration(t, 0, 1, 30_000_000, now.Add(-1e9)), registration(t, 1, 1,
			30_000_000, now)}))
	if got := stored(r, 0); got == nil || got.Message.GasLimit != 31_000_000 || stored(r, 1) != nil {
		t.Error("the newest restored registration of a known validator counts, that of an unknown one does not")
	}
	r.SetValidators(validators(2)[1:])
	if stored(r, 0) != nil || stored(r, 1) == nil {
		t.Error("registrations count for those in the table only")
	}
	failures := refusals(t, r, batchOf(registration(t, 0, 2, 31_000_000, now)))
	if len(failures) != 1 || failures[0].Refused.ID != relay.RegistrationUnknownValidator.ID {
		t.Errorf("REL-REG-05: %v, want an exited validator to be refused", failures)
	}
	r.SetValidators(validators(2))
	if got := stored(r, 0); got == nil || *got.Message != *registration(t, 0, 1, 31_000_000, now).Message ||
		len(*facts) != 0 {
		t.Error("a validator that is back has no registration, or restoring was a fact")
	}
}

func BenchmarkRestore100000(b *testing.B) {
	known := madeValidators(100_000)
	for b.Loop() {
		b.StopTimer()
		r, _ := withValidators(0)
		r.SetValidators(known)
		b.StartTimer()
		r.Restore(madeRegistrations(100_000))
	}
}

// BenchmarkSetValidators is what an epoch costs on mainnet: a million validators that are all
// known.
func BenchmarkSetValidators(b *testing.B) {
	known := madeValidators(1_000_000)
	r, _ := withValidators(0)
	r.SetValidators(known)
	for b.Loop() {
		r.SetValidators(known)
	}
}
