package app

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/rpc"
)

// flow counts what the bundle RPC reports about its orders. It is not safe for concurrent use.
type flow struct {
	count display.Flow
	// finished is the count at the end of the slot before.
	finished display.Flow
	// followers are the IDs of orders that follow another one. All other orders were sent by users.
	followers map[uint64]bool
	owed      map[refundName]*uint256.Int
}

// refundName identifies a refund.
type refundName struct {
	hash, bundle, block common.Hash
	recipient           common.Address
}

func newFlow() *flow {
	return &flow{followers: map[uint64]bool{}, owed: map[refundName]*uint256.Int{}}
}

// observe takes a fact and says whether it changed the count.
func (f *flow) observe(fact rpc.Fact) bool {
	before := f.count
	switch fact := fact.(type) {
	case rpc.OrderAccepted:
		f.accept(fact.Order)
	case rpc.OrderShared:
		f.count.Hints++
	case rpc.OrderEnded:
		f.end(fact)
	case rpc.RefundCredited:
		f.owed[refundName{fact.Hash, fact.Bundle, fact.BlockHash, fact.Recipient}] = fact.AmountWei
	case rpc.RefundPaid:
		f.pay(refundName{fact.Hash, fact.Bundle, fact.BlockHash, fact.Recipient})
	}
	return f.count != before
}

func (f *flow) accept(order *rpc.Order) {
	if order.Follows == 0 {
		f.count.Orders++
		return
	}
	f.followers[order.ID] = true
	f.count.Backruns++
}

func (f *flow) end(fact rpc.OrderEnded) {
	follower := f.followers[fact.ID]
	delete(f.followers, fact.ID)
	switch {
	case fact.State == rpc.Landed && follower:
		f.count.Landed++
	case fact.State == rpc.Cancelled && !follower:
		f.count.Cancelled++
	}
}

func (f *flow) pay(name refundName) {
	amount, ok := f.owed[name]
	if !ok {
		return
	}
	delete(f.owed, name)
	f.count.Refunds++
	if f.count.RefundedWei == nil {
		f.count.RefundedWei = new(uint256.Int)
	}
	f.count.RefundedWei = new(uint256.Int).Add(f.count.RefundedWei, amount)
}

// finish returns what was counted since the slot before.
func (f *flow) finish() display.Flow {
	since := f.count.Less(f.finished)
	f.finished = f.count
	return since
}
