package pool

import "github.com/gavel-relay/gavel/rpc"

// seat is what the selection for a block looks at of one order alive. Seats stand close together:
// looking at 100,000 orders takes as long as their memory takes to come.
type seat struct {
	// stamp is a number that nobody had before; zero when the seat is free.
	stamp uint32
	// rank orders by the value of the newest simulation.
	rank                       uint64
	minTimestamp, maxTimestamp uint64
	id                         uint64
	account                    *account
}

// ticket is for a seat as long as its order is alive.
type ticket struct {
	seat, stamp uint32
}

// seats are those of a pool; free ones are given out again.
type seats struct {
	all  []seat
	free []int
	// orders are who sits there, apart from all: a selection takes them in the order of their ranks,
	// from all over, and these are few bytes.
	orders []*rpc.Order
	stamps uint32
}

// take seats an order.
func (s *seats) take(e *entry) int {
	if len(s.free) == 0 {
		s.all, s.orders = append(s.all, seat{}), append(s.orders, nil)
		s.free = append(s.free, len(s.all)-1)
	}
	place := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	if s.stamps++; s.stamps == 0 {
		s.stamps++ // once in four billion orders; no index is as old as that
	}
	window := e.order.Bundle.Window
	s.all[place] = seat{
		stamp: s.stamps, rank: rankOf(e.valueWei()), id: e.order.ID, account: e.account, minTimestamp: window.MinTimestamp,
		maxTimestamp: window.MaxTimestamp,
	}
	s.orders[place] = e.order
	return place
}

// leave frees a seat.
func (s *seats) leave(place int) {
	s.all[place], s.orders[place] = seat{}, nil
	s.free = append(s.free, place)
}

func (s *seats) ticket(place int) ticket {
	return ticket{seat: uint32(place), stamp: s.all[place].stamp}
}

// of is the seat that a ticket is for, nil when its order has ended.
func (s *seats) of(t ticket) *seat {
	if at := &s.all[t.seat]; at.stamp == t.stamp {
		return at
	}
	return nil
}
