package pool

import "github.com/gavel-relay/gavel/rpc"

// cell has what Ready needs of a live order. Cells lie close together because Ready is bound by
// memory: for 100,000 orders it takes as long as reading their cells does.
type cell struct {
	// stamp is a number that no cell had before; zero if the cell is free.
	stamp uint32
	// rank orders by the value of the newest simulation.
	rank                       uint64
	minTimestamp, maxTimestamp uint64
	id                         uint64
	account                    *account
}

// handle refers to a cell for as long as its order is alive.
type handle struct {
	cell, stamp uint32
}

// slab has the cells of a pool; free cells are reused.
type slab struct {
	all  []cell
	free []int
	// orders are the cells' orders, by the same index. They are a slice of their own because a
	// selection reads them in the order of rank, scattered over memory, and a pointer takes few
	// bytes.
	orders []*rpc.Order
	stamps uint32
}

// allocate gives an order a cell, and returns its index.
func (s *slab) allocate(e *entry) int {
	if len(s.free) == 0 {
		s.all, s.orders = append(s.all, cell{}), append(s.orders, nil)
		s.free = append(s.free, len(s.all)-1)
	}
	place := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if s.stamps++; s.stamps == 0 {
		s.stamps++ // zero means free; once in four billion orders, and no index has a handle that old
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

// get returns the cell of a handle, nil if its order has ended.
func (s *slab) get(t handle) *cell {
	if at := &s.all[t.cell]; at.stamp == t.stamp {
		return at
	}
	return nil
}
