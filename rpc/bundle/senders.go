package bundle

import (
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// Senders finds who sent transactions on one chain, by their signatures: 50 µs for each, the
// dearest step by far. Who implements it may remember senders and use several cores; *Chain does
// neither. It is safe for concurrent use.
type Senders interface {
	// Find fills in who sent each transaction. Of errors the first transaction's counts, and failed is
	// its index.
	Find(txs []*exec.Tx) (failed int, err error)
}

// Find implements Senders: one after the other.
func (c *Chain) Find(txs []*exec.Tx) (failed int, err error) {
	for i, tx := range txs {
		if tx.From, err = types.Sender(c.Signer, tx.Transaction); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// findSenders finds the senders of transactions on their way in.
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
