package pool

import (
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

// CountsFor says whether an order is alive and a block with this number and time may have it.
func (p *Pool) CountsFor(id, block, timestamp uint64) bool {
	e := p.entries[id]
	return e != nil && e.alive() && e.from <= block && e.order.Bundle.Window.Holds(block, timestamp)
}

// SetPaid notes what a landed order paid, for those who ask. The fact of its end says it too.
func (p *Pool) SetPaid(id uint64, valueWei *uint256.Int) {
	if e := p.entries[id]; e != nil && e.end != nil {
		e.end.valueWei = valueWei
	}
}
