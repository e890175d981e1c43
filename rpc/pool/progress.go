package pool

import (
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// Simulated records what an order did on a state. A lasting failure ends the order. A result that
// comes after the order's end is ignored.
func (p *Pool) Simulated(at time.Time, id uint64, s rpc.Simulation) []rpc.Fact {
	e := p.entries[id]
	if e == nil || !e.alive() {
		return nil
	}
	facts := p.applyAll(rpc.OrderSimulated{At: at, OrderRef: e.order.Ref(), Simulation: s})
	if !s.Success && s.Lasting {
		facts = append(facts, p.end(at, e, rpc.Failed, s.Error)...)
	}
	return facts
}

// Sent records how a delivery ended. It counts even if the order has ended meanwhile, because the
// builder has it.
func (p *Pool) Sent(at time.Time, id uint64, d rpc.Delivery) []rpc.Fact {
	e := p.entries[id]
	if e == nil {
		return nil
	}
	return p.applyAll(rpc.OrderSent{At: at, OrderRef: e.order.Ref(), Delivery: d})
}
