package lifecycle

import (
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/pool"
)

// Submit adds an order, which belongs to the lifecycle from now on. It returns the order that
// counts: an earlier one, if this one repeats it. If an order follows a hash, the order with that
// hash becomes its first element. This happens under the lock, so that it is never in the pool
// without the other order.
//
// It returns when the journal has the order. Only then is the order simulated and sent, if the next
// block may include it: builders must not have an order that its signer was refused. An order that
// the journal does not ack in time ends, and so does the version that it replaced.
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

// checkSignaturesIfCrowded refuses a newcomer's order with an invalid signature when the pool's
// places for newcomers become scarce. Otherwise its simulation finds that out: recovering a sender
// costs as much as verifying the request's own signature.
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

// submission is an order that is being written to the journal.
type submission struct {
	order  *rpc.Order
	result pool.Result
	// waitKept waits for all that the answer promises.
	waitKept func() error
}

// addToPool adds an order to the pool and begins to write it to the journal.
func (l *Lifecycle) addToPool(at time.Time, order *rpc.Order) (submission, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head.Hash == (common.Hash{}) { // the hash, because a chain may begin at time 0
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
	if outcome.Replaced != nil { // builders learn of the replacement from the new version, when that is sent or fails
		l.superseded[outcome.Order.ID] = l.buildersWith(outcome.Replaced)
		l.withdraw(outcome.Facts, outcome.Replaced)
	}
	id, kept := outcome.Order.ID, func() error { return nil }
	if len(outcome.Facts) > 0 {
		kept = l.keep(outcome.Facts)
	}
	switch before := l.unacked[id]; {
	case before != nil:
		// A repetition is promised no more than the first submission of the order, and only that
		// one continues with it.
		return submission{outcome.Order, pool.Known, waitBoth(before, kept)}, nil
	case outcome.Result != pool.Known && outcome.Result != pool.Extended:
		l.unacked[id] = kept
	}
	return submission{outcome.Order, outcome.Result, kept}, nil
}

// joinMatch returns the order itself, or, if it follows a hash, the order joined with the one that
// it follows. The caller holds mu.
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

// waitBoth waits for two promises; if the first fails, it does not wait for the second.
func waitBoth(first, second func() error) func() error {
	return func() error {
		if err := first(); err != nil {
			return err
		}
		return second()
	}
}

// finishSubmit continues with a new order once it is known whether the journal has it. If so, it is
// simulated, provided that the next block may include it. Else it ends, which is recorded too: if
// the journal has the order after all, it also has its end.
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

// simulateExtended simulates an order whose window has become longer, if the next block may include
// it.
func (l *Lifecycle) simulateExtended(order *rpc.Order) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.simulateNext(order)
}

// simulateNext queues an order if the next block may include it. The caller holds mu.
func (l *Lifecycle) simulateNext(order *rpc.Order) {
	if standing := l.Pool.Order(order.ID); standing != nil && l.fitsNextBlock(standing) {
		l.queue.add(standing)
	}
}

// fitsNextBlock says whether the block after the head may include an order. The caller holds mu.
func (l *Lifecycle) fitsNextBlock(order *rpc.Order) bool {
	return l.Pool.CountsFor(order.ID, l.head.Number+1, l.nextTimestamp())
}
