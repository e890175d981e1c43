package world

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
)

// blobTx makes a transaction with blobs that is valid on the ordered block's parent.
func (w *World) blobTx(ctx context.Context, order Order) (*types.Transaction, error) {
	if !w.Spec().ForkAt(order.Slot.Slot).HasBlobs() {
		return nil, fmt.Errorf("%s has no blobs", w.Spec().ForkAt(order.Slot.Slot))
	}
	if order.Blobs > chain.FixedBlobs {
		return nil, fmt.Errorf("%d blobs: there are %d", order.Blobs, chain.FixedBlobs)
	}
	sender := w.network.Users[w.cfg.Accounts]
	client := w.network.Chain.Attach()
	defer client.Close()
	var nonce hexutil.Uint64
	at := map[string]string{"blockHash": order.Slot.ParentHash.String()}
	if err := client.CallContext(ctx, &nonce, "eth_getTransactionCount", network.Address(sender),
		at); err != nil {
		return nil, fmt.Errorf("read the nonce: %w", err)
	}
	var places []int
	for i := range order.Blobs {
		places = append(places, i)
	}
	sidecar := chain.Sidecar(w.Spec().ForkAt(order.Slot.Slot), places...)
	to := common.Address{0xb1, 0x0b}
	return types.SignNewTx(sender, types.NewCancunSigner(big.NewInt(network.ChainID)), &types.BlobTx{
		ChainID: uint256.NewInt(network.ChainID), Nonce: uint64(nonce), GasTipCap: uint256.NewInt(1e9),
		GasFeeCap: uint256.NewInt(100e9), Gas: 21_000,
		To: to, BlobFeeCap: uint256.NewInt(1e9), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}
