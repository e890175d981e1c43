package pool

import (
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// State is an order's state; known is false if the pool does not have the order, or no longer.
func (p *Pool) State(id uint64) (state rpc.State, known bool) {
	if e := p.entries[id]; e != nil {
		return e.state, true
	}
	return "", false
}

// CountsFor says whether an order is alive and a block with this number and time may include it.
func (p *Pool) CountsFor(id, block, timestamp uint64) bool {
	e := p.entries[id]
	return e != nil && e.alive() && e.from <= block && e.order.Bundle.Window.Holds(block, timestamp)
}

// SetPaid stores what a landed order paid, for its status. The fact of its end has it too.
func (p *Pool) SetPaid(id uint64, valueWei *uint256.Int) {
	if e := p.entries[id]; e != nil && e.end != nil {
		e.end.valueWei = valueWei
	}
}
