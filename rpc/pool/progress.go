package pool

import (
	"slices"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// Simulated tells what a simulation of an order found. One that no later block can change ends it.
func (p *Pool) Simulated(at time.Time, head rpc.Head, id uint64, s rpc.Simulation) []rpc.Fact {
	if !p.Live(id) {
		return nil
	}
	order := p.orders[id].order
	facts := []rpc.Fact{rpc.OrderSimulated{At: at, OrderRef: order.Ref(), Simulation: s}}
	if !s.Success && s.Lasting {
		facts = append(facts, ended(at, head, order, rpc.Failed, s.Error))
	}
	return p.applied(facts...)
}

// Sent tells how a delivery to a builder ended. It may come after the order has.
func (p *Pool) Sent(at time.Time, id uint64, d rpc.Delivery) []rpc.Fact {
	e := p.orders[id]
	if e == nil {
		return nil
	}
	return p.applied(rpc.OrderSent{At: at, OrderRef: e.order.Ref(), Delivery: d})
}

func (e *entry) simulated(f rpc.OrderSimulated) {
	e.simulations = append(last(e.simulations, keptSimulations-1), rpc.DatedSimulation{At: f.At, Simulation: f.Simulation})
	e.value = 0
	if f.Success && f.ProfitWei != nil {
		e.value = f.ProfitWei.Float64()
	}
	switch {
	case e.end != nil:
	case !f.Success:
		e.state = rpc.Submitted
	case e.state == rpc.Submitted:
		e.state = rpc.Simulated
	}
}

func (e *entry) sent(f rpc.OrderSent) {
	e.deliveries = append(last(e.deliveries, keptDeliveries-1), rpc.DatedDelivery{At: f.At, Delivery: f.Delivery})
	if f.Error != "" {
		return
	}
	if !slices.Contains(e.have, f.Builder) {
		e.have = append(e.have, f.Builder)
	}
	if e.end == nil {
		e.state = rpc.Sent
	}
}

// last are the newest n of a list, in memory of their own when some go.
func last[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	return slices.Clone(list[len(list)-n:])
}
