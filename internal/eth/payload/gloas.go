package payload

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
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

	builderDepositBytes = 184
	builderExitBytes    = 68
)

// Gloas is what a block of gloas adds to blocks of the forks before.
type Gloas struct {
	// AccessList is RLP; the header has its hash. An empty access list is one byte.
	AccessList []byte
	// Slot is the slot's number, which the header has too.
	Slot            phase0.Slot
	BuilderDeposits []*gloas.BuilderDepositRequest
	BuilderExits    []*gloas.BuilderExitRequest
}

// SameAccessList says whether two payloads have the same access list; those of older forks have
// none.
func SameAccessList(a, b *Gloas) bool {
	if a == nil || b == nil {
		return a == b
	}
	return bytes.Equal(a.AccessList, b.AccessList)
}

// JoinGloas returns payload and requests in the types of gloas. Lists and byte slices are shared,
// not copied. No requests are the same as empty ones.
func JoinGloas(p *Payload, r *electra.ExecutionRequests,
	added *Gloas) (*gloas.ExecutionPayload, *gloas.ExecutionRequests) {
	if r == nil {
		r = EmptyRequests()
	}
	return &gloas.ExecutionPayload{
			ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
			LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
			GasUsed: p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas,
			BlockHash: p.BlockHash, Transactions: p.Transactions, Withdrawals: p.Withdrawals, BlobGasUsed: p.BlobGasUsed,
			ExcessBlobGas: p.ExcessBlobGas, BlockAccessList: added.AccessList, SlotNumber: added.Slot,
		}, &gloas.ExecutionRequests{
			Deposits: r.Deposits, Withdrawals: r.Withdrawals, Consolidations: r.Consolidations,
			BuilderDeposits: added.BuilderDeposits, BuilderExits: added.BuilderExits,
		}
}

// SplitGloas is the inverse of JoinGloas.
func SplitGloas(p *gloas.ExecutionPayload,
	r *gloas.ExecutionRequests) (*Payload, *electra.ExecutionRequests, *Gloas) {
	return &Payload{
			ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
			LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
			GasUsed: p.GasUsed, Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas,
			BlockHash: p.BlockHash, Transactions: p.Transactions, Withdrawals: p.Withdrawals, BlobGasUsed: p.BlobGasUsed,
			ExcessBlobGas: p.ExcessBlobGas,
		}, &electra.ExecutionRequests{
			Deposits: r.Deposits, Withdrawals: r.Withdrawals, Consolidations: r.Consolidations,
		}, &Gloas{
			AccessList: p.BlockAccessList, Slot: p.SlotNumber, BuilderDeposits: r.BuilderDeposits, BuilderExits: r.BuilderExits,
		}
}

// GloasToEngine returns a payload of gloas in the Engine API's type (execution-apis,
// ExecutionPayloadV4).
func GloasToEngine(p *gloas.ExecutionPayload) engine.ExecutableData {
	before, _, added := SplitGloas(p, new(gloas.ExecutionRequests))
	data := ToEngine(eth.Gloas, before)
	slot := uint64(added.Slot)
	data.BlockAccessList, data.SlotNumber = added.AccessList, &slot
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
	joined, _ := JoinGloas(p, nil, &Gloas{AccessList: data.BlockAccessList, Slot: phase0.Slot(*data.SlotNumber)})
	return joined, nil
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

// DecodeGloasRequests is the inverse of EncodeGloasRequests, for answers of execution nodes.
func DecodeGloasRequests(items [][]byte) (*gloas.ExecutionRequests, error) {
	out, before := new(gloas.ExecutionRequests), make([][]byte, 0, len(items))
	var err error
	for _, item := range items {
		switch {
		case len(item) > 0 && item[0] == builderDepositRequest:
			out.BuilderDeposits, err = listOf(item, gloas.Mainnet.BuilderDepositRequest, builderDepositBytes)
		case len(item) > 0 && item[0] == builderExitRequest:
			out.BuilderExits, err = listOf(item, gloas.Mainnet.BuilderExitRequest, builderExitBytes)
		default:
			before = append(before, item)
		}
		if err != nil {
			return nil, err
		}
	}
	r, err := DecodeRequests(before)
	if err != nil {
		return nil, err
	}
	out.Deposits, out.Withdrawals, out.Consolidations = r.Deposits, r.Withdrawals, r.Consolidations
	return out, nil
}

func listOf[T any](item []byte, s shape.Shape[T], size int) (list []*T, err error) {
	raw := item[1:]
	if len(raw)%size != 0 {
		return nil, fmt.Errorf("decode execution request of type %#02x: %d bytes are no multiple of %d", item[0], len(raw),
			size)
	}
	for ; len(raw) > 0; raw = raw[size:] {
		request, err := s.Decode(raw[:size])
		if err != nil {
			return nil, fmt.Errorf("decode execution request of type %#02x: %w", item[0], err)
		}
		list = append(list, request)
	}
	return list, nil
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
