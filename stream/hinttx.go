package stream

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// appendTx writes what is shown of a transaction. The keys have the order of deployed services.
func appendTx(to []byte, shared *orderflow.Tx, show orderflow.Hints, gasLimit bool) ([]byte, error) {
	o := object{to: append(to, '{')}
	if show&orderflow.TxHash != 0 {
		o.bytes("hash", shared.Hash[:])
	}
	if show&orderflow.ContractAddress == 0 { // all hints below imply it
		return o.end(), nil
	}
	var tx types.Transaction
	if err := tx.UnmarshalBinary(shared.Raw); err != nil {
		return nil, fmt.Errorf("read what is shown of it: %w", err)
	}
	if tx.To() != nil {
		o.bytes("to", tx.To()[:])
	}
	if show&orderflow.FunctionSelector != 0 {
		o.bytes("functionSelector", selector(tx.Data()))
	}
	if show&orderflow.Calldata != 0 {
		o.bytes("callData", tx.Data())
	}
	if show&orderflow.Full != 0 {
		o.full(&tx, shared, gasLimit)
	}
	return o.end(), nil
}

// selector is the first four bytes of calldata. Shorter calldata is filled up with zeros, because
// clients refuse any other length.
func selector(calldata []byte) []byte {
	var four [4]byte
	copy(four[:], calldata)
	return four[:]
}

// full adds the rest of a transaction, except its signature and the fields of blob and set-code
// transactions only. Transactions of the older types have one gas price: it is written as both fee
// caps, which clients read, and as gasPrice.
func (o *object) full(tx *types.Transaction, shared *orderflow.Tx, gasLimit bool) {
	o.bytes("from", shared.From[:])
	o.big("value", tx.Value())
	o.big("maxFeePerGas", tx.GasFeeCap())
	o.big("maxPriorityFeePerGas", tx.GasTipCap())
	if tx.Type() == types.LegacyTxType || tx.Type() == types.AccessListTxType {
		o.big("gasPrice", tx.GasPrice())
	}
	o.number("nonce", tx.Nonce())
	if tx.Type() != types.LegacyTxType || tx.Protected() {
		o.big("chainId", tx.ChainId())
	}
	if tx.Type() != types.LegacyTxType {
		o.to = appendAccessList(o.key("accessList"), tx.AccessList())
	}
	o.number("gas", tx.Gas())
	if gasLimit {
		o.number("gasLimit", tx.Gas())
	}
	o.number("type", uint64(tx.Type()))
}

func appendAccessList(to []byte, list types.AccessList) []byte {
	to = append(to, '[')
	for i, tuple := range list {
		if i > 0 {
			to = append(to, ',')
		}
		to = appendBytes(append(to, `{"address":`...), tuple.Address[:])
		to = append(to, `,"storageKeys":[`...)
		for j, key := range tuple.StorageKeys {
			if j > 0 {
				to = append(to, ',')
			}
			to = appendBytes(to, key[:])
		}
		to = append(to, "]}"...)
	}
	return append(to, ']')
}

// number adds a quantity.
func (o *object) number(key string, n uint64) { o.to = appendQuantity(o.key(key), uint256.NewInt(n)) }
