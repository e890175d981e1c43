// Package inclusion finds out what the chain's blocks paid: what orders brought to the fee
// recipient, what part is given back and to whom, and which transactions pay that out.
//
//	block, orders that landed in it ─▶ replay ─▶ what each transaction paid ─▶ refund.Split ───▶ RefundCredited   pending
//	                                     └─────▶ plain transfers of payers ──▶ refund.Payouts ─▶ RefundPaid       received
//	                                                                                             BlockIndexed
//
// Amounts are what happened on the chain, exact to the wei, and not what a simulation predicted.
package inclusion

import (
	"context"
	"errors"
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

// Config has what the indexer needs.
type Config struct {
	Replayer exec.Replayer
	Facts    rpc.DurableFacts
	// Payers are addresses that pay refunds, in addition to the fee recipient of each block.
	Payers []common.Address
	// PayoutGas is the gas of a payout. Its cost at the block's base fee is deducted from the
	// refund; 0 deducts nothing. Whatever it is, a payout is recognised if it is less than the
	// refund by at most its own gas limit at the base fee, up to 50,000 gas.
	PayoutGas uint64
}

// Indexer records what each block paid. It is safe for concurrent use.
type Indexer struct {
	Config

	// guards what follows; facts are recorded with it held, so that they have the order in which
	// refunds changed
	mu      sync.Mutex
	refunds *refunds
	waiting []landing // blocks that have not been counted yet, oldest first
}

// landing is a block of the chain with the orders in it.
type landing struct {
	block  *types.Block
	landed []*rpc.Order
}

// maxWaiting is how many blocks may wait for an execution node that can execute them again. Nodes
// do not keep the states before old blocks for long.
const maxWaiting = 64

// New makes an indexer without refunds; Apply fills it.
func New(cfg Config) *Indexer { return &Indexer{Config: cfg, refunds: newRefunds()} }

// Apply applies a fact of an earlier run.
func (x *Indexer) Apply(fact rpc.Fact) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refunds.apply(fact)
}

// SetRecipient redirects the refunds of one address, those that are credited from now on, to
// another. It returns when the journal has the fact. If the journal does not ack in time, the
// redirection counts until a restart.
func (x *Indexer) SetRecipient(at time.Time, from, to common.Address) error {
	return x.setRecipient(rpc.RecipientSet{At: at, From: from, To: to})()
}

func (x *Indexer) setRecipient(fact rpc.RecipientSet) (kept func() error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refunds.apply(fact)
	return x.Facts.Keep(fact)
}

// Recipient is where the refunds of an address go now: to itself, unless SetRecipient has
// redirected them.
func (x *Indexer) Recipient(owner common.Address) common.Address {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refunds.redirect(owner)
}

// record records a fact that changes the refunds. The caller holds mu.
func (x *Indexer) record(fact rpc.Fact) {
	x.refunds.apply(fact)
	x.Facts.Record(fact)
}

// Revert takes back the effects of a block that is not part of the chain any more.
func (x *Indexer) Revert(at time.Time, block rpc.Head) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = slices.DeleteFunc(x.waiting, func(l landing) bool { return l.block.Hash() == block.Hash })
	x.record(rpc.BlockReverted{At: at, Head: block})
}

// Index counts a block of the chain, and returns what each order in it paid, by the order's id.
// landed are the orders in it. A transaction that several orders have is counted for one of them
// only, since it was paid once: for the one that follows another order by it, else for the first.
// Blocks must come in the order of the chain.
//
// A block that cannot be executed now waits, with all that come after it, because BlockIndexed says
// that all earlier blocks are counted too. They are counted, and their values returned, by the
// first call that can execute them. When more than maxWaiting blocks wait, the oldest is given up,
// and the error says so.
func (x *Indexer) Index(ctx context.Context, at time.Time, block *types.Block,
	landed []*rpc.Order) (map[uint64]*uint256.Int, error) {
	values, errs := map[uint64]*uint256.Int{}, []error(nil)
	x.enqueue(landing{block, landed})
	for next, ok := x.oldest(); ok; next, ok = x.oldest() {
		paid, err := x.replay(ctx, next)
		if err != nil {
			errs = append(errs, err, x.dropOldest())
			break
		}
		errs = append(errs, x.count(at, next, paid, values))
	}
	return values, errors.Join(errs...)
}

func (x *Indexer) enqueue(l landing) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = append(x.waiting, l)
}

// dropOldest gives up the oldest waiting block if there are too many. The error says so.
func (x *Indexer) dropOldest() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) <= maxWaiting {
		return nil
	}
	oldest := x.waiting[0].block
	x.waiting = slices.Delete(x.waiting, 0, 1)
	return fmt.Errorf("block %d is given up after %d later ones: its refunds are not counted",
		oldest.NumberU64(), maxWaiting)
}

func (x *Indexer) oldest() (landing, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) == 0 {
		return landing{}, false
	}
	return x.waiting[0], true
}

// replay returns what a block's transactions paid; nil if no refund depends on it.
func (x *Indexer) replay(ctx context.Context, l landing) ([]exec.TxResult, error) {
	if len(l.landed) == 0 && !x.mayPayOut(l.block) {
		return nil, nil
	}
	done, err := x.Replayer.Replay(ctx, l.block)
	if err != nil {
		return nil, fmt.Errorf("execute block %d again: %w", l.block.NumberU64(), err)
	}
	return done.Txs, nil
}

// count records the effects of the oldest waiting block, and adds what its orders paid to values.
// The error is about orders whose terms can never be kept: the block is counted all the same.
func (x *Indexer) count(at time.Time, l landing, paid []exec.TxResult, values map[uint64]*uint256.Int) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = slices.Delete(x.waiting, 0, 1)
	head := rpc.Head{Number: l.block.NumberU64(), Hash: l.block.Hash(), Timestamp: l.block.Time()}
	err := x.credit(at, l, head, paid, values)
	payers := append([]common.Address{l.block.Coinbase()}, x.Payers...)
	for _, payout := range refund.Payouts(at, x.refunds.pending, refund.Block{
		Head: head, Transfers: transfers(l.block, paid), Payers: payers, CostWei: refund.PayoutCost(x.PayoutGas,
			baseFee(l.block)),
	}) {
		x.record(payout)
	}
	x.record(rpc.BlockIndexed{At: at, Head: head})
	return err
}

func baseFee(block *types.Block) *uint256.Int {
	if block.BaseFee() == nil {
		return new(uint256.Int)
	}
	return uint256.MustFromBig(block.BaseFee())
}

// mayPayOut says whether a block has a transfer to an address that is owed a refund.
func (x *Indexer) mayPayOut(block *types.Block) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(block.Transactions(), func(tx *types.Transaction) bool {
		return tx.To() != nil && len(tx.Data()) == 0 && x.refunds.owes(*tx.To())
	})
}

// credit splits what each order paid. The caller holds mu.
func (x *Indexer) credit(at time.Time, l landing, head rpc.Head, paid []exec.TxResult,
	values map[uint64]*uint256.Int) error {
	claims := claimsOf(l.landed)
	places := map[common.Hash]int{}
	for i := range paid {
		places[paid[i].Hash] = i
	}
	cost := refund.PayoutCost(x.PayoutGas, baseFee(l.block))
	var errs []error
	for _, order := range l.landed {
		payments, after := payments(order, paid, places, claims)
		division, err := refund.Split(refund.Landed{Order: order, Block: head, PaidWei: payments, CostWei: cost,
			Redirect: x.refunds.redirect})
		if err != nil { // only this order is wrong: the others go on
			errs = append(errs, err)
			continue
		}
		values[order.ID] = division.ValueWei
		for _, credited := range division.Refunds {
			credited.Delayed = credited.Delayed || order.Bundle.DelayedRefund
			credited.Sender = senderOf(&order.Bundle, credited.Hash, paid, places)
			if x.refunds.credit(credited, after) {
				x.Facts.Record(rpc.RefundCredited{At: at, Refund: credited})
			}
		}
	}
	return errors.Join(errs...)
}

// senderOf returns the sender of the first transaction, as far as it is in the block, of the bundle
// with this hash in b; zero if there is none.
func senderOf(b *rpc.Bundle, hash common.Hash, paid []exec.TxResult, places map[common.Hash]int) common.Address {
	if b.Hash != hash {
		for i := range b.Elements {
			if inner := b.Elements[i].Bundle; inner != nil {
				if sender := senderOf(inner, hash, paid, places); sender != (common.Address{}) {
					return sender
				}
			}
		}
		return common.Address{}
	}
	for tx := range b.Transactions() {
		if i, ok := places[tx.Hash]; ok {
			return paid[i].From
		}
	}
	return common.Address{}
}

// payments returns what an order's transactions paid, depth first, as far as they are counted for
// this order. after is the index in the block of the last one. A transaction that an order has
// twice is counted once.
func payments(order *rpc.Order, paid []exec.TxResult, places map[common.Hash]int,
	claims map[common.Hash]uint64) (wei []*uint256.Int, after int) {
	for tx := range order.Bundle.Transactions() {
		var payment *uint256.Int
		if i, ok := places[tx.Hash]; ok {
			after = max(after, i)
			if claims[tx.Hash] == order.ID {
				payment = paid[i].CoinbaseDiffWei
				delete(claims, tx.Hash)
			}
		}
		wei = append(wei, payment)
	}
	return wei, after
}

// maxPayoutGas bounds the gas that a payer may deduct from a refund. A transfer to a wallet that is
// a contract needs more gas than one to an account. Without the bound, a payer could keep the
// refund by setting a high gas limit.
const maxPayoutGas = 50_000

// transfers returns a block's transactions that moved ether and did nothing else.
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
		list = append(list, refund.Transfer{
			Hash: tx.Hash(), From: results[i].From, To: *tx.To(), ValueWei: value, Index: i,
			CostWei: refund.PayoutCost(min(tx.Gas(), maxPayoutGas), baseFee(block)),
		})
	}
	return list
}
