// Package settle finds out what the chain's blocks paid: what orders brought to the fee recipient, what of it is given back and to whom, and
// which transactions pay that out.
//
//	block, orders that landed in it ─▶ replay ─▶ what each transaction paid ─▶ refund.Split ───▶ RefundCredited   pending
//	                                     └─────▶ plain transfers of payers ──▶ refund.Payouts ─▶ RefundPaid       received
//	                                                                                             BlockIndexed
//
// Amounts are what the chain says, exact to the wei, and not what a simulation promised.
package settle

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/refund"
)

// Config has what the settler asks.
type Config struct {
	Replayer exec.Replayer
	Facts    rpc.Facts
	// Payers pay refunds beside the fee recipient of each block.
	Payers []common.Address
	// PayoutGas is what a payout costs, and is taken from the refund at the block's base fee; 0 takes nothing.
	PayoutGas uint64
}

// Settler is safe for concurrent use.
type Settler struct {
	Config

	mu   sync.Mutex // guards the book; facts are recorded under it, so that they have the book's order
	book *book
}

// New begins with an empty book; Apply fills it.
func New(cfg Config) *Settler { return &Settler{Config: cfg, book: newBook()} }

// Apply takes a fact of an earlier life.
func (s *Settler) Apply(fact rpc.Fact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.book.apply(fact)
}

// SetRecipient has the refunds of one address that are credited later go to another.
func (s *Settler) SetRecipient(at time.Time, from, to common.Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(rpc.RecipientSet{At: at, From: from, To: to})
}

// record records a fact that the book follows. The caller holds mu.
func (s *Settler) record(fact rpc.Fact) {
	s.book.apply(fact)
	s.Facts.Record(fact)
}

// Revert takes back what followed from a block that is not part of the chain any more.
func (s *Settler) Revert(at time.Time, block rpc.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(rpc.BlockReverted{At: at, Head: block})
}

// Settle counts a block of the chain, and tells by order's id what it paid. landed are the orders in it. A transaction that several orders have is
// counted for the first of them only: it was paid once.
func (s *Settler) Settle(ctx context.Context, at time.Time, block *types.Block, landed []*rpc.Order) (map[uint64]*uint256.Int, error) {
	head := rpc.Head{Number: block.NumberU64(), Hash: block.Hash(), Timestamp: block.Time()}
	var paid []exec.TxResult
	if len(landed) > 0 || s.mayPayOut(block) {
		landing, err := s.Replayer.Replay(ctx, block)
		if err != nil {
			return nil, fmt.Errorf("execute block %d again: %w", head.Number, err)
		}
		paid = landing.Txs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	values, err := s.credit(at, block, head, landed, paid)
	cost := refund.PayoutCost(s.PayoutGas, baseFee(block))
	for _, payout := range refund.Payouts(at, s.book.pending, refund.Block{
		Head: head, Transfers: transfers(block, paid), Payers: append([]common.Address{block.Coinbase()}, s.Payers...), CostWei: cost,
	}) {
		s.record(payout)
	}
	if err == nil {
		s.record(rpc.BlockIndexed{At: at, Head: head})
	}
	return values, err
}

func baseFee(block *types.Block) *uint256.Int {
	if block.BaseFee() == nil {
		return new(uint256.Int)
	}
	return uint256.MustFromBig(block.BaseFee())
}

// mayPayOut says whether a block has a transfer to somebody who waits for a refund.
func (s *Settler) mayPayOut(block *types.Block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(block.Transactions(), func(tx *types.Transaction) bool {
		return tx.To() != nil && len(tx.Data()) == 0 && s.book.owes(*tx.To())
	})
}

// credit splits what each order paid. The caller holds mu.
func (s *Settler) credit(
	at time.Time, block *types.Block, head rpc.Head, landed []*rpc.Order, paid []exec.TxResult,
) (values map[uint64]*uint256.Int, err error) {
	values = map[uint64]*uint256.Int{}
	left := map[common.Hash]int{} // transactions that no order has been counted for, by their place
	for i := range paid {
		left[paid[i].Hash] = i
	}
	for _, order := range landed {
		payments, after := payments(order, paid, left)
		division, wrong := refund.Split(refund.Landed{
			Order: order, Block: head, PaidWei: payments, CostWei: refund.PayoutCost(s.PayoutGas, baseFee(block)), Redirect: s.book.redirect,
		})
		if wrong != nil { // the order's own fault: the others go on
			err = wrong
			continue
		}
		values[order.ID] = division.ValueWei
		for _, r := range division.Refunds {
			r.Delayed = r.Delayed || order.Bundle.DelayedRefund
			s.book.credit(r, after)
			s.Facts.Record(rpc.RefundCredited{At: at, Refund: r})
		}
	}
	return values, err
}

// payments are what an order's transactions paid, depth first, and the place in the block of the last one.
func payments(order *rpc.Order, paid []exec.TxResult, left map[common.Hash]int) (wei []*uint256.Int, after int) {
	for tx := range order.Bundle.Transactions() {
		var payment *uint256.Int
		if i, ok := left[tx.Hash]; ok {
			payment, after = paid[i].CoinbaseDiffWei, max(after, i)
			delete(left, tx.Hash)
		}
		wei = append(wei, payment)
	}
	return wei, after
}

// transfers are a block's transactions that moved ether and did nothing else.
func transfers(block *types.Block, results []exec.TxResult) []refund.Transfer {
	var list []refund.Transfer
	for i, tx := range block.Transactions() {
		if i >= len(results) || results[i].Err != nil || tx.To() == nil || len(tx.Data()) > 0 {
			continue
		}
		value, overflow := uint256.FromBig(tx.Value())
		if overflow {
			continue
		}
		list = append(list, refund.Transfer{Hash: tx.Hash(), From: results[i].From, To: *tx.To(), ValueWei: value, Index: i})
	}
	return list
}
