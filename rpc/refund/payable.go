package refund

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Redirected is an order as a builder has to pay its refunds: where somebody who gets one wants it elsewhere, or gets it in two parts, the order's Shares
// say so, and the builder pays what Split credits, to the wei. redirect is that of Landed. The order is not changed; if nobody wants anything it is itself.
func Redirected(order *rpc.Order, redirect func(common.Address) common.Address) *rpc.Order {
	changed := redirectBundle(&order.Bundle, redirect)
	if changed == nil {
		return order
	}
	other := *order
	other.Bundle = *changed
	return &other
}

// redirectBundle is a bundle with other Shares, in it or in its elements; nil if none are others.
func redirectBundle(b *rpc.Bundle, redirect func(common.Address) common.Address) *rpc.Bundle {
	var changed *rpc.Bundle
	change := func() *rpc.Bundle {
		if changed == nil {
			other := *b
			other.Elements = append([]rpc.Element(nil), b.Elements...)
			changed = &other
		}
		return changed
	}
	for i := range b.Elements {
		if inner := b.Elements[i].Bundle; inner != nil {
			if other := redirectBundle(inner, redirect); other != nil {
				change().Elements[i].Bundle = other
			}
		}
	}
	for _, entry := range b.Refunds {
		owners, err := ownersOf(b, entry.Element)
		if err != nil {
			continue // there is nobody to pay
		}
		shares, moved := redirectShares(owners, redirect)
		switch {
		case !moved:
		case len(b.PaidBy) > 0:
			change().Shares = shares
		default:
			change().Elements[entry.Element].Bundle = ownedBy(change().Elements[entry.Element], shares)
			changed.Elements[entry.Element].Tx = nil
		}
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

// redirectShares are shares of those who get them, each address once, and whether they are other shares.
func redirectShares(owners []rpc.Share, redirect func(common.Address) common.Address) (shares []rpc.Share, moved bool) {
	for _, owner := range owners {
		to := redirect(owner.Address)
		moved = moved || to != owner.Address
		shares = addShare(shares, rpc.Share{Address: to, Percent: owner.Percent})
	}
	return shares, moved || len(shares) < len(owners)
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
