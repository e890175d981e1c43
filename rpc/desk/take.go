package desk

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// unmatched is the hash that a bundle follows, nil if it follows none. Nobody matches orders yet, so that there is none to follow.
func unmatched(b *rpc.Bundle) *common.Hash {
	for i := range b.Elements {
		if match := b.Elements[i].Match; match != nil {
			return match
		}
	}
	return nil
}

// Take adds an order, which the desk owns from now on, and returns the one that stands: an earlier one, if this is its repetition. If it could
// be in the next block it is simulated and sent at once.
func (d *Desk) Take(at time.Time, order *rpc.Order) (*rpc.Order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head.Number == 0 && d.head.Timestamp == 0 {
		return nil, rpc.NotReady.Plain()
	}
	if hash := unmatched(&order.Bundle); hash != nil {
		return nil, rpc.BackrunNotFound.With("%s", hash)
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
	if outcome.Result != pool.Known && outcome.Order.Bundle.Window.Holds(d.head.Number+1, d.nextTimestamp()) {
		d.line.add(outcome.Order)
	}
	return outcome.Order, nil
}
