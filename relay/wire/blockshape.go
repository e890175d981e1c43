package wire

import (
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// blockFields are the fields that an execution payload and its header have in common.
type blockFields struct {
	parentHash, feeRecipient, stateRoot, receiptsRoot, logsBloom, prevRandao, blockHash []byte
	number, gasLimit, gasUsed, timestamp, blobGasUsed, excessBlobGas                    *uint64
	extraData                                                                           *[]byte
	baseFee                                                                             **uint256.Int
}

// blockShape is the shape of an execution payload, or of its header (consensus-specs,
// ExecutionPayload and ExecutionPayloadHeader). A payload has the lists of transactions and
// withdrawals, where the header has their roots.
func blockShape[T any](fork eth.Fork, at func(*T) blockFields, transactions, withdrawals field[T]) shape[T] {
	type f = blockFields
	hash := func(name string, of func(f) []byte) field[T] {
		return fixed(name, func(t *T) []byte { return of(at(t)) })
	}
	amount := func(name string, of func(f) *uint64) field[T] {
		return number(name, func(t *T) *uint64 { return of(at(t)) })
	}
	s := shape[T]{
		hash("parent_hash", func(f f) []byte { return f.parentHash }),
		hash("fee_recipient", func(f f) []byte { return f.feeRecipient }),
		hash("state_root", func(f f) []byte { return f.stateRoot }),
		hash("receipts_root", func(f f) []byte { return f.receiptsRoot }),
		hash("logs_bloom", func(f f) []byte { return f.logsBloom }),
		hash("prev_randao", func(f f) []byte { return f.prevRandao }),
		amount("block_number", func(f f) *uint64 { return f.number }),
		amount("gas_limit", func(f f) *uint64 { return f.gasLimit }),
		amount("gas_used", func(f f) *uint64 { return f.gasUsed }),
		amount("timestamp", func(f f) *uint64 { return f.timestamp }),
		{"extra_data", func(c *cursor, t *T) (err error) {
			*at(t).extraData, err = c.bytes(maxExtraDataBytes)
			return err
		}},
		wei("base_fee_per_gas", func(t *T) **uint256.Int { return at(t).baseFee }),
		hash("block_hash", func(f f) []byte { return f.blockHash }),
		transactions,
	}
	if fork.HasWithdrawals() {
		s = append(s, withdrawals)
	}
	if fork.HasBlobs() {
		s = append(s,
			amount("blob_gas_used", func(f f) *uint64 { return f.blobGasUsed }),
			amount("excess_blob_gas", func(f f) *uint64 { return f.excessBlobGas }))
	}
	return s
}

func headerShape(fork eth.Fork) shape[payload.Header] {
	type h = payload.Header
	return blockShape(fork,
		func(h *h) blockFields {
			return blockFields{
				h.ParentHash[:], h.FeeRecipient[:], h.StateRoot[:], h.ReceiptsRoot[:], h.LogsBloom[:], h.PrevRandao[:],
				h.BlockHash[:],
				&h.BlockNumber, &h.GasLimit, &h.GasUsed, &h.Timestamp, &h.BlobGasUsed, &h.ExcessBlobGas,
				&h.ExtraData, &h.BaseFeePerGas,
			}
		},
		fixed("transactions_root", func(h *h) []byte { return h.TransactionsRoot[:] }),
		fixed("withdrawals_root", func(h *h) []byte { return h.WithdrawalsRoot[:] }))
}
