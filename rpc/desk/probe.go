package desk

import "github.com/gavel-relay/gavel/rpc"

// Probe is an order with the one that it follows in the place of its hash, for a simulation of the
// next block and nothing else: it is not taken. What comes of it is the bit that its signer is told
// of that block (disclosure), so it is refused where there was one, or another order is to bring
// it.
func (d *Desk) Probe(order *rpc.Order) (*rpc.Order, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	order, err := d.matched(order)
	if err != nil {
		return nil, err
	}
	next := d.head.Number + 1
	switch {
	case !order.Bundle.Window.Holds(next, d.nextTimestamp()):
		return nil, rpc.BackrunInvalidInclusion.Plain()
	case d.disclosure.asked(order, next):
		return nil, rpc.BackrunLimited.With("one answer for an order and block; it was given, or another backrun of it " +
			"gets it")
	}
	d.disclosure.add(order, next, next, d.head.Number)
	return order, nil
}
