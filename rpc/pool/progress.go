package pool

import (
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// Simulated takes what an order did on a state. A failure that lasts ends it. A result that comes
// after the order's end says nothing any more.
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

// Sent takes how a delivery ended. It counts for an order that has come to its end meanwhile too:
// its builder has it.
func (p *Pool) Sent(at time.Time, id uint64, d rpc.Delivery) []rpc.Fact {
	e := p.entries[id]
	if e == nil {
		return nil
	}
	return p.applyAll(rpc.OrderSent{At: at, OrderRef: e.order.Ref(), Delivery: d})
}
