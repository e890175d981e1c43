package refund

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Payable is an order as a builder has to pay its refunds: where somebody who gets one wants it
// elsewhere, gets it in two parts, or is the only one and gets a part of it, the order says so in
// the simplest terms, and the builder pays what Split credits, to the wei, by whichever method it
// hears of it. redirect is that of Landed. The order is not changed; if there is nothing to say it
// is itself.
func Payable(order *rpc.Order, redirect func(common.Address) common.Address) *rpc.Order {
	changed := payableBundle(&order.Bundle, redirect)
	if changed == nil {
		return order
	}
	other := *order
	other.Bundle = *changed
	return &other
}

// payableBundle is a bundle with other Refunds and Shares, in it or in its elements; nil if none
// are others.
func payableBundle(b *rpc.Bundle, redirect func(common.Address) common.Address) *rpc.Bundle {
	var changed *rpc.Bundle
	change := func() *rpc.Bundle {
		if changed == nil {
			other := *b
			other.Elements, other.Refunds = slices.Clone(b.Elements), slices.Clone(b.Refunds)
			changed = &other
		}
		return changed
	}
	for i := range b.Elements {
		if inner := b.Elements[i].Bundle; inner != nil {
			if other := payableBundle(inner, redirect); other != nil {
				change().Elements[i].Bundle = other
			}
		}
	}
	for i, entry := range b.Refunds {
		owners, err := ownersOf(b, entry.Element)
		if err != nil {
			continue // there is nobody to pay
		}
		percent, shares := payees(b, entry, owners, redirect)
		if changed != nil { // what is different inside may have other owners already
			owners, _ = ownersOf(changed, entry.Element)
		}
		if percent == entry.Percent && slices.Equal(shares, owners) {
			continue
		}
		change().Refunds[i].Percent = percent
		if len(b.PaidBy) > 0 {
			changed.Shares = shares
			continue
		}
		changed.Elements[entry.Element] = rpc.Element{Bundle: ownedBy(changed.Elements[entry.Element], shares)}
	}
	return changed
}

// ownedBy is an element as a bundle that belongs to others.
func ownedBy(e rpc.Element, shares []rpc.Share) *rpc.Bundle {
	if e.Bundle == nil {
		return &rpc.Bundle{Hash: e.Tx.Hash, Elements: []rpc.Element{e}, Shares: shares}
	}
	other := *e.Bundle
	other.Shares = shares
	return &other
}

// payees are those who share an entry's percentage in the end. One who is alone and gets a part of
// it gets all of that part: the two differ by what rounding and the payout's cost take, and
// eth_sendBundle can say only the latter. Where a bundle's Shares are also of refunds inside it,
// they stay.
func payees(b *rpc.Bundle, entry rpc.ElementRefund, owners []rpc.Share, redirect func(common.Address) common.Address) (
	int, []rpc.Share) {
	shares := redirectShares(owners, redirect)
	inside := b.Elements[entry.Element].Bundle
	if len(shares) != 1 || shares[0].Percent == 0 || entry.Percent*shares[0].Percent%100 != 0 || len(b.PaidBy) > 0 ||
		inside != nil && len(inside.PaidBy) > 0 {
		return entry.Percent, shares
	}
	return entry.Percent * shares[0].Percent / 100, []rpc.Share{{Address: shares[0].Address, Percent: 100}}
}

// redirectShares are shares of those who get them, each address once.
func redirectShares(owners []rpc.Share, redirect func(common.Address) common.Address) (shares []rpc.Share) {
	for _, owner := range owners {
		shares = addShare(shares, rpc.Share{Address: redirect(owner.Address), Percent: owner.Percent})
	}
	return shares
}

func addShare(shares []rpc.Share, more rpc.Share) []rpc.Share {
	for i := range shares {
		if shares[i].Address == more.Address {
			shares[i].Percent += more.Percent
			return shares
		}
	}
	return append(shares, more)
}
