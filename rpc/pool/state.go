package pool

import (
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// State is where an order is in its life; false when it is not known, or not any more.
func (p *Pool) State(id uint64) (state rpc.State, known bool) {
	if e := p.entries[id]; e != nil {
		return e.state, true
	}
	return "", false
}

// Paid notes what a landed order paid, for those who ask. The fact of its end says it too.
func (p *Pool) Paid(id uint64, valueWei *uint256.Int) {
	if e := p.entries[id]; e != nil && e.end != nil {
		e.end.valueWei = valueWei
	}
}

// Offered are the names of all builders that were offered an order: one that did not answer may have it all the same.
func (p *Pool) Offered(id uint64) []string {
	e := p.entries[id]
	if e == nil {
		return nil
	}
	var names []string
	for _, d := range e.deliveries {
		if !slices.Contains(names, d.Builder) {
			names = append(names, d.Builder)
		}
	}
	return names
}
