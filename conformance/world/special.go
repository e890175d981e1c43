package world

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"fmt"
	"math/big"
	"math/rand/v2"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
)

// special makes the transactions that an ordered block has beside the payment: with blobs, with
// execution requests, and with data. They are valid on the block's parent.
func (w *World) special(ctx context.Context, order Order) ([]*types.Transaction, error) {
	if order.Blobs == 0 && !order.Requests && order.Bytes == 0 {
		return nil, nil
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
	var txs []*types.Transaction
	if order.Blobs > 0 {
		tx, err := w.blobTx(order, sender, uint64(nonce))
		if err != nil {
			return nil, err
		}
		txs = append(txs, tx)
	}
	if order.Requests {
		list, err := w.requestTxs(order, sender, uint64(nonce)+uint64(len(txs)))
		if err != nil {
			return nil, err
		}
		txs = append(txs, list...)
	}
	list, err := w.dataTxs(order, sender, uint64(nonce)+uint64(len(txs)))
	return append(txs, list...), err
}

const (
	// MostBytes is the most data that a block's transactions may carry. A block of 60 million gas has
	// room for it at 40 gas per byte (EIP-7623), with some left for what else is ordered.
	MostBytes = 1_200_000
	// dataTxBytes is the most data in one transaction.
	dataTxBytes = 100_000
	// dataGas is the gas of one byte.
	dataGas = params.TxCostFloorPerToken * params.TxTokenPerNonZeroByte
)

// dataKey says which transactions with data a block has: blocks of different values share them, as
// blocks of one builder do.
type dataKey struct {
	nonce uint64
	bytes int
}

// dataOf are the transactions with data that were made for blocks on one parent. go-ethereum keeps
// in them what it has worked out of them, such as the sender.
type dataOf struct {
	parent phase0.Hash32
	made   map[dataKey][]*types.Transaction
}

// dataTxs returns transactions that carry the ordered number of bytes.
func (w *World) dataTxs(order Order, sender *ecdsa.PrivateKey, nonce uint64) ([]*types.Transaction, error) {
	if order.Bytes < 0 || order.Bytes > MostBytes {
		return nil, fmt.Errorf("%d bytes of transactions: give at most %d", order.Bytes, MostBytes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.data.parent != order.Slot.ParentHash {
		w.data = dataOf{order.Slot.ParentHash, map[dataKey][]*types.Transaction{}}
	}
	key := dataKey{nonce, order.Bytes}
	txs, err := w.data.made[key], error(nil)
	if txs == nil && order.Bytes > 0 {
		txs, err = makeDataTxs(order, sender, nonce)
		w.data.made[key] = txs
	}
	return txs, err
}

// makeDataTxs makes the transactions. Their bytes follow from the parent.
func makeDataTxs(order Order, sender *ecdsa.PrivateKey, nonce uint64) (txs []*types.Transaction, err error) {
	random := rand.NewChaCha8(order.Slot.ParentHash)
	for left := order.Bytes; left > 0; left -= dataTxBytes {
		data := make([]byte, min(left, dataTxBytes))
		_, _ = random.Read(data) // it never fails
		tx, err := types.SignNewTx(sender, types.LatestSignerForChainID(big.NewInt(network.ChainID)), &types.DynamicFeeTx{
			ChainID: big.NewInt(network.ChainID), Nonce: nonce + uint64(len(txs)), GasTipCap: big.NewInt(1e9),
			GasFeeCap: big.NewInt(100e9), Gas: params.TxGas + uint64(len(data))*dataGas, To: &common.Address{0xda, 0x7a},
			Data: data,
		})
		if err != nil {
			return nil, fmt.Errorf("sign a transaction with data: %w", err)
		}
		txs = append(txs, tx)
	}
	return txs, nil
}

func (w *World) blobTx(order Order, sender *ecdsa.PrivateKey, nonce uint64) (*types.Transaction, error) {
	fork := w.Spec().ForkAt(order.Slot.Slot)
	if !fork.HasBlobs() {
		return nil, fmt.Errorf("%s has no blobs", fork)
	}
	if order.Blobs > chain.FixedBlobs {
		return nil, fmt.Errorf("%d blobs: there are %d", order.Blobs, chain.FixedBlobs)
	}
	var places []int
	for i := range order.Blobs {
		places = append(places, i)
	}
	sidecar := chain.Sidecar(fork, places...)
	to := common.Address{0xb1, 0x0b}
	return types.SignNewTx(sender, types.NewCancunSigner(big.NewInt(network.ChainID)), &types.BlobTx{
		ChainID: uint256.NewInt(network.ChainID), Nonce: nonce, GasTipCap: uint256.NewInt(1e9),
		GasFeeCap: uint256.NewInt(100e9), Gas: 21_000,
		To: to, BlobFeeCap: uint256.NewInt(1e9), BlobHashes: sidecar.BlobHashes(), Sidecar: sidecar,
	})
}

// requestTxs ask the contracts of EIP-7002 and EIP-7251 for a withdrawal and for a consolidation of
// a validator that there is not. Consensus clients ignore such requests.
func (w *World) requestTxs(order Order, sender *ecdsa.PrivateKey, nonce uint64) ([]*types.Transaction, error) {
	if fork := w.Spec().ForkAt(order.Slot.Slot); !fork.HasRequests() {
		return nil, fmt.Errorf("%s has no execution requests", fork)
	}
	var txs []*types.Transaction
	for i, ask := range []struct {
		to   common.Address
		size int
	}{{params.WithdrawalQueueAddress, 48 + 8}, {params.ConsolidationQueueAddress, 48 + 48}} {
		tx, err := types.SignNewTx(sender, types.LatestSignerForChainID(big.NewInt(network.ChainID)), &types.DynamicFeeTx{
			ChainID: big.NewInt(network.ChainID), Nonce: nonce + uint64(i), GasTipCap: big.NewInt(1e9),
			GasFeeCap: big.NewInt(100e9), Gas: 300_000, To: &ask.to, Value: big.NewInt(1000),
			Data: bytes.Repeat([]byte{0xbb}, ask.size),
		})
		if err != nil {
			return nil, fmt.Errorf("sign a request: %w", err)
		}
		txs = append(txs, tx)
	}
	return txs, nil
}
