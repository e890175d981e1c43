package pool

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// ranking has the live orders by what they promise, most first. It is put in order when somebody asks: what has changed since then is sorted and
// merged into the rest, so that a hundred thousand orders of which few have changed cost one walk through them.
type ranking struct {
	sorted  []place
	changed []place
}

// place is an order in the ranking, with what a selection looks at. A place whose value is not the order's any more is a former one.
type place struct {
	value  float64
	id     uint64
	window rpc.Window
	entry  *entry
}

// current says whether the order lives and still has this place.
func (p *place) current() bool { return p.entry.end == nil && p.entry.value == p.value }

// before orders places: more value first, then the older order.
func (p *place) before(other *place) bool {
	return p.value > other.value || p.value == other.value && p.id < other.id
}

// rank gives an order its place, by its value now.
func (p *Pool) rank(e *entry) {
	p.ready.changed = append(p.ready.changed, place{e.value, e.order.ID, e.order.Bundle.Window, e})
}

// settle merges what has changed.
func (r *ranking) settle() {
	slices.SortFunc(r.changed, func(a, b place) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	merged := make([]place, 0, len(r.sorted)+len(r.changed))
	for i, j := 0, 0; i < len(r.sorted) || j < len(r.changed); {
		var next *place
		if j == len(r.changed) || i < len(r.sorted) && r.sorted[i].before(&r.changed[j]) {
			next, i = &r.sorted[i], i+1
		} else {
			next, j = &r.changed[j], j+1
		}
		twice := len(merged) > 0 && merged[len(merged)-1].id == next.id // a value that came back
		if next.current() && !twice {
			merged = append(merged, *next)
		}
	}
	r.sorted, r.changed = merged, r.changed[:0]
}

// Ready are the live orders that a block with this number and time may have: those of signers in high standing first, then by what they promised
// to pay, then by age.
func (p *Pool) Ready(block, timestamp uint64, high func(common.Address) bool) []*rpc.Order {
	if len(p.ready.changed) > 0 || len(p.ready.sorted) != p.live {
		p.ready.settle()
	}
	standing := map[common.Address]bool{}
	first, rest := make([]*rpc.Order, 0, len(p.ready.sorted)), []*rpc.Order(nil)
	for i := range p.ready.sorted {
		at := &p.ready.sorted[i]
		if !at.window.Holds(block, timestamp) {
			continue
		}
		signer := at.entry.order.Signer
		isHigh, asked := standing[signer]
		if !asked {
			isHigh = high(signer)
			standing[signer] = isHigh
		}
		if isHigh {
			first = append(first, at.entry.order)
		} else {
			rest = append(rest, at.entry.order)
		}
	}
	return append(first, rest...)
}
