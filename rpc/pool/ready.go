package pool

import (
	"cmp"
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Ready are the orders that a block with this number and time may have, the most promising first: by their signer's class, then by the value of
// their newest simulation, then as they came. Nobody may change them.
func (p *Pool) Ready(block, timestamp uint64) []*rpc.Order {
	at := p.blocks[block]
	if at == nil {
		return nil
	}
	chosen := p.choose(at, timestamp)
	slices.SortFunc(chosen, compare)
	orders := make([]*rpc.Order, len(chosen))
	for i, c := range chosen {
		orders[i] = c.order
	}
	return orders
}

// choice is a ready order with what it is sorted by, close together: sorting very many is a matter of memory.
type choice struct {
	rank  uint64
	order *rpc.Order
	entry *entry
	class int
}

func (p *Pool) choose(at *blockIndex, timestamp uint64) []choice {
	p.asked++
	chosen := make([]choice, 0, len(at.entries)-at.dead)
	for _, e := range at.entries {
		window := &e.order.Bundle.Window
		if !e.alive() || timestamp < window.MinTimestamp || window.MaxTimestamp != 0 && timestamp > window.MaxTimestamp {
			continue
		}
		chosen = append(chosen, choice{rank: e.rank, order: e.order, entry: e, class: p.class(e)})
	}
	return chosen
}

// class is what the configured rule says of an order's signer, asked once per selection.
func (p *Pool) class(e *entry) int {
	if p.config.Class != nil && e.account.asked != p.asked {
		e.account.class, e.account.asked = p.config.Class(e.order.Signer), p.asked
	}
	return e.account.class
}

func compare(a, b choice) int {
	switch {
	case a.class != b.class:
		return cmp.Compare(b.class, a.class)
	case a.rank != b.rank:
		return cmp.Compare(b.rank, a.rank)
	case a.rank != 0:
		if exact := b.entry.valueWei().Cmp(a.entry.valueWei()); exact != 0 {
			return exact
		}
	}
	return cmp.Compare(a.order.ID, b.order.ID)
}

// valueWei is the value of the newest simulation of an order with a rank.
func (e *entry) valueWei() *uint256.Int { return e.simulations[len(e.simulations)-1].ProfitWei }

// rankOf is a number that is greater for a greater value and tells most values apart: the value's length in bits, then its first 56 bits.
func rankOf(valueWei *uint256.Int) uint64 {
	if valueWei == nil || valueWei.IsZero() {
		return 0
	}
	length := valueWei.BitLen()
	var leading uint256.Int
	if length > 56 {
		leading.Rsh(valueWei, uint(length-56))
	} else {
		leading.Lsh(valueWei, uint(56-length))
	}
	// The first bit is always one: without it a length of up to 256, in nine bits, has its place beside the other 55.
	return uint64(length)<<55 | leading.Uint64()&(1<<55-1)
}
