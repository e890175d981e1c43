package bundle

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Senders remembers who sent transactions that were read before, since the same ones come again for
// every block and finding a sender is dear. A transaction's hash covers its signature, so the
// answer never changes. It must know senders on one chain only, and be safe for concurrent use.
type Senders interface {
	Sender(tx common.Hash) (sender common.Address, known bool)
	// Remember is told what Sender may answer from now on.
	Remember(tx common.Hash, sender common.Address)
}

// Recent remembers the senders that were asked for last. It implements Senders.
type Recent struct {
	senders *lru.Cache[common.Hash, common.Address]
}

// NewRecent remembers that many senders, at about 200 bytes each.
func NewRecent(most int) *Recent { return &Recent{lru.NewCache[common.Hash, common.Address](most)} }

// Sender implements Senders.
func (r *Recent) Sender(tx common.Hash) (sender common.Address, known bool) { return r.senders.Get(tx) }

// Remember implements Senders.
func (r *Recent) Remember(tx common.Hash, sender common.Address) { r.senders.Add(tx, sender) }

// findSenders finds the senders of transactions on their way in.
func findSenders(txs []*incomingTx, in Intake) error {
	wanted := make([]*exec.Tx, len(txs))
	for i, s := range txs {
		wanted[i] = &s.Tx
	}
	if i, err := recoverSenders(wanted, in.Chain, in.Senders); err != nil {
		return rpc.BundleUndecodable.With("%s: %s", txs[i].path(), err)
	}
	return nil
}

// parallelFrom is the number of transactions from which on it is worth to wake other cores.
const parallelFrom = 9

// recoverSenders fills in who sent transactions: those that are known, and then the others by their
// signatures, which is the dearest step by far, 50 µs for each. Of errors the first transaction's
// counts, and failed is its index. senders may be nil.
func recoverSenders(txs []*exec.Tx, chain types.Signer, senders Senders) (failed int, err error) {
	unknown := make([]int, 0, len(txs))
	for i, tx := range txs {
		known := false
		if senders != nil {
			tx.From, known = senders.Sender(tx.Hash())
		}
		if !known {
			unknown = append(unknown, i)
		}
	}
	errs := make([]error, len(unknown))
	each(len(unknown), func(i int) {
		tx := txs[unknown[i]]
		if tx.From, errs[i] = types.Sender(chain, tx.Transaction); errs[i] == nil && senders != nil {
			senders.Remember(tx.Hash(), tx.From)
		}
	})
	for i, err := range errs {
		if err != nil {
			return unknown[i], err
		}
	}
	return 0, nil
}

// each does something for 0 to n-1, on all cores if that is worth it.
func each(n int, do func(i int)) {
	workers := 1
	if n >= parallelFrom {
		workers = min(runtime.GOMAXPROCS(0), n)
	}
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(int(i))
		}
	}
	var group sync.WaitGroup
	for range workers - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
