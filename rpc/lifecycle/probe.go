package lifecycle

import "github.com/gavel-relay/gavel/rpc"

// Probe is an order with the one that it follows in the place of its hash, for a simulation of the
// next block and nothing else: it is not taken. What comes of it is the bit that its signer is told
// of that block (disclosure), so it is refused where there was one, or another order is to bring
// it.
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
