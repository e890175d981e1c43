package refund

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Payable returns the order with the terms by which a builder pays exactly what Split credits, to
// the wei, whichever method the builder is sent it by. The terms are written in their simplest
// form: recipients are redirected, the shares of one address are added up, and the part of a sole
// recipient is multiplied into the percentage. redirect is that of Landed. The order itself is not
// changed; if no terms differ, it is returned.
func Payable(order *rpc.Order, redirect func(common.Address) common.Address) *rpc.Order {
	changed := payableBundle(&order.Bundle, redirect)
	if changed == nil {
		return order
	}
	other := *order
	other.Bundle = *changed
	return &other
}

// payableBundle returns a copy of a bundle with other Refunds and Shares, in it or in its elements;
// nil if none differ.
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
			continue // there is no recipient
		}
		percent, shares := payees(b, entry, owners, redirect)
		if changed != nil { // the changed inner bundle may have other owners
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

// ownedBy wraps an element in a bundle that belongs to the given shares.
func ownedBy(e rpc.Element, shares []rpc.Share) *rpc.Bundle {
	if e.Bundle == nil {
		return &rpc.Bundle{Hash: e.Tx.Hash, Elements: []rpc.Element{e}, Shares: shares}
	}
	other := *e.Bundle
	other.Shares = shares
	return &other
}

// payees returns an entry's percentage and the recipients who share it, after redirection. A sole
// recipient with a part of the percentage gets all of a smaller percentage instead, if that is a
// whole number: the two differ
// in rounding and in the payout's cost, and eth_sendBundle can only express the second. Shares stay
// as they are where they also apply to refunds inside the bundle.
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

// redirectShares replaces each owner by where its refunds go, and adds up the shares of one
// address.
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
