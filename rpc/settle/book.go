package settle

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// book is what is owed, and to whom it goes: a view of the facts. It is not safe for concurrent
// use.
type book struct {
	pending []refund.Pending
	// paid are refunds whose payout could still be reverted, by the payout's block.
	paid map[uint64][]refund.Pending
	// recipients say where the refunds of an address go.
	recipients map[common.Address]common.Address
}

// paidKept is for how many blocks payouts can be reverted.
const paidKept = 64

func newBook() *book {
	return &book{paid: map[uint64][]refund.Pending{}, recipients: map[common.Address]common.Address{}}
}

// apply takes a fact of this life or of an earlier one.
func (b *book) apply(fact rpc.Fact) {
	switch f := fact.(type) {
	case rpc.RefundCredited:
		b.credit(f.Refund, 0)
	case rpc.RefundPaid:
		b.pay(f)
	case rpc.RecipientSet:
		b.recipients[f.From] = f.To
	case rpc.BlockReverted:
		b.revert(f.Head)
	case rpc.BlockIndexed:
		for number := range b.paid {
			if number+paidKept < f.Number {
				delete(b.paid, number)
			}
		}
	}
}

// credit adds a refund, unless it is there already: a block whose end an earlier life did not see
// is counted again. after is the place in its block of its order's last transaction; of an earlier
// life's refunds it does not matter, since their blocks are over.
func (b *book) credit(r rpc.Refund, after int) (added bool) {
	same := func(p refund.Pending) bool {
		return p.Hash == r.Hash && p.Bundle == r.Bundle && p.BlockHash == r.BlockHash && p.Recipient == r.Recipient
	}
	for _, paid := range b.paid {
		if slices.ContainsFunc(paid, same) {
			return false
		}
	}
	if i := slices.IndexFunc(b.pending, same); i >= 0 {
		b.pending[i].After = after
		return false
	}
	b.pending = append(b.pending, refund.Pending{Refund: r, After: after})
	return true
}

func (b *book) pay(f rpc.RefundPaid) {
	i := slices.IndexFunc(b.pending, func(p refund.Pending) bool {
		return p.Hash == f.Hash && p.Bundle == f.Bundle && p.BlockHash == f.BlockHash && p.Recipient == f.Recipient
	})
	if i < 0 {
		return
	}
	b.paid[f.PayoutBlock] = append(b.paid[f.PayoutBlock], b.pending[i])
	b.pending = slices.Delete(b.pending, i, i+1)
}

// revert forgets the refunds of a block, and has what was paid in it pending again.
func (b *book) revert(head rpc.Head) {
	b.pending = append(b.pending, b.paid[head.Number]...)
	delete(b.paid, head.Number)
	b.pending = slices.DeleteFunc(b.pending, func(p refund.Pending) bool { return p.BlockHash == head.Hash })
}

// owes says whether an address waits for a refund.
func (b *book) owes(recipient common.Address) bool {
	return slices.ContainsFunc(b.pending, func(p refund.Pending) bool { return p.Recipient == recipient })
}

// redirect is where the refunds of an address go.
func (b *book) redirect(owner common.Address) common.Address {
	if to, changed := b.recipients[owner]; changed {
		return to
	}
	return owner
}
