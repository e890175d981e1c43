package payload

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Types of EIP-7685 execution requests, the first byte of each request item.
const (
	depositRequest       = 0x00
	withdrawalRequest    = 0x01
	consolidationRequest = 0x02
)

// ToEngine returns the payload in the Engine API's type: with withdrawals from capella on, and blob
// gas from deneb on.
func ToEngine(fork eth.Fork, p *Payload) engine.ExecutableData {
	data := engine.ExecutableData{
		ParentHash: common.Hash(p.ParentHash), FeeRecipient: common.Address(p.FeeRecipient),
		StateRoot:    common.Hash(p.StateRoot),
		ReceiptsRoot: common.Hash(p.ReceiptsRoot), LogsBloom: p.LogsBloom[:], Random: p.PrevRandao, Number: p.BlockNumber,
		GasLimit: p.GasLimit, GasUsed: p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData,
		BaseFeePerGas: p.BaseFeePerGas.ToBig(), BlockHash: common.Hash(p.BlockHash), Transactions: make([][]byte,
			len(p.Transactions)),
	}
	for i, tx := range p.Transactions {
		data.Transactions[i] = tx
	}
	if fork.HasWithdrawals() {
		data.Withdrawals = make([]*types.Withdrawal, len(p.Withdrawals))
		for i, w := range p.Withdrawals {
			data.Withdrawals[i] = &types.Withdrawal{
				Index: uint64(w.Index), Validator: uint64(w.ValidatorIndex), Address: common.Address(w.Address),
				Amount: uint64(w.Amount),
			}
		}
	}
	if fork.HasBlobs() {
		data.BlobGasUsed, data.ExcessBlobGas = &p.BlobGasUsed, &p.ExcessBlobGas
	}
	return data
}

// FromEngine is the inverse of ToEngine.
func FromEngine(data *engine.ExecutableData) (*Payload, error) {
	baseFee, overflow := uint256.FromBig(data.BaseFeePerGas)
	if overflow || baseFee == nil {
		return nil, fmt.Errorf("base fee %v does not fit in 256 bits", data.BaseFeePerGas)
	}
	p := &Payload{
		ParentHash: phase0.Hash32(data.ParentHash), FeeRecipient: bellatrix.ExecutionAddress(data.FeeRecipient),
		StateRoot: phase0.Root(data.StateRoot), ReceiptsRoot: phase0.Root(data.ReceiptsRoot), PrevRandao: data.Random,
		BlockNumber: data.Number, GasLimit: data.GasLimit, GasUsed: data.GasUsed, Timestamp: data.Timestamp,
		ExtraData: append([]byte{}, data.ExtraData...), BaseFeePerGas: baseFee, BlockHash: phase0.Hash32(data.BlockHash),
		Transactions: make([]bellatrix.Transaction, len(data.Transactions)),
	}
	copy(p.LogsBloom[:], data.LogsBloom)
	for i, tx := range data.Transactions {
		p.Transactions[i] = tx
	}
	if data.Withdrawals != nil {
		p.Withdrawals = FromWithdrawals(data.Withdrawals)
	}
	if data.BlobGasUsed != nil {
		p.BlobGasUsed = *data.BlobGasUsed
	}
	if data.ExcessBlobGas != nil {
		p.ExcessBlobGas = *data.ExcessBlobGas
	}
	return p, nil
}

// FromWithdrawals converts the execution layer's withdrawals to the consensus layer's. The result
// is never nil.
func FromWithdrawals(list []*types.Withdrawal) []*capella.Withdrawal {
	out := make([]*capella.Withdrawal, len(list))
	for i, w := range list {
		out[i] = &capella.Withdrawal{
			Index: capella.WithdrawalIndex(w.Index), ValidatorIndex: phase0.ValidatorIndex(w.Validator),
			Address: bellatrix.ExecutionAddress(w.Address), Amount: phase0.Gwei(w.Amount),
		}
	}
	return out
}

// VersionedHash returns the hash by which a type-3 transaction names a blob's commitment
// (EIP-4844).
func VersionedHash(commitment deneb.KZGCommitment) common.Hash {
	hash := sha256.Sum256(commitment[:])
	hash[0] = 0x01
	return hash
}

// EmptyRequests returns empty execution requests, with lists that marshal as [].
func EmptyRequests() *electra.ExecutionRequests {
	return &electra.ExecutionRequests{
		Deposits: []*electra.DepositRequest{}, Withdrawals: []*electra.WithdrawalRequest{},
		Consolidations: []*electra.ConsolidationRequest{},
	}
}

// marshaler is the method of all types of requests.
type marshaler interface{ MarshalSSZ() ([]byte, error) }

// EncodeRequests encodes the requests as EIP-7685 items, type byte and SSZ, without empty ones. The
// result is never nil, because from electra on the block has a hash of the requests even if there
// are none.
func EncodeRequests(requests *electra.ExecutionRequests) ([][]byte, error) {
	items := make([][]byte, 0, 3)
	if requests == nil {
		return items, nil
	}
	for _, kind := range []struct {
		code byte
		list []marshaler
	}{
		{depositRequest, marshalers(requests.Deposits)},
		{withdrawalRequest, marshalers(requests.Withdrawals)},
		{consolidationRequest, marshalers(requests.Consolidations)},
	} {
		if len(kind.list) == 0 {
			continue
		}
		item := []byte{kind.code}
		for _, request := range kind.list {
			encoded, err := request.MarshalSSZ()
			if err != nil {
				return nil, fmt.Errorf("encode execution request of type %#02x: %w", kind.code, err)
			}
			item = append(item, encoded...)
		}
		items = append(items, item)
	}
	return items, nil
}

// SameRequests says whether two lists of execution requests are the same in their encoding. Lists
// that cannot be encoded are not.
func SameRequests(a, b *electra.ExecutionRequests) bool {
	encodedA, errA := EncodeRequests(a)
	encodedB, errB := EncodeRequests(b)
	return errA == nil && errB == nil && slices.EqualFunc(encodedA, encodedB, bytes.Equal)
}

func marshalers[T marshaler](list []T) []marshaler {
	out := make([]marshaler, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// DecodeRequests is the inverse of EncodeRequests, for answers of execution nodes.
func DecodeRequests(items [][]byte) (*electra.ExecutionRequests, error) {
	requests := EmptyRequests()
	for _, item := range items {
		if len(item) == 0 {
			return nil, fmt.Errorf("decode execution request: empty item")
		}
		var err error
		switch item[0] {
		case depositRequest:
			requests.Deposits, err = decodeList[electra.DepositRequest](item[1:], 192)
		case withdrawalRequest:
			requests.Withdrawals, err = decodeList[electra.WithdrawalRequest](item[1:], 76)
		case consolidationRequest:
			requests.Consolidations, err = decodeList[electra.ConsolidationRequest](item[1:], 116)
		default:
			err = fmt.Errorf("unknown type")
		}
		if err != nil {
			return nil, fmt.Errorf("decode execution request of type %#02x: %w", item[0], err)
		}
	}
	return requests, nil
}

func decodeList[T any, P interface {
	*T
	UnmarshalSSZ([]byte) error
}](raw []byte, size int) ([]*T, error) {
	if len(raw)%size != 0 {
		return nil, fmt.Errorf("%d bytes are no multiple of %d", len(raw), size)
	}
	out := make([]*T, 0, len(raw)/size)
	for ; len(raw) > 0; raw = raw[size:] {
		item := new(T)
		if err := P(item).UnmarshalSSZ(raw[:size]); err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	return out, nil
}

// Block makes the execution layer's block of a payload. It computes the hash and returns an error
// if it is not the payload's own (execution-apis, "blockHash validation"). The parent beacon block
// root is used from deneb on, requests from electra on; before, they are ignored.
func Block(
	fork eth.Fork, p *Payload, commitments []deneb.KZGCommitment, parentBeaconRoot phase0.Root,
	requests *electra.ExecutionRequests,
) (*types.Block, error) {
	var hashes []common.Hash
	var root *common.Hash
	var items [][]byte
	if fork.HasBlobs() {
		hashes, root = make([]common.Hash, len(commitments)), (*common.Hash)(&parentBeaconRoot)
		for i, commitment := range commitments {
			hashes[i] = VersionedHash(commitment)
		}
	}
	if fork.HasRequests() {
		var err error
		if items, err = EncodeRequests(requests); err != nil {
			return nil, err
		}
	}
	return engine.ExecutableDataToBlock(ToEngine(fork, p), hashes, root, items)
}
