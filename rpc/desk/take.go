package desk

import (
	"time"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/match"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// Take adds an order, which the desk owns from now on, and returns the one that stands: an earlier one, if this is its repetition. One that follows
// a hash gets the order of that hash as its first element: under the lock, so that it is never there without the other one. If it could be in the
// next block it is simulated and sent at once.
func (d *Desk) Take(at time.Time, order *rpc.Order) (*rpc.Order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head.Number == 0 && d.head.Timestamp == 0 {
		return nil, rpc.NotReady.Plain()
	}
	order, err := d.matched(order)
	if err != nil {
		return nil, err
	}
	outcome, err := d.Pool.Add(at, d.head, order)
	if err != nil {
		return nil, err
	}
	if outcome.Replaced != nil { // builders learn of it from the new version, when that is sent or fails
		d.superseded[outcome.Order.ID] = d.holders(outcome.Replaced)
		d.withdraw(outcome.Facts, outcome.Replaced)
	}
	d.record(outcome.Facts)
	if outcome.Result != pool.Known && d.isNext(outcome.Order) {
		d.line.add(outcome.Order)
	}
	return outcome.Order, nil
}

// matched is the order that goes on: itself, or what it becomes with the one that it follows. The caller holds mu.
func (d *Desk) matched(order *rpc.Order) (*rpc.Order, error) {
	wanted := match.Wanted(order)
	if wanted == nil {
		return order, nil
	}
	target := d.Pool.Shared(*wanted)
	if target == nil {
		return nil, rpc.BackrunNotFound.With("%s", wanted)
	}
	return match.Join(order, target)
}

// isNext says whether the block after the head may have an order. The caller holds mu.
func (d *Desk) isNext(order *rpc.Order) bool {
	return d.Pool.Counts(order.ID, d.head.Number+1, d.nextTimestamp())
}
