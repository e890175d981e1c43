package inclusion

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	names = map[common.Address]string{alice: "alice", bob: "bob", carol: "carol", builder: "builder", payer: "payer"}

	alice, bob, carol = common.Address{0xa}, common.Address{0xb}, common.Address{0xc}
	// the blocks' fee recipient, and the operator's own payer
	builder, payer = common.Address{0xbb}, common.Address{0xdd}
)

// act is a transaction and what it did in its block.
type act struct {
	from, to common.Address
	valueWei uint64
	data     string
	paidWei  uint64 // to the fee recipient
	gas      uint64 // limit
	fails    bool
}

// pays is a transaction that is worth something to the builder.
func pays(wei uint64) act { return act{from: carol, to: carol, data: "trade", paidWei: wei} }

// sends is a transfer.
func sends(from, to common.Address, wei uint64) act { return act{from: from, to: to, valueWei: wei} }

// indexerTest is an indexer with a chain that does what the test says.
type indexerTest struct {
	indexer *Indexer
	did     map[common.Hash][]exec.TxResult // by block
	down    bool                            // no node answers
	facts   []rpc.Fact
	nonce   uint64
	asked   []uint64 // blocks that were executed again
	unkept  error    // what the journal says of a recipient
}

func newIndexer(change func(*Config)) *indexerTest {
	w := &indexerTest{did: map[common.Hash][]exec.TxResult{}}
	cfg := Config{Replayer: w, Facts: w, Payers: []common.Address{payer}}
	if change != nil {
		change(&cfg)
	}
	w.indexer = New(cfg)
	return w
}

func (w *indexerTest) Record(fact rpc.Fact) { w.facts = append(w.facts, fact) }

// Keep implements rpc.DurableFacts.
func (w *indexerTest) Keep(facts ...rpc.Fact) (kept func() error) {
	w.facts = append(w.facts, facts...)
	return func() error { return w.unkept }
}

var errDown = errors.New("nobody answers")

// Replay implements exec.Replayer.
func (w *indexerTest) Replay(_ context.Context, block *types.Block) (*exec.Landing, error) {
	w.asked = append(w.asked, block.NumberU64())
	if w.down {
		return nil, errDown
	}
	return &exec.Landing{Block: block, Txs: w.did[block.Hash()]}, nil
}

// block makes a block of acts, with a base fee of 1 wei.
func (w *indexerTest) block(number uint64, acts ...act) *types.Block {
	var txs []*types.Transaction
	var results []exec.TxResult
	for _, a := range acts {
		w.nonce++
		tx := types.NewTx(&types.DynamicFeeTx{Nonce: w.nonce, Gas: a.gas, To: &a.to,
			Value: new(big.Int).SetUint64(a.valueWei), Data: []byte(a.data)})
		result := exec.TxResult{Hash: tx.Hash(), From: a.from, To: &a.to, CoinbaseDiffWei: uint256.NewInt(a.paidWei)}
		if a.fails {
			result.Err = errors.New("execution reverted")
		}
		txs, results = append(txs, tx), append(results, result)
	}
	w.nonce++ // so that no block is like another
	block := types.NewBlockWithHeader(&types.Header{
		Number: new(big.Int).SetUint64(number), Coinbase: builder, BaseFee: big.NewInt(1), Time: number * 12,
		Extra: fmt.Append(nil, w.nonce),
	}).WithBody(types.Body{Transactions: txs})
	w.did[block.Hash()] = results
	return block
}

// order is a bundle of a block's transactions that gives a percentage of what they pay to somebody.
// Its id is in its hash.
func order(id uint64, percent int, to common.Address, block *types.Block, places ...int) *rpc.Order {
	o := &rpc.Order{ID: id, Bundle: rpc.Bundle{Hash: common.Hash{byte(id)},
		Shares: []rpc.Share{{Address: to, Percent: 100}}}}
	if percent > 0 {
		o.Bundle.Refunds = []rpc.ElementRefund{{Element: 0, Percent: percent}}
	}
	for i, place := range places {
		o.Bundle.Elements = append(o.Bundle.Elements,
			rpc.Element{Tx: &rpc.Transaction{Hash: block.Transactions()[place].Hash(), From: carol}})
		o.Bundle.PaidBy = append(o.Bundle.PaidBy, i)
	}
	return o
}

// index indexes a block and tells what its orders were worth.
func (w *indexerTest) index(t *testing.T, block *types.Block, landed ...*rpc.Order) map[uint64]*uint256.Int {
	t.Helper()
	values, err := w.indexer.Index(t.Context(), noon, block, landed)
	if err != nil {
		t.Error(err)
	}
	return values
}

func (w *indexerTest) revert(block *types.Block) { w.indexer.Revert(noon, headOf(block)) }

func headOf(block *types.Block) rpc.Head {
	return rpc.Head{Number: block.NumberU64(), Hash: block.Hash(), Timestamp: block.Time()}
}

// takeFacts are the facts since the last look, in short.
func (w *indexerTest) takeFacts() string {
	var lines []string
	for _, fact := range w.facts {
		switch f := fact.(type) {
		case rpc.RefundCredited:
			line := fmt.Sprintf("%s gets %s of order %d", names[f.Recipient], f.AmountWei.Dec(), f.Hash[0])
			if f.Delayed {
				line += " later"
			}
			lines = append(lines, line)
		case rpc.RefundPaid:
			lines = append(lines, fmt.Sprintf("%s got it for order %d in %d", names[f.Recipient], f.Hash[0], f.PayoutBlock))
		case rpc.BlockIndexed:
			lines = append(lines, fmt.Sprint(f.Number, " is counted"))
		case rpc.BlockReverted:
			lines = append(lines, fmt.Sprint(f.Number, " is taken back"))
		case rpc.RecipientSet:
			lines = append(lines, fmt.Sprintf("%s's go to %s", names[f.From], names[f.To]))
		}
	}
	w.facts = nil
	return strings.Join(lines, "; ")
}

func (w *indexerTest) want(t *testing.T, want string) {
	t.Helper()
	if got := w.takeFacts(); got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
}
