package ledger

import (
	"iter"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// SavedReputation is one signer of a Reputation, or one landed order, as a snapshot keeps it for
// the next run. It is JSON on disk: a field may be added, never renamed.
type SavedReputation struct {
	Signer common.Address `json:"signer"`
	// AllTime and Hours belong to a signer. Paid says that something it sent has paid.
	AllTime *Sums       `json:"all_time,omitempty"`
	Paid    bool        `json:"paid,omitempty"`
	Hours   []SavedHour `json:"hours,omitempty"`
	// Order, At and ValueWei belong to a landed order, whose block may still leave the chain.
	Order    uint64       `json:"order,omitempty"`
	At       time.Time    `json:"at,omitzero"`
	ValueWei *uint256.Int `json:"value,omitempty"`
}

// SavedHour has the sums of one hour; Number counts hours since 1970.
type SavedHour struct {
	Number int64 `json:"number"`
	Sums
}

// Save returns all that the projection knows, in the order that Restore needs. The projection is
// locked for reading meanwhile.
func (v *Reputation) Save() iter.Seq[SavedReputation] {
	return func(yield func(SavedReputation) bool) {
		v.mu.RLock()
		defer v.mu.RUnlock()
		for _, signer := range append(v.newcomers.Keys(), v.payers.Keys()...) { // least recently active first
			r, all := v.of(signer), Sums{}
			all.add(&r.allTime)
			hours := make([]SavedHour, len(r.hours))
			for i, h := range r.hours {
				hours[i] = SavedHour{h.number, h.Sums}
			}
			if !yield(SavedReputation{Signer: signer, AllTime: &all, Paid: v.payers.Contains(signer), Hours: hours}) {
				return
			}
		}
		for _, order := range v.landed.Keys() {
			l, _ := v.landed.Peek(order)
			if v.of(l.signer) != l.record {
				continue // the signer was forgotten, and perhaps seen again: the new record must not lose what the old one was paid
			}
			if !yield(SavedReputation{Signer: l.signer, Order: order, At: l.at, ValueWei: l.valueWei.Clone()}) {
				return
			}
		}
	}
}

// Restore adds what an earlier run saved, before any fact. What exceeds the limits of the present
// Config is forgotten as usual.
func (v *Reputation) Restore(s SavedReputation) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.AllTime == nil {
		if r := v.of(s.Signer); r != nil && s.ValueWei != nil {
			v.landed.Add(s.Order, signerLanding{s.At, *s.ValueWei, s.Signer, r})
		}
		return
	}
	r := &signerRecord{allTime: *s.AllTime}
	for _, h := range s.Hours {
		r.hours = append(r.hours, signerHour{h.Number, h.Sums})
	}
	slices.SortFunc(r.hours, func(a, b signerHour) int { return int(a.number - b.number) })
	if n := len(r.hours); n > 0 {
		if newest := time.Unix(r.hours[n-1].number*int64(time.Hour/time.Second), 0); newest.After(v.now) {
			v.now = newest
		}
	}
	v.hours += len(r.hours)
	v.enter(s.Signer, r, s.Paid)
}
