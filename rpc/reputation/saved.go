package reputation

import (
	"iter"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Saved is one signer of a Projection, or one order that landed, for a Projection of a later life.
// It is JSON on disk: a field may be added, never renamed.
type Saved struct {
	Signer common.Address `json:"signer"`
	// AllTime and Hours are of a signer; Paid: something that it sent has paid.
	AllTime *Sums       `json:"all_time,omitempty"`
	Paid    bool        `json:"paid,omitempty"`
	Hours   []SavedHour `json:"hours,omitempty"`
	// Order, At and ValueWei are of an order that landed, whose block may still leave the chain.
	Order    uint64       `json:"order,omitempty"`
	At       time.Time    `json:"at,omitzero"`
	ValueWei *uint256.Int `json:"value,omitempty"`
}

// SavedHour has the sums of one hour, Number since 1970.
type SavedHour struct {
	Number int64 `json:"number"`
	Sums
}

// Save is all that the projection knows, in an order that Restore wants. The projection is locked
// meanwhile.
func (v *Projection) Save() iter.Seq[Saved] {
	return func(yield func(Saved) bool) {
		v.mu.RLock()
		defer v.mu.RUnlock()
		for _, signer := range append(v.newcomers.Keys(), v.payers.Keys()...) { // the longest silent first
			r, all := v.of(signer), Sums{}
			all.add(&r.allTime)
			hours := make([]SavedHour, len(r.hours))
			for i, h := range r.hours {
				hours[i] = SavedHour{h.number, h.Sums}
			}
			if !yield(Saved{Signer: signer, AllTime: &all, Paid: v.payers.Contains(signer), Hours: hours}) {
				return
			}
		}
		for _, order := range v.landed.Keys() {
			l, _ := v.landed.Peek(order)
			if v.of(l.signer) != l.record {
				continue // the signer was forgotten since, and perhaps seen again: it is no affair of the new record
			}
			if !yield(Saved{Signer: l.signer, Order: order, At: l.at, ValueWei: l.valueWei.Clone()}) {
				return
			}
		}
	}
}

// Restore takes what an earlier life saved, before any fact. What is more than a Config allows now
// is forgotten as ever.
func (v *Projection) Restore(s Saved) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s.AllTime == nil {
		if r := v.of(s.Signer); r != nil && s.ValueWei != nil {
			v.landed.Add(s.Order, landing{s.At, *s.ValueWei, s.Signer, r})
		}
		return
	}
	r := &record{allTime: *s.AllTime}
	for _, h := range s.Hours {
		r.hours = append(r.hours, hour{h.Number, h.Sums})
	}
	slices.SortFunc(r.hours, func(a, b hour) int { return int(a.number - b.number) })
	if n := len(r.hours); n > 0 {
		if newest := time.Unix(r.hours[n-1].number*int64(time.Hour/time.Second), 0); newest.After(v.now) {
			v.now = newest
		}
	}
	v.hours += len(r.hours)
	v.enter(s.Signer, r, s.Paid)
}
