package pool

import "github.com/gavel-relay/gavel/rpc"

// cell is what the selection for a block looks at of one order alive. Cells stand close together:
// looking at 100,000 orders takes as long as their memory takes to come.
type cell struct {
	// stamp is a number that nobody had before; zero when the cell is free.
	stamp uint32
	// rank orders by the value of the newest simulation.
	rank                       uint64
	minTimestamp, maxTimestamp uint64
	id                         uint64
	account                    *account
}

// handle is for a cell as long as its order is alive.
type handle struct {
	cell, stamp uint32
}

// slab are those of a pool; free ones are given out again.
type slab struct {
	all  []cell
	free []int
	// orders are who sits there, apart from all: a selection takes them in the order of their ranks,
	// from all over, and these are few bytes.
	orders []*rpc.Order
	stamps uint32
}

// allocate cells an order.
func (s *slab) allocate(e *entry) int {
	if len(s.free) == 0 {
		s.all, s.orders = append(s.all, cell{}), append(s.orders, nil)
		s.free = append(s.free, len(s.all)-1)
	}
	place := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if s.stamps++; s.stamps == 0 {
		s.stamps++ // once in four billion orders; no index is as old as that
	}
	window := e.order.Bundle.Window
	s.all[place] = cell{
		stamp: s.stamps, rank: rankOf(e.valueWei()), id: e.order.ID, account: e.account, minTimestamp: window.MinTimestamp,
		maxTimestamp: window.MaxTimestamp,
	}
	s.orders[place] = e.order
	return place
}

// release frees a cell.
func (s *slab) release(place int) {
	s.all[place], s.orders[place] = cell{}, nil
	s.free = append(s.free, place)
}

func (s *slab) handleOf(place int) handle {
	return handle{cell: uint32(place), stamp: s.all[place].stamp}
}

// get is the cell that a handle is for, nil when its order has ended.
func (s *slab) get(t handle) *cell {
	if at := &s.all[t.cell]; at.stamp == t.stamp {
		return at
	}
	return nil
}
