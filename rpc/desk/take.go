package desk

import (
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/match"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// Take adds an order, which the desk owns from now on, and returns the one that stands: an earlier
// one, if this is its repetition. One that follows a hash gets the order of that hash as its first
// element: under the lock, so that it is never there without the other one.
//
// It answers when the journal has the order. Not before that is it simulated and sent, if it could
// be in the next block, so that builders never have what its signer was refused. An order that the
// journal does not ack in time has ended, and the version that it took the place of with it.
func (d *Desk) Take(at time.Time, order *rpc.Order) (*rpc.Order, error) {
	if err := d.lookCloser(order); err != nil {
		return nil, err
	}
	taken, err := d.take(at, order)
	if err != nil {
		return nil, err
	}
	err = taken.kept()
	switch {
	case taken.result == pool.Accepted || taken.result == pool.Successor:
		d.decide(taken.order, err == nil)
	case taken.result == pool.Extended && err == nil:
		d.again(taken.order)
	}
	if err != nil {
		return nil, err
	}
	return taken.order, nil
}

// lookCloser refuses a stranger's order with a signature that belongs to nobody when the room for
// strangers becomes scarce. Otherwise that is found at its simulation: to recover a sender costs as
// much as the request's own signature.
func (d *Desk) lookCloser(order *rpc.Order) error {
	d.mu.Lock()
	crowded := d.Pool.Crowded(order.Signer)
	d.mu.Unlock()
	if !crowded {
		return nil
	}
	if _, err := bundle.ToExec(&order.Bundle, d.Signer, d.Senders); errors.Is(err, bundle.ErrSignature) {
		return rpc.BundleUndecodable.With("%v", err)
	}
	return nil
}

// taken is an order on its way to the journal.
type taken struct {
	order  *rpc.Order
	result pool.Result
	// kept waits for all that the answer promises.
	kept func() error
}

// take is Take until the order is on its way to the journal.
func (d *Desk) take(at time.Time, order *rpc.Order) (taken, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head.Hash == (common.Hash{}) { // a chain may begin at time 0
		return taken{}, rpc.NotReady.Plain()
	}
	order, err := d.matched(order)
	if err != nil {
		return taken{}, err
	}
	if order.Follows != 0 && d.disclosure.full(order, d.head.Number+1) {
		return taken{}, rpc.BackrunLimited.Plain()
	}
	outcome, err := d.Pool.Add(at, d.head, order)
	if err != nil {
		return taken{}, err
	}
	if outcome.Replaced != nil { // builders learn of it from the new version, when that is sent or fails
		d.superseded[outcome.Order.ID] = d.holders(outcome.Replaced)
		d.withdraw(outcome.Facts, outcome.Replaced)
	}
	id, kept := outcome.Order.ID, func() error { return nil }
	if len(outcome.Facts) > 0 {
		kept = d.keep(outcome.Facts)
	}
	switch before := d.unkept[id]; {
	case before != nil:
		// whoever repeats an order is promised no more than who sent it first, and that one goes on with
		// it
		return taken{outcome.Order, pool.Known, both(before, kept)}, nil
	case outcome.Result != pool.Known && outcome.Result != pool.Extended:
		d.unkept[id] = kept
	}
	return taken{outcome.Order, outcome.Result, kept}, nil
}

func both(first, second func() error) func() error {
	return func() error {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
}

// decide goes on with a new order once it is known whether the journal has it: then it is
// simulated, if it could be in the next block. Else it ends, and that is recorded too: should the
// journal have it all the same, it has its end as well.
func (d *Desk) decide(order *rpc.Order, kept bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.unkept, order.ID)
	if kept {
		d.simulateNext(order)
		return
	}
	facts := d.Pool.Refuse(d.Clock.Now(), order.ID)
	d.withdraw(facts, nil)
	d.record(facts)
}

// again looks at an order whose window has become longer.
func (d *Desk) again(order *rpc.Order) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.simulateNext(order)
}

// simulateNext puts an order into the line if the next block may have it. The caller holds mu.
func (d *Desk) simulateNext(order *rpc.Order) {
	if standing := d.Pool.Order(order.ID); standing != nil && d.isNext(standing) {
		d.line.add(standing)
	}
}

// matched is the order that goes on: itself, or what it becomes with the one that it follows. The
// caller holds mu.
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
