package refund

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Pending is a refund that has not been paid yet.
type Pending struct {
	rpc.Refund
	// After is the index, in the refund's own block, of the last transaction of its order. A payout
	// in that block has a higher index.
	After int
}

// Transfer is a transaction of a block that moved ether and did nothing else: it succeeded and had
// no calldata.
type Transfer struct {
	Hash     common.Hash
	From, To common.Address
	ValueWei *uint256.Int
	// CostWei is the most that its gas may cost. The payer may deduct it from a refund; nil is 0.
	CostWei *uint256.Int
	// Index is its position in the block.
	Index int
}

// Block is a block in which payouts are searched.
type Block struct {
	rpc.Head
	// Transfers are in the order of the block.
	Transfers []Transfer
	// Payers are the addresses that pay refunds: the block's fee recipient, and the operator's own.
	Payers []common.Address
	// CostWei is what a payer may deduct from a refund for the payout's gas, if that is more than
	// the transfer's own cost; nil is 0.
	CostWei *uint256.Int
}

// Payouts finds the pending refunds that a block pays. at is the time of the facts, which are in
// the order of pending. A payout is a transfer from a payer to the recipient, in the refund's block
// after its order, or in any later block. It pays
//
//   - one refund of exactly its value; else
//   - several refunds of one recipient, neighbours among the pending ones, whose sum is exactly its
//     value; else
//   - one refund, or several neighbours, that exceed its value by no more than the cost; else
//   - the greatest refund that, less the cost, does not exceed its value.
//
// Where values are exact, it does not depend on the order of transfers which one pays which refund.
// Each transfer pays once, and each refund is paid once.
func Payouts(at time.Time, pending []Pending, block Block) []rpc.RefundPaid {
	m := matcher{pending: pending, block: block, paidBy: make([]*Transfer, len(pending)),
		used: make([]bool, len(block.Transfers))}
	for _, rule := range []func(*Transfer, []int) []int{m.exact, m.together, m.lessCost, m.togetherLessCost, m.enough} {
		m.apply(rule)
	}
	var found []rpc.RefundPaid
	for i, payout := range m.paidBy {
		if payout == nil {
			continue
		}
		r := pending[i].Refund
		found = append(found, rpc.RefundPaid{
			At: at, Hash: r.Hash, Bundle: r.Bundle, Block: r.Block, BlockHash: r.BlockHash, Recipient: r.Recipient,
			PayoutTx: payout.Hash, PayoutBlock: block.Number,
		})
	}
	return found
}

// matcher assigns transfers to refunds.
type matcher struct {
	pending []Pending
	block   Block
	paidBy  []*Transfer // for each pending refund, nil for none
	used    []bool      // for each transfer
}

// apply lets each unused transfer pay what the rule picks among the refunds that it may pay.
func (m *matcher) apply(rule func(*Transfer, []int) []int) {
	owed := m.unpaid()
	for t := range m.block.Transfers {
		transfer := &m.block.Transfers[t]
		if m.used[t] || !m.pays(transfer) {
			continue
		}
		var payable []int
		for _, i := range owed[transfer.To] {
			if m.paidBy[i] == nil && m.mayPay(transfer, i) {
				payable = append(payable, i)
			}
		}
		for _, i := range rule(transfer, payable) {
			m.paidBy[i], m.used[t] = transfer, true
		}
	}
}

// unpaid returns the indices of the refunds that no transfer pays yet, by recipient.
func (m *matcher) unpaid() map[common.Address][]int {
	owed := map[common.Address][]int{}
	for i := range m.pending {
		if m.paidBy[i] == nil {
			owed[m.pending[i].Recipient] = append(owed[m.pending[i].Recipient], i)
		}
	}
	return owed
}

func (m *matcher) pays(t *Transfer) bool {
	for _, payer := range m.block.Payers {
		if t.From == payer && t.To != payer && !t.ValueWei.IsZero() {
			return true
		}
	}
	return false
}

// mayPay says whether a transfer comes after a refund's order. It does not in another block with
// the number of the refund's block.
func (m *matcher) mayPay(t *Transfer, i int) bool {
	p := &m.pending[i]
	return p.Block < m.block.Number || p.BlockHash == m.block.Hash && p.After < t.Index
}

// exact picks the first refund that equals a transfer's value.
func (m *matcher) exact(t *Transfer, payable []int) []int {
	for n, i := range payable {
		if m.pending[i].AmountWei.Eq(t.ValueWei) {
			return payable[n : n+1]
		}
	}
	return nil
}

// together picks the first neighbours whose sum is a transfer's value.
func (m *matcher) together(t *Transfer, payable []int) []int { return m.neighbours(t, payable, nil) }

// lessCost picks the first refund that exceeds a transfer's value by no more than the cost.
func (m *matcher) lessCost(t *Transfer, payable []int) []int {
	for n, i := range payable {
		if amount := m.pending[i].AmountWei; !amount.Lt(t.ValueWei) && !less(amount, m.cost(t)).Gt(t.ValueWei) {
			return payable[n : n+1]
		}
	}
	return nil
}

// togetherLessCost picks the first neighbours whose sum exceeds a transfer's value by no more than
// the cost.
func (m *matcher) togetherLessCost(t *Transfer, payable []int) []int {
	return m.neighbours(t, payable, m.cost(t))
}

// neighbours picks the first neighbours whose sum is a transfer's value, or exceeds it by no more
// than short. Amounts are above zero, so a sum that is too great drops its first ones.
func (m *matcher) neighbours(t *Transfer, payable []int, short *uint256.Int) []int {
	sum, first := new(uint256.Int), 0
	for n, i := range payable {
		if _, overflow := sum.AddOverflow(sum, m.pending[i].AmountWei); overflow {
			return nil
		}
		for less(sum, short).Gt(t.ValueWei) {
			sum.Sub(sum, m.pending[payable[first]].AmountWei)
			first++
		}
		if !sum.Lt(t.ValueWei) {
			return payable[first : n+1]
		}
	}
	return nil
}

// enough picks the greatest refund that a transfer covers, the first of equal ones.
func (m *matcher) enough(t *Transfer, payable []int) []int {
	best := -1
	for n, i := range payable {
		if less(m.pending[i].AmountWei, m.cost(t)).Gt(t.ValueWei) {
			continue
		}
		if best < 0 || m.pending[i].AmountWei.Gt(m.pending[payable[best]].AmountWei) {
			best = n
		}
	}
	if best < 0 {
		return nil
	}
	return payable[best : best+1]
}

// cost is how much less than a refund a transfer may be.
func (m *matcher) cost(t *Transfer) *uint256.Int {
	if t.CostWei == nil || m.block.CostWei != nil && m.block.CostWei.Gt(t.CostWei) {
		return m.block.CostWei
	}
	return t.CostWei
}

// less is what must be paid for an amount, after the cost. An amount that does not exceed the cost
// must be paid in full.
func less(amount, cost *uint256.Int) *uint256.Int {
	if cost == nil || !amount.Gt(cost) {
		return amount
	}
	return new(uint256.Int).Sub(amount, cost)
}
