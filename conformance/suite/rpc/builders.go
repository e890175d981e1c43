package rpc

import (
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// The world's builder includes an order in a block only when a spec asks for one of its
// transactions. So a spec knows who made a block, and why:
//
//	spec ─order─▶ RPC under test ─▶ world's builder ─(include)─▶ block ─▶ receipts, balances ─▶ spec
//
// Such specs look at what becomes of an order, and not at the answer: a server may take every
// member of an order and forget it. They wait for several blocks, so they run beside the other
// specs, and their orders share no hints.

// requireBuilders ends the spec as inconclusive unless the target's RPC sends its orders to the
// world's builders.
func requireBuilders(t *suite.T) {
	if t.Target.RPC == nil || !t.Target.RPC.SendsToWorld {
		t.Inconclusive("needs an RPC that sends its orders to the world's builders (rpc.sendsToWorld)")
	}
}

// slots returns how long n slots of the world take.
func slots(t *suite.T, n int) time.Duration { return t.World.Facts.Slots(n) }

// listSent returns what the target has sent to builders about a transaction.
func listSent(t *suite.T, tx *types.Transaction) []world.Sent {
	list, err := t.World.Sent(t, tx.Hash())
	t.Ready(err, "ask the world's builders")
	return list
}

// waitBuilderHas waits until a builder has received an order with the transaction. If none has, the
// spec is inconclusive, because the order cannot be included.
func waitBuilderHas(t *suite.T, tx *types.Transaction) {
	err := t.Eventually(slots(t, 6), func() error {
		if len(listSent(t, tx)) == 0 {
			return errNotSent
		}
		return nil
	})
	t.Ready(err, "wait for the order at the world's builder "+world.BuilderNames[0])
}

// Reasons to look again.
const (
	errNotSent   = errText("no builder was sent it")
	errNoBlock   = errText("the block did not come")
	errNotLanded = errText("it is in no block")
)

// errText is a reason to look again.
type errText string

// Error implements error.
func (e errText) Error() string { return string(e) }

// include has the world's builder put its orders with these transactions into the next blocks.
func include(t *suite.T, txs ...*types.Transaction) {
	hashes := make([]common.Hash, len(txs))
	for i, tx := range txs {
		hashes[i] = tx.Hash()
	}
	t.Ready(t.World.Include(t, hashes...), "ask the world's builder for a block")
}

// receipt says where a transaction is in the chain, and what it did.
type receipt struct {
	Block  hexutil.Uint64 `json:"blockNumber"`
	Place  hexutil.Uint64 `json:"transactionIndex"`
	Gas    hexutil.Uint64 `json:"gasUsed"`
	Price  *hexutil.Big   `json:"effectiveGasPrice"`
	Status hexutil.Uint64 `json:"status"`
}

// receiptOf returns a transaction's receipt; nil while it is in no block.
func receiptOf(t *suite.T, tx *types.Transaction) (r *receipt) {
	ask(t, &r, "eth_getTransactionReceipt", tx.Hash())
	return r
}

// waitLanded waits until a transaction is in a block, and returns its receipt; nil if it is not
// included in the given time.
func waitLanded(t *suite.T, tx *types.Transaction, within time.Duration) (r *receipt) {
	_ = t.Eventually(within, func() error {
		if r = receiptOf(t, tx); r == nil {
			return errNotLanded
		}
		return nil
	})
	return r
}

// waitForBlock waits until the chain has a block.
func waitForBlock(t *suite.T, number uint64) {
	err := t.Eventually(slots(t, 12), func() error {
		if head(t) < number {
			return errNoBlock
		}
		return nil
	})
	t.Ready(err, fmt.Sprintf("wait for block %d", number))
}

// settledBlock returns the number of a block that has a successor, so that every node knows it.
func settledBlock(t *suite.T) uint64 {
	waitForBlock(t, 2)
	return head(t) - 1
}

// baseFee returns the base fee of a block, in wei.
func baseFee(t *suite.T, number hexutil.Uint64) *big.Int {
	var block struct {
		BaseFee *hexutil.Big `json:"baseFeePerGas"`
	}
	ask(t, &block, "eth_getBlockByNumber", number, false)
	return (*big.Int)(block.BaseFee)
}

// timeOf returns the time of a block, in seconds since 1970.
func timeOf(t *suite.T, number uint64) uint64 {
	var block struct {
		Timestamp hexutil.Uint64 `json:"timestamp"`
	}
	ask(t, &block, "eth_getBlockByNumber", hexutil.Uint64(number), false)
	return uint64(block.Timestamp)
}

// balance returns the balance of an account after a block, in wei.
func balance(t *suite.T, of common.Address, number hexutil.Uint64) *big.Int {
	var wei hexutil.Big
	ask(t, &wei, "eth_getBalance", of, number)
	return (*big.Int)(&wei)
}

// tries is how often a spec that needs one certain block is tried. Other specs propose blocks of
// their own, which the world's builder does not make.
const tries = 20

// repeatUntilBuilt runs a spec that needs one certain block again until had returns true, which
// means that the world's builder made the block.
func repeatUntilBuilt(t *suite.T, had func() bool) {
	for range tries {
		if had() {
			return
		}
	}
	t.Inconclusive("none of %d blocks was made by the world's builder", tries)
}

// checkGoesTo sends an order, and fails the spec unless the named builder is sent it, and no other
// but the operator's own.
func checkGoesTo(t *suite.T, name string, send func(tx *types.Transaction)) {
	requireBuilders(t)
	tx := newWallet(t).send(1)
	at := head(t)
	send(tx)
	var names []string
	err := t.Eventually(slots(t, 6), func() error {
		names = nil
		for _, s := range listSent(t, tx) {
			names = append(names, s.Builder)
		}
		if !slices.Contains(names, name) {
			return errNotSent
		}
		return nil
	})
	t.Check(err == nil, "the order at the builder "+name, fmt.Sprintf("at %v", names))
	waitForBlock(t, max(at+3, head(t)+1)) // so that it could have gone to the others
	for _, s := range listSent(t, tx) {
		t.Check(s.Builder == name || s.Builder == world.BuilderNames[0], "no other builder to be sent it than "+name,
			s.Builder)
	}
}

// checkOfferedFor fails the spec unless an order is offered for the last of its blocks, and for
// none outside.
func checkOfferedFor(t *suite.T, tx *types.Transaction, from, to uint64) {
	waitForBlock(t, to+3)
	count, first, last := countOffered(t, tx)
	t.Check(count > 0 && first >= from && last <= to, fmt.Sprintf("offers for blocks %d to %d", from, to),
		fmt.Sprintf("%d offers, for %d to %d", count, first, last))
	t.Check(last+1 >= to, fmt.Sprintf("offers up to block %d", to), last) // one block may come too fast
	t.Check(uint64(count)+2 >= to-from+1, fmt.Sprintf("offers for the blocks between %d and %d as well", from, to), count)
}

// checkOfferedUpTo is checkOfferedFor for an order that must be offered for its very last block in
// one of three times: two blocks may come so close together that nothing can be sent between them.
func checkOfferedUpTo(t *suite.T, send func() (tx *types.Transaction, from, to uint64)) {
	for range 3 {
		tx, from, to := send()
		checkOfferedFor(t, tx, from, to)
		if _, _, last := countOffered(t, tx); last == to {
			return
		}
	}
	t.Check(false, "an offer for the last block of one of three orders", "none")
}
