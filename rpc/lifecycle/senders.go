package lifecycle

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Senders finds the senders of transactions, and remembers them, because the same transactions come
// again for every block. A transaction's hash covers its signature, so its sender never changes. It
// implements bundle.Senders.
type Senders struct {
	signer types.Signer
	known  *lru.Cache[common.Hash, common.Address]
}

// NewSenders recovers senders as the signer's chain does. It remembers at most that many, at about
// 200 bytes each.
func NewSenders(signer types.Signer, most int) *Senders {
	return &Senders{signer: signer, known: lru.NewCache[common.Hash, common.Address](most)}
}

// Find implements bundle.Senders. Unknown senders are recovered, on all cores if there are enough
// of them.
func (s *Senders) Find(txs []*exec.Tx) (failed int, err error) {
	unknown := make([]int, 0, len(txs))
	for i, tx := range txs {
		found := false
		if tx.From, found = s.known.Get(tx.Hash()); !found {
			unknown = append(unknown, i)
		}
	}
	errs := make([]error, len(unknown))
	runInParallel(len(unknown), func(i int) {
		tx := txs[unknown[i]]
		if tx.From, errs[i] = types.Sender(s.signer, tx.Transaction); errs[i] == nil {
			s.known.Add(tx.Hash(), tx.From)
		}
	})
	for i, err := range errs {
		if err != nil {
			return unknown[i], err
		}
	}
	return 0, nil
}

// parallelFrom is the number of transactions from which on it pays to wake other cores.
const parallelFrom = 9

// runInParallel calls do with 0 to n-1, on all cores if n is large enough.
func runInParallel(n int, do func(i int)) {
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
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}
