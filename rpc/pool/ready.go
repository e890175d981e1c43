package pool

import (
	"cmp"
	"slices"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Ready returns the orders that a block with this number and time may include, the most promising
// first: by their signer's class, then by the value of their newest simulation, then in the order
// in which they came. The orders must not be changed.
func (p *Pool) Ready(block, timestamp uint64) []*rpc.Order {
	at := p.blocks[block]
	if at == nil {
		return nil
	}
	p.choose(at, timestamp)
	p.chosen, p.sorted = sortByRank(p.chosen, p.sorted)
	p.sortTies(p.chosen)
	orders := make([]*rpc.Order, 0, len(p.chosen))
	for _, class := range classesOf(p.chosen) {
		for _, c := range p.chosen {
			if c.class == class {
				orders = append(orders, p.slab.orders[c.cell])
			}
		}
	}
	return orders
}

// choice is a ready order, in a form for sorting.
type choice struct {
	rank  uint64
	cell  uint32
	class int32
}

func (p *Pool) choose(at *blockIndex, timestamp uint64) {
	p.asked++
	p.chosen = p.chosen[:0]
	for _, handle := range at.handles {
		s := p.slab.get(handle)
		if s == nil || timestamp < s.minTimestamp || s.maxTimestamp != 0 && timestamp > s.maxTimestamp {
			continue
		}
		p.chosen = append(p.chosen, choice{rank: s.rank, cell: handle.cell, class: p.class(s, handle.cell)})
	}
}

// class is what Config.Class says of an order's signer. It is called once per signer and call of
// Ready.
func (p *Pool) class(s *cell, place uint32) int32 {
	if p.config.Class != nil && s.account.asked != p.asked {
		s.account.class, s.account.asked = int32(p.config.Class(p.slab.orders[place].Signer)), p.asked
	}
	return s.account.class
}

// classesOf are the classes that occur, the highest first. There are few.
func classesOf(chosen []choice) []int32 {
	var classes []int32
	for _, c := range chosen {
		if !slices.Contains(classes, c.class) {
			classes = append(classes, c.class)
		}
	}
	slices.SortFunc(classes, func(a, b int32) int { return cmp.Compare(b, a) })
	return classes
}

// sortTies sorts orders of equal rank by their exact value, then in the order in which they came.
func (p *Pool) sortTies(chosen []choice) {
	for first := 0; first < len(chosen); {
		next := first + 1
		for next < len(chosen) && chosen[next].rank == chosen[first].rank {
			next++
		}
		if tied := chosen[first:next]; len(tied) > 1 && !slices.IsSortedFunc(tied, p.compareTied) {
			slices.SortFunc(tied, p.compareTied)
		}
		first = next
	}
}

func (p *Pool) compareTied(a, b choice) int {
	s, t := &p.slab.all[a.cell], &p.slab.all[b.cell]
	if a.rank != 0 {
		if exact := p.entries[t.id].valueWei().Cmp(p.entries[s.id].valueWei()); exact != 0 {
			return exact
		}
	}
	return cmp.Compare(s.id, t.id)
}

// sortByRank sorts by rank, the greatest first, and keeps the order of equal ranks. It is a radix
// sort from the last digit to the first, which for very many orders is several times as fast as
// comparing. It returns the sorted slice, and the other one for reuse.
func sortByRank(from, to []choice) (sorted, spare []choice) {
	const bits, digits = 11, 4
	var counts [digits][1 << bits]uint32
	for i := range from {
		for d := range digits {
			counts[d][digit(from[i].rank, d*bits, bits)]++
		}
	}
	to = slices.Grow(to[:0], len(from))[:len(from)]
	for d := range digits {
		if len(from) == 0 || int(counts[d][digit(from[0].rank, d*bits, bits)]) == len(from) {
			continue // all have the same digit here
		}
		place := uint32(0)
		for value := range counts[d] {
			counts[d][value], place = place, place+counts[d][value]
		}
		for _, c := range from {
			value := digit(c.rank, d*bits, bits)
			to[counts[d][value]] = c
			counts[d][value]++
		}
		from, to = to, from
	}
	return from, to
}

// digit is a part of a rank, inverted so that the greatest comes first.
func digit(rank uint64, shift, bits int) uint64 { return ^rank >> shift & (1<<bits - 1) }

// rankOf returns a number of 44 bits that is greater for a greater value and differs for most
// values: the value's length in bits, then the 35 bits after its first one. For equal ranks, the
// values themselves are compared.
func rankOf(valueWei *uint256.Int) uint64 {
	if valueWei == nil || valueWei.IsZero() {
		return 0
	}
	length := valueWei.BitLen()
	var leading uint256.Int
	if length > 36 {
		leading.Rsh(valueWei, uint(length-36))
	} else {
		leading.Lsh(valueWei, uint(36-length))
	}
	return uint64(length)<<35 | leading.Uint64()&(1<<35-1)
}
