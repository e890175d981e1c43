package orders

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// payoutGas is the gas limit of a refund's payout. Its cost at the base fee is deducted from the
// refund.
const payoutGas = 30_000

// Payout is what one address is paid back.
type Payout struct {
	To        common.Address
	AmountWei *uint256.Int
}

// brought is what an element of a bundle paid to the coinbase, less the refunds that the element
// itself paid out.
type brought struct {
	element Element
	wei     *uint256.Int
}

// payouts returns what a bundle pays back of what its elements brought:
//
//   - refundable is what the elements brought that no refund names, or with PaidBy what these
//     transactions brought;
//   - an entry gives its percentage of that to the owners of its element, less the cost of a payout
//     for each of them;
//   - they share it by their percentages. All divisions round down.
//
// An entry that does not exceed the cost is not paid in the block, and neither is a delayed one.
// Each address is paid once.
func (b *Bundle) payouts(list []brought, costWei *uint256.Int) []Payout {
	if b.Delayed {
		return nil
	}
	refundable := new(uint256.Int)
	for i, part := range list {
		if b.counts(i, part.element) {
			refundable.Add(refundable, part.wei)
		}
	}
	var out []Payout
	for _, entry := range b.Refunds {
		owners := b.owners(entry.Element)
		amount, cost := percentOf(refundable, entry.Percent), new(uint256.Int).Mul(costWei,
			uint256.NewInt(uint64(len(owners))))
		if !amount.Gt(cost) {
			continue
		}
		amount.Sub(amount, cost)
		for _, owner := range owners {
			out = pay(out, owner.Address, percentOf(amount, owner.Percent))
		}
	}
	return out
}

// counts says whether what an element brought is refundable.
func (b *Bundle) counts(i int, e Element) bool {
	if len(b.PaidBy) > 0 {
		return e.Tx != nil && slices.Contains(b.PaidBy, e.Tx.Hash())
	}
	return !slices.ContainsFunc(b.Refunds, func(r Refund) bool { return r.Element == i })
}

// owners returns those who share a refund for an element. In a bundle with PaidBy and Shares, they
// are the bundle's own Shares.
func (b *Bundle) owners(element int) []Share {
	if len(b.PaidBy) > 0 && len(b.Shares) > 0 {
		return b.Shares
	}
	e := b.Elements[element]
	for e.Bundle != nil {
		if len(e.Bundle.Shares) > 0 {
			return e.Bundle.Shares
		}
		e = e.Bundle.Elements[0]
	}
	return []Share{{Address: e.Tx.From, Percent: 100}}
}

func pay(list []Payout, to common.Address, amountWei *uint256.Int) []Payout {
	if amountWei.IsZero() {
		return list
	}
	for i := range list {
		if list[i].To == to {
			list[i].AmountWei = new(uint256.Int).Add(list[i].AmountWei, amountWei)
			return list
		}
	}
	return append(list, Payout{to, amountWei})
}

func percentOf(amount *uint256.Int, percent int) *uint256.Int {
	part := new(uint256.Int).Mul(amount, uint256.NewInt(uint64(percent)))
	return part.Div(part, uint256.NewInt(100))
}
