package bundle

import (
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Senders finds the senders of transactions on one chain, by their signatures. That takes 50 µs for
// each, by far the most expensive step. An implementation may remember senders and use several
// cores; *Chain does neither. It is safe for concurrent use.
type Senders interface {
	// Find sets the sender of each transaction. If several fail, it returns the error of the first
	// one, and failed is that one's index.
	Find(txs []*exec.Tx) (failed int, err error)
}

// Find implements Senders. It recovers one sender after the other.
func (c *Chain) Find(txs []*exec.Tx) (failed int, err error) {
	for i, tx := range txs {
		if tx.From, err = types.Sender(c.Signer, tx.Transaction); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// findSenders finds the senders of a request's transactions.
func findSenders(txs []*incomingTx, in Intake) error {
	if len(txs) == 0 {
		return nil
	}
	wanted := make([]*exec.Tx, len(txs))
	for i, s := range txs {
		wanted[i] = &s.Tx
	}
	if i, err := in.senders().Find(wanted); err != nil {
		return rpc.BundleUndecodable.With("%s: %s", txs[i].path(), err)
	}
	return nil
}
