package lifecycle

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// followsPerBlock is how many orders of one signer, or with transactions of one sender, may follow
// the same order in one block. Each costs a simulation, for which other orders wait.
const followsPerBlock = 20

// disclosure decides which followers of an order learn how their orders did. A backrun may read any
// state that the followed order leaves, and succeed or fail depending on it, so every outcome
// reveals one bit of what that order's hints hide. Therefore a follower learns one outcome for each
// followed order and block: that of the first of its orders that came. A follower is a signing key,
// and also the sender of the transactions. Keys cost nothing, and accounts with little money cost
// almost nothing. So all followers without the reputation for precedence (Ranking) count as a
// single one.
//
// Which outcome is disclosed depends only on when orders came and which blocks they are for, never
// on how they did. The lifecycle's lock guards it.
type disclosure struct {
	spans map[follower][]span
	last  map[uint64]uint64 // of each leader: the last block of all its spans
	high  func(signer common.Address) bool
}

// newcomers is the follower that stands for all followers without a reputation.
var newcomers = common.Address{}

// follower is an address that follows an order, the leader.
type follower struct {
	leader uint64
	who    common.Address
}

// span is the range of blocks that a follower's order counts for.
type span struct{ id, first, last uint64 }

func (s span) holds(block uint64) bool { return s.first <= block && block <= s.last }

func newDisclosure(high func(signer common.Address) bool) disclosure {
	return disclosure{spans: map[follower][]span{}, last: map[uint64]uint64{}, high: high}
}

// apply applies a fact of this run or an earlier one. order finds an order by its id, nil if there
// is none; head is the newest block at the time of the fact.
func (d *disclosure) apply(fact rpc.Fact, head uint64, order func(id uint64) *rpc.Order) {
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		d.add(f.Order, f.Order.Bundle.Window.FirstBlock, f.Order.Bundle.Window.LastBlock, head)
	case rpc.OrderExtended:
		d.resize(order(f.ID), func(s *span) { s.last = max(s.last, f.Window.LastBlock) })
	case rpc.OrderEnded: // it was simulated at most for the block after the head
		d.resize(order(f.ID), func(s *span) { s.last = min(s.last, head+1) })
	case rpc.BlockIndexed:
		d.forget(f.Number)
	}
}

// add records that an order follows another one from now on.
func (d *disclosure) add(order *rpc.Order, first, last, head uint64) {
	if order.Follows == 0 {
		return
	}
	all := followersOf(order)
	if !d.high(order.Signer) {
		all = append(all, newcomers)
	}
	for _, who := range all {
		key := follower{order.Follows, who}
		d.spans[key] = append(d.spans[key], span{order.ID, max(first, head+1), last})
	}
	d.last[order.Follows] = max(d.last[order.Follows], last)
}

func (d *disclosure) resize(order *rpc.Order, change func(*span)) {
	if order == nil || order.Follows == 0 {
		return
	}
	for _, who := range append(followersOf(order), newcomers) {
		spans := d.spans[follower{order.Follows, who}]
		for i := range spans {
			if spans[i].id == order.ID {
				change(&spans[i])
				d.last[order.Follows] = max(d.last[order.Follows], spans[i].last)
			}
		}
	}
}

// isFull says whether so many orders already follow the same one for a block that another may not.
func (d *disclosure) isFull(order *rpc.Order, block uint64) bool {
	return slices.ContainsFunc(followersOf(order), func(who common.Address) bool {
		count := 0
		for _, s := range d.spans[follower{order.Follows, who}] {
			if s.holds(block) {
				count++
			}
		}
		return count >= followsPerBlock
	})
}

// isAnswered says whether one of an order's followers (followersOf, newcomers) already gets the
// outcome of a block by another order.
func (d *disclosure) isAnswered(order *rpc.Order, block uint64) bool {
	all := followersOf(order)
	if !d.high(order.Signer) {
		all = append(all, newcomers)
	}
	return slices.ContainsFunc(all, func(who common.Address) bool {
		return slices.ContainsFunc(d.spans[follower{order.Follows, who}], func(s span) bool { return s.holds(block) })
	})
}

// mayTell says whether the signer of an order may learn how it did in a block: only if, for each of
// its followers (followersOf, newcomers), it is the first order for that block.
func (d *disclosure) mayTell(order *rpc.Order, block uint64) bool {
	first := func(who common.Address) bool {
		spans := d.spans[follower{order.Follows, who}]
		i := slices.IndexFunc(spans, func(s span) bool { return s.holds(block) })
		return i >= 0 && spans[i].id == order.ID
	}
	for _, who := range followersOf(order) {
		if !first(who) {
			return false
		}
	}
	return !d.isNewcomers(order) || first(newcomers)
}

func (d *disclosure) isNewcomers(order *rpc.Order) bool {
	return slices.ContainsFunc(d.spans[follower{order.Follows, newcomers}], func(s span) bool { return s.id == order.ID })
}

// forget removes leaders whose blocks ended so long ago that their outcomes are not reported any
// more.
func (d *disclosure) forget(head uint64) {
	for leader, last := range d.last {
		if last+2*headsKept < head {
			delete(d.last, leader)
		}
	}
	for key := range d.spans {
		if _, kept := d.last[key.leader]; !kept {
			delete(d.spans, key)
		}
	}
}

// followersOf returns the addresses to which an order's outcome would be disclosed: its signer, and
// the senders of its own transactions.
func followersOf(order *rpc.Order) []common.Address {
	all := []common.Address{order.Signer}
	own := rpc.Bundle{Elements: order.Bundle.Elements[1:]}
	for tx := range own.Transactions() {
		if tx.From != (common.Address{}) && !slices.Contains(all, tx.From) {
			all = append(all, tx.From)
		}
	}
	return all
}
