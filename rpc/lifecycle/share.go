package lifecycle

import (
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/rpc"
)

// announceShared records an order for the event stream when a simulation of it has just succeeded,
// if its signer shares something of it and it has not been announced yet. The caller holds mu, so
// that no order is announced after its cancel was acknowledged.
func (l *Lifecycle) announceShared(order *rpc.Order, head rpc.Head, seen *exec.BundleResult) {
	if !l.Pool.IsUnshared(order.ID) {
		return
	}
	shared, err := buildShared(order, seen)
	if err != nil {
		l.Log.Error("an order's hint cannot be made", "order", order.Hash(), "error", err)
		return
	}
	shared.At, shared.Block = l.Clock.Now(), head.Number
	l.record(l.Pool.Share(order.ID, shared))
}

// buildShared combines an order with what its simulation saw, for the event stream. The caller sets
// the time and the block.
func buildShared(order *rpc.Order, seen *exec.BundleResult) (orderflow.Shared, error) {
	txs := seen.Txs
	bundle, err := sharedBundle(&order.Bundle, &txs)
	if err != nil {
		return orderflow.Shared{}, err
	}
	return orderflow.Shared{Hash: order.Hash(), Bundle: bundle, GasUsed: seen.GasUsed,
		MevGasPriceWei: seen.MevGasPriceWei}, nil
}

// sharedBundle consumes its transactions from the front of seen, which has all of them, depth
// first.
func sharedBundle(b *rpc.Bundle, seen *[]exec.TxResult) (shared orderflow.Bundle, err error) {
	shared.Hints = b.Hints
	for i := range b.Elements {
		var element orderflow.Element
		switch e := &b.Elements[i]; {
		case e.Tx != nil:
			element.Tx, err = sharedTx(e.Tx, seen)
		case e.Bundle != nil:
			element.Bundle = new(orderflow.Bundle)
			*element.Bundle, err = sharedBundle(e.Bundle, seen)
		}
		if err != nil {
			return orderflow.Bundle{}, err
		}
		shared.Elements = append(shared.Elements, element)
	}
	return shared, nil
}

func sharedTx(tx *rpc.Transaction, seen *[]exec.TxResult) (*orderflow.Tx, error) {
	if len(*seen) == 0 || (*seen)[0].Hash != tx.Hash {
		return nil, fmt.Errorf("the simulation says nothing of transaction %s", tx.Hash)
	}
	did := (*seen)[0]
	*seen = (*seen)[1:]
	raw, err := withoutBlobs(tx.Raw)
	if err != nil {
		return nil, fmt.Errorf("take the blobs off transaction %s: %w", tx.Hash, err)
	}
	shared := &orderflow.Tx{Raw: raw, Hash: tx.Hash, From: did.From}
	for _, l := range did.Logs {
		shared.Logs = append(shared.Logs, orderflow.Log{Address: l.Address, Topics: l.Topics, Data: l.Data})
	}
	return shared, nil
}

// withoutBlobs returns a transaction as it is in a block: without the blobs.
func withoutBlobs(raw hexutil.Bytes) (hexutil.Bytes, error) {
	if len(raw) == 0 || raw[0] != types.BlobTxType {
		return raw, nil
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	return tx.WithoutBlobTxSidecar().MarshalBinary()
}
