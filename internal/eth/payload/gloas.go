package payload

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Types of the requests of builders (EIP-8282).
const (
	builderDepositRequest = 0x03
	builderExitRequest    = 0x04
)

// GloasToEngine returns a payload of gloas in the Engine API's type (execution-apis,
// ExecutionPayloadV4).
func GloasToEngine(p *gloas.ExecutionPayload) engine.ExecutableData {
	data := ToEngine(eth.Gloas, &Payload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed: p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas,
		BlockHash: p.BlockHash, Transactions: p.Transactions, Withdrawals: p.Withdrawals, BlobGasUsed: p.BlobGasUsed,
		ExcessBlobGas: p.ExcessBlobGas,
	})
	slot := uint64(p.SlotNumber)
	data.BlockAccessList, data.SlotNumber = p.BlockAccessList, &slot
	return data
}

// errNotGloas means that an execution node's payload lacks what payloads of gloas have.
var errNotGloas = errors.New("it has no access list or no slot number")

// GloasFromEngine is the inverse of GloasToEngine.
func GloasFromEngine(data *engine.ExecutableData) (*gloas.ExecutionPayload, error) {
	if len(data.BlockAccessList) == 0 || data.SlotNumber == nil { // an empty access list is one byte of RLP
		return nil, fmt.Errorf("read a payload: %w", errNotGloas)
	}
	p, err := FromEngine(data)
	if err != nil {
		return nil, err
	}
	return &gloas.ExecutionPayload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed: p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas,
		BlockHash: p.BlockHash, Transactions: p.Transactions, Withdrawals: p.Withdrawals, BlobGasUsed: p.BlobGasUsed,
		ExcessBlobGas: p.ExcessBlobGas, BlockAccessList: data.BlockAccessList, SlotNumber: phase0.Slot(*data.SlotNumber),
	}, nil
}

// EncodeGloasRequests encodes the requests as EIP-7685 items, type byte and SSZ, without empty
// ones. The result is never nil.
func EncodeGloasRequests(r *gloas.ExecutionRequests) ([][]byte, error) {
	items := [][]byte{}
	for _, encode := range []func() ([]byte, error){
		func() ([]byte, error) { return itemOf(depositRequest, gloas.Mainnet.DepositRequest, r.Deposits) },
		func() ([]byte, error) {
			return itemOf(withdrawalRequest, gloas.Mainnet.WithdrawalRequest, r.Withdrawals)
		},
		func() ([]byte, error) {
			return itemOf(consolidationRequest, gloas.Mainnet.ConsolidationRequest, r.Consolidations)
		},
		func() ([]byte, error) {
			return itemOf(builderDepositRequest, gloas.Mainnet.BuilderDepositRequest, r.BuilderDeposits)
		},
		func() ([]byte, error) {
			return itemOf(builderExitRequest, gloas.Mainnet.BuilderExitRequest, r.BuilderExits)
		},
	} {
		item, err := encode()
		if err != nil {
			return nil, err
		}
		if len(item) > 1 {
			items = append(items, item)
		}
	}
	return items, nil
}

func itemOf[T any](kind byte, s shape.Shape[T], list []*T) ([]byte, error) {
	item := []byte{kind}
	for _, request := range list {
		encoded, err := s.Encode(request)
		if err != nil {
			return nil, fmt.Errorf("encode execution request of type %#02x: %w", kind, err)
		}
		item = append(item, encoded...)
	}
	return item, nil
}

// GloasBlock makes the execution layer's block of a payload of gloas. It computes the hash, of
// which the access list, the slot, and the requests are part, and returns an error if it is not the
// payload's own; or if the blobs of its transactions are not those of the bid's commitments.
func GloasBlock(
	p *gloas.ExecutionPayload, commitments []deneb.KZGCommitment, parentBeaconRoot phase0.Root,
	requests *gloas.ExecutionRequests,
) (*types.Block, error) {
	hashes := make([]common.Hash, len(commitments))
	for i, commitment := range commitments {
		hashes[i] = VersionedHash(commitment)
	}
	items, err := EncodeGloasRequests(requests)
	if err != nil {
		return nil, err
	}
	return engine.ExecutableDataToBlock(GloasToEngine(p), hashes, (*common.Hash)(&parentBeaconRoot), items)
}
