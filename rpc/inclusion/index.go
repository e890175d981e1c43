// Package inclusion finds out what the chain's blocks paid: what orders brought to the fee
// recipient, what of it is given back and to whom, and which transactions pay that out.
//
//	block, orders that landed in it ─▶ replay ─▶ what each transaction paid ─▶ refund.Split ───▶ RefundCredited   pending
//	                                     └─────▶ plain transfers of payers ──▶ refund.Payouts ─▶ RefundPaid       received
//	                                                                                             BlockIndexed
//
// Amounts are what the chain says, exact to the wei, and not what a simulation promised.
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

// Config has what the indexer asks.
type Config struct {
	Replayer exec.Replayer
	Facts    rpc.Keeper
	// Payers pay refunds beside the fee recipient of each block.
	Payers []common.Address
	// PayoutGas is what a payout costs, and is taken from the refund at the block's base fee; 0 takes
	// nothing. A payout that is less than the refund by at most its own gas limit at the base fee, up
	// to 50,000 gas, is found either way.
	PayoutGas uint64
}

// Indexer is safe for concurrent use.
type Indexer struct {
	Config

	mu      sync.Mutex // guards what follows; facts are recorded under it, so that they have the refunds' order
	refunds *refunds
	waiting []landing // blocks that are not counted yet, oldest first
}

// landing is a block of the chain with the orders in it.
type landing struct {
	block  *types.Block
	landed []*rpc.Order
}

// maxWaiting is how many blocks wait for an execution node that can execute them again. Nodes do
// not keep the state before older ones for long.
const maxWaiting = 64

// New begins with no refunds; Apply fills it.
func New(cfg Config) *Indexer { return &Indexer{Config: cfg, refunds: newRefunds()} }

// Apply takes a fact of an earlier life.
func (x *Indexer) Apply(fact rpc.Fact) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refunds.apply(fact)
}

// SetRecipient has the refunds of one address that are credited later go to another. It answers
// when the journal has that; one that the journal does not ack in time counts until a restart.
func (x *Indexer) SetRecipient(at time.Time, from, to common.Address) error {
	return x.setRecipient(rpc.RecipientSet{At: at, From: from, To: to})()
}

func (x *Indexer) setRecipient(fact rpc.RecipientSet) (kept func() error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.refunds.apply(fact)
	return x.Facts.Keep(fact)
}

// Recipient is where the refunds of an address go now: to itself, unless SetRecipient said another
// one.
func (x *Indexer) Recipient(owner common.Address) common.Address {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.refunds.redirect(owner)
}

// record records a fact that the refunds follows. The caller holds mu.
func (x *Indexer) record(fact rpc.Fact) {
	x.refunds.apply(fact)
	x.Facts.Record(fact)
}

// Revert takes back what followed from a block that is not part of the chain any more.
func (x *Indexer) Revert(at time.Time, block rpc.Head) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = slices.DeleteFunc(x.waiting, func(l landing) bool { return l.block.Hash() == block.Hash })
	x.record(rpc.BlockReverted{At: at, Head: block})
}

// Index counts a block of the chain, and tells by order's id what it paid. landed are the orders
// in it. A transaction that several orders have is counted for one of them only, since it was paid
// once: for the one that follows another order by it, else for the first. Blocks come one after
// another.
//
// A block that cannot be executed now waits, with all that come after it: BlockIndexed must not be
// said of a block while one before it is not counted. They are counted, and their values told, with
// the first block after which that can be done. After maxWaiting blocks the oldest is given up,
// which the error says.
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

// dropOldest lets go of the oldest block that waits, if there are too many. The error says so.
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

// replay tells what a block's transactions paid, if anybody wants to know.
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

// count records what follows from the oldest block that waits, and adds what its orders paid to
// values. The error is about orders whose terms cannot be kept, ever: the block is counted all the
// same.
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

// mayPayOut says whether a block has a transfer to somebody who waits for a refund.
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
		if err != nil { // the order's own fault: the others go on
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

// senderOf is who sent the first transaction of what is called hash in a bundle that landed; zero
// if that is not there.
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

// payments are what an order's transactions paid, depth first, as far as they are counted for it,
// and the place in the block of the last one. One that an order has twice is counted once.
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

// maxPayoutGas bounds the gas that a payer may take off a refund: a transfer to a wallet that is a
// contract needs more than one to an account, but none needs as much as somebody might say who
// wants to keep the refund.
const maxPayoutGas = 50_000

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
		list = append(list, refund.Transfer{
			Hash: tx.Hash(), From: results[i].From, To: *tx.To(), ValueWei: value, Index: i,
			CostWei: refund.PayoutCost(min(tx.Gas(), maxPayoutGas), baseFee(block)),
		})
	}
	return list
}
