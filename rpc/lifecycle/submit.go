package lifecycle

import (
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// Submit adds an order, which the lifecycle owns from now on, and returns the one that stands: an
// earlier one, if this is its repetition. One that follows a hash gets the order of that hash as
// its first element: under the lock, so that it is never there without the other one.
//
// It answers when the journal has the order. Not before that is it simulated and sent, if it could
// be in the next block, so that builders never have what its signer was refused. An order that the
// journal does not ack in time has ended, and the version that it took the place of with it.
func (l *Lifecycle) Submit(at time.Time, order *rpc.Order) (*rpc.Order, error) {
	if err := l.checkSignaturesIfCrowded(order); err != nil {
		return nil, err
	}
	added, err := l.addToPool(at, order)
	if err != nil {
		return nil, err
	}
	err = added.waitKept()
	switch {
	case added.result == pool.Accepted || added.result == pool.Successor:
		l.finishSubmit(added.order, err == nil)
	case added.result == pool.Extended && err == nil:
		l.simulateExtended(added.order)
	}
	if err != nil {
		return nil, err
	}
	return added.order, nil
}

// checkSignaturesIfCrowded refuses a newcomer's order with a signature that belongs to nobody when
// the room for newcomers becomes scarce. Otherwise that is found at its simulation: to recover a
// sender costs as much as the request's own signature.
func (l *Lifecycle) checkSignaturesIfCrowded(order *rpc.Order) error {
	l.mu.Lock()
	crowded := l.Pool.Crowded(order.Signer)
	l.mu.Unlock()
	if !crowded {
		return nil
	}
	if _, err := bundle.ToExec(&order.Bundle, l.Senders); errors.Is(err, bundle.ErrSignature) {
		return rpc.BundleUndecodable.With("%v", err)
	}
	return nil
}

// submission is an order on its way to the journal.
type submission struct {
	order  *rpc.Order
	result pool.Result
	// waitKept waits for all that the answer promises.
	waitKept func() error
}

// addToPool takes an order in, up to where it is on its way to the journal.
func (l *Lifecycle) addToPool(at time.Time, order *rpc.Order) (submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.Hash == (common.Hash{}) { // a chain may begin at time 0
		return submission{}, rpc.NotReady.Plain()
	}
	order, err := l.joinMatch(order)
	if err != nil {
		return submission{}, err
	}
	if order.Follows != 0 && l.disclosure.isFull(order, l.head.Number+1) {
		return submission{}, rpc.BackrunLimited.Plain()
	}
	outcome, err := l.Pool.Add(at, l.head, order)
	if err != nil {
		return submission{}, err
	}
	if outcome.Replaced != nil { // builders learn of it from the new version, when that is sent or fails
		l.superseded[outcome.Order.ID] = l.buildersWith(outcome.Replaced)
		l.withdraw(outcome.Facts, outcome.Replaced)
	}
	id, kept := outcome.Order.ID, func() error { return nil }
	if len(outcome.Facts) > 0 {
		kept = l.keep(outcome.Facts)
	}
	switch before := l.unacked[id]; {
	case before != nil:
		// whoever repeats an order is promised no more than who sent it first, and that one goes on with
		// it
		return submission{outcome.Order, pool.Known, waitBoth(before, kept)}, nil
	case outcome.Result != pool.Known && outcome.Result != pool.Extended:
		l.unacked[id] = kept
	}
	return submission{outcome.Order, outcome.Result, kept}, nil
}

// joinMatch is the order that goes on: itself, or what it becomes with the one that it follows. The
// caller holds mu.
func (l *Lifecycle) joinMatch(order *rpc.Order) (*rpc.Order, error) {
	wanted := bundle.WantedMatch(order)
	if wanted == nil {
		return order, nil
	}
	target := l.Pool.Shared(*wanted)
	if target == nil {
		return nil, rpc.BackrunNotFound.With("%s", wanted)
	}
	return bundle.JoinMatch(order, target)
}

// waitBoth waits for two promises, of which the first must hold for the second to be asked for.
func waitBoth(first, second func() error) func() error {
	return func() error {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
}

// finishSubmit goes on with a new order once it is known whether the journal has it: then it is
// simulated, if it could be in the next block. Else it ends, and that is recorded too: should the
// journal have it all the same, it has its end as well.
func (l *Lifecycle) finishSubmit(order *rpc.Order, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.unacked, order.ID)
	if kept {
		l.simulateNext(order)
		return
	}
	facts := l.Pool.Refuse(l.Clock.Now(), order.ID)
	l.withdraw(facts, nil)
	l.record(facts)
}

// simulateExtended looks at an order whose window has become longer.
func (l *Lifecycle) simulateExtended(order *rpc.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.simulateNext(order)
}

// simulateNext puts an order into the queue if the next block may have it. The caller holds mu.
func (l *Lifecycle) simulateNext(order *rpc.Order) {
	if standing := l.Pool.Order(order.ID); standing != nil && l.fitsNextBlock(standing) {
		l.queue.add(standing)
	}
}

// fitsNextBlock says whether the block after the head may have an order. The caller holds mu.
func (l *Lifecycle) fitsNextBlock(order *rpc.Order) bool {
	return l.Pool.CountsFor(order.ID, l.head.Number+1, l.nextTimestamp())
}
