package lifecycle

import "github.com/gavel-relay/gavel/rpc"

// Probe returns an order in which the order that it follows replaces its hash, for a simulation on
// the next block only: the order is not added to the pool. The simulation's outcome is the one bit
// that a follower may learn of that block (disclosure). So Probe refuses if that bit was given, or
// another order is to give it.
func (l *Lifecycle) Probe(order *rpc.Order) (*rpc.Order, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	order, err := l.joinMatch(order)
	if err != nil {
		return nil, err
	}
	next := l.head.Number + 1
	switch {
	case !order.Bundle.Window.Holds(next, l.nextTimestamp()):
		return nil, rpc.BackrunInvalidInclusion.Plain()
	case l.disclosure.isAnswered(order, next):
		return nil, rpc.BackrunLimited.With("one answer for an order and block; it was given, or another backrun of it " +
			"gets it")
	}
	l.disclosure.add(order, next, next, l.head.Number)
	return order, nil
}
