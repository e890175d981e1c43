package pool

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// How much of an order's past is kept.
const (
	keepSimulations = 3
	keepDeliveries  = 2 // of each builder
)

// entry is an order in the pool.
type entry struct {
	order   *rpc.Order
	account *account
	// from is the first block that the order counts for: the first of its window, or a later one
	// after a cancel.
	from uint64
	// newcomer says that its signer was of class 0 when it came.
	newcomer bool
	// cell is the index of its cell in the slab.
	cell  int
	state rpc.State
	// succeededAt is when a simulation first succeeded. delivered says that a builder accepted it;
	// shared, that it was announced to searchers.
	succeededAt       time.Time
	delivered, shared bool

	simulations []rpc.DatedSimulation
	deliveries  []rpc.DatedDelivery
	end         *ending
}

// ending says how an order ended.
type ending struct {
	at         time.Time
	reason     string
	block      uint64
	blockHash  common.Hash
	replacedBy uint64
	valueWei   *uint256.Int
}

func (e *entry) alive() bool { return !e.state.Final() }

// waiting is the state of a live order, from its simulations and deliveries.
func (e *entry) waiting() rpc.State {
	switch {
	case e.delivered:
		return rpc.Sent
	case len(e.simulations) > 0 && e.simulations[len(e.simulations)-1].Success:
		return rpc.Simulated
	}
	return rpc.Submitted
}

func (e *entry) noteSimulated(at time.Time, s rpc.Simulation) {
	e.simulations = append(lastOf(e.simulations, keepSimulations-1), rpc.DatedSimulation{At: at, Simulation: s})
	if s.Success && e.succeededAt.IsZero() {
		e.succeededAt = at
	}
	if e.alive() {
		e.state = e.waiting()
	}
}

// summary sums up what happened so far. For an order that follows another one it leaves out how the
// order did: only package lifecycle decides what of that may be known, while it has both orders.
func (e *entry) summary() rpc.Summary {
	summary := rpc.Summary{Kind: e.order.Kind, ReceivedAt: e.order.ReceivedAt}
	if e.order.Follows != 0 {
		return summary
	}
	summary.SimulatedAt = e.succeededAt
	if n := len(e.simulations); n > 0 {
		summary.SimulationError = e.simulations[n-1].Error
	}
	return summary
}

// valueWei is the value of the newest simulation, nil when there is none or it failed.
func (e *entry) valueWei() *uint256.Int {
	if n := len(e.simulations); n > 0 && e.simulations[n-1].Success {
		return e.simulations[n-1].ProfitWei
	}
	return nil
}

// noteSent keeps the newest deliveries of each builder, in the order in which they ended.
func (e *entry) noteSent(at time.Time, d rpc.Delivery) {
	oldest, count := 0, 0
	for i := len(e.deliveries) - 1; i >= 0; i-- {
		if e.deliveries[i].Builder == d.Builder {
			oldest = i
			count++
		}
	}
	if count >= keepDeliveries {
		e.deliveries = slices.Delete(e.deliveries, oldest, oldest+1)
	}
	e.deliveries = append(e.deliveries, rpc.DatedDelivery{At: at, Delivery: d})
	e.delivered = e.delivered || d.Error == ""
	if e.alive() {
		e.state = e.waiting()
	}
}

// lastOf moves the newest n to the front, so that the slice never needs more memory than for what
// is kept.
func lastOf[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	return append(all[:0], all[len(all)-n:]...)
}
