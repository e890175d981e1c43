package inclusion

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// refunds is what is owed, and to whom it goes: a projection of the facts. It is not safe for
// concurrent use.
type refunds struct {
	pending []refund.Pending
	// paid are refunds whose payout could still be reverted, by the payout's block.
	paid map[uint64][]refund.Pending
	// recipients say where the refunds of an address go.
	recipients map[common.Address]common.Address
}

// paidKept is for how many blocks a payout can be reverted.
const paidKept = 64

func newRefunds() *refunds {
	return &refunds{paid: map[uint64][]refund.Pending{}, recipients: map[common.Address]common.Address{}}
}

// apply applies a fact of this run or of an earlier one.
func (r *refunds) apply(fact rpc.Fact) {
	switch f := fact.(type) {
	case rpc.RefundCredited:
		r.credit(f.Refund, 0)
	case rpc.RefundPaid:
		r.pay(f)
	case rpc.RecipientSet:
		r.recipients[f.From] = f.To
	case rpc.BlockReverted:
		r.revert(f.Head)
	case rpc.BlockIndexed:
		for number := range r.paid {
			if number+paidKept < f.Number {
				delete(r.paid, number)
			}
		}
	}
}

// credit adds a refund, unless it is there already: a block is counted again if an earlier run
// stopped while counting it. after is the index in the block of the order's last transaction. For
// refunds of an earlier run it does not matter, since later payouts are in later blocks.
func (r *refunds) credit(credited rpc.Refund, after int) (added bool) {
	same := func(p refund.Pending) bool {
		return p.Hash == credited.Hash && p.Bundle == credited.Bundle && p.BlockHash == credited.BlockHash &&
			p.Recipient == credited.Recipient
	}
	for _, paid := range r.paid {
		if slices.ContainsFunc(paid, same) {
			return false
		}
	}
	if i := slices.IndexFunc(r.pending, same); i >= 0 {
		r.pending[i].After = after
		return false
	}
	r.pending = append(r.pending, refund.Pending{Refund: credited, After: after})
	return true
}

func (r *refunds) pay(f rpc.RefundPaid) {
	i := slices.IndexFunc(r.pending, func(p refund.Pending) bool {
		return p.Hash == f.Hash && p.Bundle == f.Bundle && p.BlockHash == f.BlockHash && p.Recipient == f.Recipient
	})
	if i < 0 {
		return
	}
	r.paid[f.PayoutBlock] = append(r.paid[f.PayoutBlock], r.pending[i])
	r.pending = slices.Delete(r.pending, i, i+1)
}

// revert forgets the refunds of a block, and makes those pending again that were paid in it.
func (r *refunds) revert(head rpc.Head) {
	r.pending = append(r.pending, r.paid[head.Number]...)
	delete(r.paid, head.Number)
	r.pending = slices.DeleteFunc(r.pending, func(p refund.Pending) bool { return p.BlockHash == head.Hash })
}

// owes says whether an address is owed a refund.
func (r *refunds) owes(recipient common.Address) bool {
	return slices.ContainsFunc(r.pending, func(p refund.Pending) bool { return p.Recipient == recipient })
}

// redirect is where the refunds of an address go.
func (r *refunds) redirect(owner common.Address) common.Address {
	if to, changed := r.recipients[owner]; changed {
		return to
	}
	return owner
}
