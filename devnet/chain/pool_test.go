package chain

import (
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/eth"
)

// The pool hands out what users send: best tip first, one sender's nonces in order, blobs with
// their sidecars.
func TestPending(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	txs := []*types.Transaction{
		transfer(t, testKey(0), 0, common.Address{1}), transfer(t, testKey(0), 1, common.Address{1}),
		blobTransaction(t, eth.Fulu, testKey(1), 0, 0),
	}
	for _, err := range n.backend.TxPool().Add(txs, true) {
		if err != nil {
			t.Fatal(err)
		}
	}
	pending := n.Pending()
	if len(pending) != 3 {
		t.Fatalf("%d pending transactions", len(pending))
	}
	nonce := uint64(0)
	for _, tx := range pending {
		if tx.Type() == types.BlobTxType {
			if tx.BlobTxSidecar() == nil {
				t.Error("a blob transaction without its blobs")
			}
			continue
		}
		if tx.Nonce() != nonce {
			t.Errorf("nonce %d, want %d", tx.Nonce(), nonce)
		}
		nonce++
	}
	land(t, n, argsFor(n, 1, pending...))
	if rest := n.Pending(); len(rest) != 0 {
		t.Errorf("%d transactions are still pending after they were included", len(rest))
	}
}

// What the pool took is pending, even if it follows a new head while it looks at the transaction:
// with a nonce that a pending one precedes, it stays in go-ethereum's queue then.
func TestWhatWasSentIsPending(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	const rounds, each = 100, 4
	for nonce := range uint64(rounds * each) {
		if err := n.backend.TxPool().Add([]*types.Transaction{transfer(t, testKey(0), nonce, common.Address{1})},
			false)[0]; err != nil {
			t.Fatal(err)
		}
		if (nonce+1)%each != 0 {
			continue
		}
		if err := n.backend.TxPool().Sync(); err != nil { // as every new head does it
			t.Fatal(err)
		}
		if got := len(n.Pending()); got != int(nonce)+1 {
			t.Fatalf("%d transactions were sent, %d are pending", nonce+1, got)
		}
	}
}

// Builders ask at the same time, also for senders of whom nothing is pending yet: the race detector
// looks on.
func TestPendingForSeveral(t *testing.T) {
	n := opened(t, specOf(eth.Fulu))
	var all sync.WaitGroup
	for key := range 8 {
		all.Go(func() {
			if err := n.backend.TxPool().Add([]*types.Transaction{transfer(t, testKey(key), 0, common.Address{1})},
				false)[0]; err != nil {
				t.Error(err)
			}
			for range 20 {
				n.Pending()
			}
		})
	}
	all.Wait()
	if got := len(n.Pending()); got != 8 {
		t.Errorf("%d transactions are pending, want 8", got)
	}
}

// A queued transaction counts from its sender's next nonce on, up to the first gap.
func TestQueuedUpToTheFirstGap(t *testing.T) {
	sender := addressOf(testKey(0))
	sent := func(nonces ...uint64) (txs []*types.Transaction) {
		for _, nonce := range nonces {
			txs = append(txs, transfer(t, testKey(0), nonce, common.Address{1}))
		}
		return txs
	}
	for _, row := range []struct {
		name            string
		next            uint64
		pending, queued []uint64
		want            int
	}{
		{"follows pending ones", 9, []uint64{4, 5}, []uint64{6, 7}, 4},
		{"after a gap", 9, []uint64{4, 5}, []uint64{7, 8}, 2},
		{"up to a gap", 9, []uint64{4}, []uint64{5, 7}, 2},
		{"became pending meanwhile", 9, []uint64{4, 5}, []uint64{5, 6}, 3},
		{"none is pending", 4, nil, []uint64{4, 5}, 2},
		{"none is pending, after a gap", 4, nil, []uint64{5}, 0},
		{"landed meanwhile", 6, nil, []uint64{5, 6}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			pending := map[common.Address][]*txpool.LazyTransaction{}
			for _, tx := range sent(row.pending...) {
				pending[sender] = append(pending[sender], lazy(tx))
			}
			addQueued(pending, map[common.Address][]*types.Transaction{sender: sent(row.queued...)},
				func(common.Address) uint64 { return row.next })
			if got := len(pending[sender]); got != row.want {
				t.Errorf("%d transactions can be executed, want %d", got, row.want)
			}
		})
	}
}
