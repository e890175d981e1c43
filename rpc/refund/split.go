package refund

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Landed is an order in a block.
type Landed struct {
	Order *rpc.Order
	Block rpc.Head
	// PaidWei is what each of its transactions paid to the block's fee recipient, depth first; 0 or
	// nil for a transaction that was left out.
	PaidWei []*uint256.Int
	// CostWei is what a payout in the block costs for each recipient, see PayoutCost. If it is 0 or
	// nil, nothing is deducted.
	CostWei *uint256.Int
	// Redirect says where the refunds of an address go (vendor_setFeeRefundRecipient); nil
	// redirects none. It is applied once: a redirection of the new address does not count.
	Redirect func(common.Address) common.Address
}

// PayoutCost is the gas at a block's base fee: what a payout transaction burns, in wei. It
// saturates.
func PayoutCost(gas uint64, baseFeeWei *uint256.Int) *uint256.Int {
	cost, overflow := new(uint256.Int).MulOverflow(uint256.NewInt(gas), baseFeeWei)
	if overflow {
		return cost.SetAllOne()
	}
	return cost
}

// Division is what an order paid, and who gets which part. ValueWei is the sum of RestWei and all
// refunds.
type Division struct {
	// Refunds are not zero. There is one for each hash and recipient.
	Refunds []rpc.Refund
	// ValueWei is what the order's transactions paid.
	ValueWei *uint256.Int
	// RestWei stays with the builder, who pays for the payouts from it.
	RestWei *uint256.Int
}

// Errors of Split. They do not occur for an order that passed the parser, with the payments of its
// own transactions.
var (
	ErrTerms    = errors.New("the terms of the refund cannot be kept")
	ErrPayments = errors.New("the payments do not belong to the order")
)

// Split divides what an order paid. In every bundle, beginning with the innermost:
//
//   - what an element brought is what its transactions paid, less what its own refunds gave away;
//   - refundable is what the elements of PaidBy brought; if PaidBy is empty, what the elements
//     brought that the bundle's Refunds do not name;
//
// each entry gives its percentage of that, rounded down, to the owners of its element, who share
//
//	it by their percentages, rounded down. If one address gets several of the shares, they are
//	added up first. If it is the only one, it gets that part of the entry's percentage.
//
// The owner of a transaction is its sender. The owners of a bundle are its Shares; if it has none,
// the owners of its first element. Where PaidBy is set, the bundle's own owners are those of every
// element (refundRecipient of eth_sendBundle).
//
// The cost of payouts is deducted from what an entry gives, before it is shared. An entry that
// gives no more than the cost is not worth a payout in the block: nothing is deducted, and its
// refunds are delayed. Nor is anything deducted if the bundle itself wants its refunds delayed.
func Split(l Landed) (Division, error) {
	s := splitter{landed: l, paid: l.PaidWei, value: new(uint256.Int)}
	rest, err := s.bundle(&l.Order.Bundle, l.Order.Hash())
	switch {
	case err != nil:
		return Division{}, fmt.Errorf("split what order %s paid: %w", l.Order.Hash(), err)
	case len(s.paid) > 0:
		return Division{}, fmt.Errorf("split what order %s paid: %w: %d too many", l.Order.Hash(), ErrPayments, len(s.paid))
	}
	return Division{Refunds: s.refunds, ValueWei: s.value, RestWei: rest}, nil
}

// splitter walks through an order once, depth first.
type splitter struct {
	landed Landed
	// paid are the payments of the transactions that were not visited yet.
	paid    []*uint256.Int
	value   *uint256.Int
	refunds []rpc.Refund
}

// bundle divides what a bundle's elements paid and returns what is left. hash identifies refunds
// for elements without a hash of their own.
func (s *splitter) bundle(b *rpc.Bundle, hash common.Hash) (rest *uint256.Int, err error) {
	rest, refundable := new(uint256.Int), new(uint256.Int)
	for i := range b.Elements {
		brought, err := s.element(&b.Elements[i], hash)
		if err != nil {
			return nil, err
		}
		rest.Add(rest, brought) // cannot overflow: the total did not
		if shared(b, i) {
			refundable.Add(refundable, brought)
		}
	}
	if err := checkPercents(b); err != nil {
		return nil, err
	}
	for _, entry := range b.Refunds {
		owners, err := ownersOf(b, entry.Element)
		if err != nil {
			return nil, err
		}
		percent, shares := payees(b, entry, owners, s.redirect)
		given := s.give(part(refundable, percent), shares, nameOf(&b.Elements[entry.Element], hash), b.DelayedRefund)
		rest.Sub(rest, given) // the percentages sum to 100 at most
	}
	return rest, nil
}

// shared says whether refunds are a part of what an element brought.
func shared(b *rpc.Bundle, element int) bool {
	if len(b.PaidBy) > 0 {
		return slices.Contains(b.PaidBy, element)
	}
	return !slices.ContainsFunc(b.Refunds, func(entry rpc.ElementRefund) bool { return entry.Element == element })
}

// element returns what an element brought.
func (s *splitter) element(e *rpc.Element, hash common.Hash) (*uint256.Int, error) {
	switch {
	case e.Bundle != nil:
		return s.bundle(e.Bundle, nameOf(e, hash))
	case e.Tx == nil:
		return nil, fmt.Errorf("%w: an element is not known", ErrTerms)
	case len(s.paid) == 0:
		return nil, fmt.Errorf("%w: there is none for transaction %s", ErrPayments, e.Tx.Hash)
	}
	paid := s.paid[0]
	s.paid = s.paid[1:]
	if paid == nil {
		return new(uint256.Int), nil
	}
	if _, overflow := s.value.AddOverflow(s.value, paid); overflow {
		return nil, fmt.Errorf("%w: more than 2^256 wei", ErrPayments)
	}
	return paid, nil
}

// nameOf is the hash under which a refund for an element is recorded: that of the order that was
// followed, if there is one.
func nameOf(e *rpc.Element, hash common.Hash) common.Hash {
	if e.Bundle != nil && e.Bundle.Hash != (common.Hash{}) {
		return e.Bundle.Hash
	}
	return hash
}

// checkPercents returns an error if a bundle's terms can't be kept.
func checkPercents(b *rpc.Bundle) error {
	sum := 0
	for _, entry := range b.Refunds {
		if entry.Element < 0 || entry.Element >= len(b.Elements) || entry.Percent < 0 || entry.Percent > 100 {
			return fmt.Errorf("%w: %d %% for element %d of %d", ErrTerms, entry.Percent, entry.Element, len(b.Elements))
		}
		sum += entry.Percent
	}
	if sum > 100 {
		return fmt.Errorf("%w: refunds of %d %%", ErrTerms, sum)
	}
	for _, element := range b.PaidBy {
		if element < 0 || element >= len(b.Elements) {
			return fmt.Errorf("%w: paid by element %d of %d", ErrTerms, element, len(b.Elements))
		}
	}
	return checkShares(b.Shares)
}

func checkShares(shares []rpc.Share) error {
	sum := 0
	for _, share := range shares {
		if share.Percent < 0 || share.Percent > 100 {
			return fmt.Errorf("%w: a share of %d %%", ErrTerms, share.Percent)
		}
		sum += share.Percent
	}
	if sum > 100 {
		return fmt.Errorf("%w: shares of %d %%", ErrTerms, sum)
	}
	return nil
}

// ownersOf returns who shares a refund for an element.
func ownersOf(b *rpc.Bundle, element int) ([]rpc.Share, error) {
	if len(b.PaidBy) > 0 {
		return owners(&rpc.Element{Bundle: b})
	}
	return owners(&b.Elements[element])
}

func owners(e *rpc.Element) ([]rpc.Share, error) {
	switch {
	case e.Tx != nil:
		return []rpc.Share{{Address: e.Tx.From, Percent: 100}}, nil
	case e.Bundle != nil && len(e.Bundle.Shares) > 0:
		return e.Bundle.Shares, nil
	case e.Bundle != nil && len(e.Bundle.Elements) > 0:
		return owners(&e.Bundle.Elements[0])
	default:
		return nil, fmt.Errorf("%w: an element has no owner", ErrTerms)
	}
}

// give credits an amount to its owners and returns how much of it was given. The refunds are paid
// in the block, unless they are to be delayed or are not worth a payout there.
func (s *splitter) give(amount *uint256.Int, owners []rpc.Share, hash common.Hash, delayed bool) (given *uint256.Int) {
	if !delayed {
		amount, delayed = s.afterCost(amount, len(owners))
	}
	given = new(uint256.Int)
	for _, owner := range owners {
		share := part(amount, owner.Percent)
		s.credit(hash, owner.Address, share, delayed)
		given.Add(given, share)
	}
	return given
}

// afterCost deducts the payouts' cost from an amount, if something remains.
func (s *splitter) afterCost(amount *uint256.Int, recipients int) (left *uint256.Int, delayed bool) {
	if s.landed.CostWei == nil || s.landed.CostWei.IsZero() || amount.IsZero() {
		return amount, false
	}
	cost, overflow := new(uint256.Int).MulOverflow(s.landed.CostWei, uint256.NewInt(uint64(recipients)))
	if overflow || !amount.Gt(cost) {
		return amount, true
	}
	return cost.Sub(amount, cost), false
}

// credit adds a refund. If the recipient already has one for this hash it is added to that one, so
// that one payout pays both; the sum is delayed if a part of it is.
func (s *splitter) credit(hash common.Hash, recipient common.Address, amount *uint256.Int, delayed bool) {
	if amount.IsZero() {
		return
	}
	for i := range s.refunds {
		if r := &s.refunds[i]; r.Hash == hash && r.Recipient == recipient {
			r.AmountWei = new(uint256.Int).Add(r.AmountWei, amount)
			r.Delayed = r.Delayed || delayed
			return
		}
	}
	refund := rpc.Refund{
		Hash: hash, Block: s.landed.Block.Number, BlockHash: s.landed.Block.Hash, Recipient: recipient, AmountWei: amount,
		Delayed: delayed,
	}
	if own := s.landed.Order.Hash(); own != hash {
		refund.Bundle = own
	}
	s.refunds = append(s.refunds, refund)
}

// redirect is where the refunds of an address go.
func (s *splitter) redirect(owner common.Address) common.Address {
	if s.landed.Redirect == nil {
		return owner
	}
	return s.landed.Redirect(owner)
}

// part is a percentage of an amount, rounded down.
func part(amount *uint256.Int, percent int) *uint256.Int {
	// Never more than the amount, so it does not overflow.
	result, _ := new(uint256.Int).MulDivOverflow(amount, uint256.NewInt(uint64(percent)), uint256.NewInt(100))
	return result
}
