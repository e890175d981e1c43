// Package payload has one type of execution payload for all forks, and converts it to each fork's
// own types, roots and the execution layer's block. It is the widest type (deneb's, which electra
// and fulu share); what a fork lacks stays nil or zero. So a rule about payloads is written once
// and not five times.
//
//	bellatrix ⊂ capella (+withdrawals) ⊂ deneb (+blob gas) = electra = fulu
package payload

import (
	"slices"

	"fmt"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilcapella "github.com/attestantio/go-eth2-client/util/capella"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Payload is an execution payload of any fork; Withdrawals is nil in bellatrix, blob gas zero
// before deneb.
type Payload = deneb.ExecutionPayload

// Header is an execution payload header of any fork.
type Header = deneb.ExecutionPayloadHeader

// Blobs is a blobs bundle of any fork from deneb on: one proof for each blob in deneb and electra,
// 128 (one for each cell) in fulu.
type Blobs struct {
	Commitments []deneb.KZGCommitment
	Proofs      []deneb.KZGProof
	Blobs       []deneb.Blob
}

// SameBlobs says whether two bundles are the same. No bundle is the same as an empty one.
func SameBlobs(a, b *Blobs) bool {
	if a == nil {
		a = new(Blobs)
	}
	if b == nil {
		b = new(Blobs)
	}
	return slices.Equal(a.Commitments, b.Commitments) && slices.Equal(a.Proofs, b.Proofs) && slices.Equal(a.Blobs, b.Blobs)
}

// ToBellatrix returns the payload in bellatrix's type. Lists and byte slices are shared, not
// copied.
func ToBellatrix(p *Payload) *bellatrix.ExecutionPayload {
	return &bellatrix.ExecutionPayload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed:   p.GasUsed,
		Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: littleEndian(p.BaseFeePerGas), BlockHash: p.BlockHash,
		Transactions: p.Transactions,
	}
}

// FromBellatrix is the inverse of ToBellatrix.
func FromBellatrix(p *bellatrix.ExecutionPayload) *Payload {
	return &Payload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed:   p.GasUsed,
		Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: fromLittleEndian(p.BaseFeePerGas),
		BlockHash:    p.BlockHash,
		Transactions: p.Transactions,
	}
}

// ToCapella returns the payload in capella's type. Lists and byte slices are shared, not copied.
func ToCapella(p *Payload) *capella.ExecutionPayload {
	return &capella.ExecutionPayload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed:   p.GasUsed,
		Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: littleEndian(p.BaseFeePerGas), BlockHash: p.BlockHash,
		Transactions: p.Transactions, Withdrawals: p.Withdrawals,
	}
}

// FromCapella is the inverse of ToCapella.
func FromCapella(p *capella.ExecutionPayload) *Payload {
	return &Payload{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed:   p.GasUsed,
		Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: fromLittleEndian(p.BaseFeePerGas),
		BlockHash:    p.BlockHash,
		Transactions: p.Transactions, Withdrawals: p.Withdrawals,
	}
}

// HeaderOf returns the payload's header: its lists are replaced by their roots. Before capella the
// withdrawals root is zero.
func HeaderOf(fork eth.Fork, p *Payload) (*Header, error) {
	transactions, err := TransactionsRoot(p.Transactions)
	if err != nil {
		return nil, fmt.Errorf("hash transactions: %w", err)
	}
	return HeaderWith(fork, p, transactions)
}

// HeaderWith is HeaderOf for a payload whose transactions have been hashed already.
func HeaderWith(fork eth.Fork, p *Payload, transactions phase0.Root) (*Header, error) {
	var withdrawals phase0.Root
	if fork.HasWithdrawals() {
		var err error
		if withdrawals, err = WithdrawalsRoot(p.Withdrawals); err != nil {
			return nil, err
		}
	}
	return &Header{
		ParentHash: p.ParentHash, FeeRecipient: p.FeeRecipient, StateRoot: p.StateRoot, ReceiptsRoot: p.ReceiptsRoot,
		LogsBloom: p.LogsBloom, PrevRandao: p.PrevRandao, BlockNumber: p.BlockNumber, GasLimit: p.GasLimit,
		GasUsed:   p.GasUsed,
		Timestamp: p.Timestamp, ExtraData: p.ExtraData, BaseFeePerGas: p.BaseFeePerGas, BlockHash: p.BlockHash,
		TransactionsRoot: transactions, WithdrawalsRoot: withdrawals, BlobGasUsed: p.BlobGasUsed,
		ExcessBlobGas: p.ExcessBlobGas,
	}, nil
}

// WithdrawalsRoot returns the root of a list of withdrawals.
func WithdrawalsRoot(list []*capella.Withdrawal) (phase0.Root, error) {
	root, err := (&utilcapella.ExecutionPayloadWithdrawals{Withdrawals: list}).HashTreeRoot()
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash withdrawals: %w", err)
	}
	return root, nil
}

// HeaderToBellatrix returns the header in bellatrix's type.
func HeaderToBellatrix(h *Header) *bellatrix.ExecutionPayloadHeader {
	return &bellatrix.ExecutionPayloadHeader{
		ParentHash: h.ParentHash, FeeRecipient: h.FeeRecipient, StateRoot: h.StateRoot, ReceiptsRoot: h.ReceiptsRoot,
		LogsBloom: h.LogsBloom, PrevRandao: h.PrevRandao, BlockNumber: h.BlockNumber, GasLimit: h.GasLimit,
		GasUsed:   h.GasUsed,
		Timestamp: h.Timestamp, ExtraData: h.ExtraData, BaseFeePerGas: littleEndian(h.BaseFeePerGas), BlockHash: h.BlockHash,
		TransactionsRoot: h.TransactionsRoot,
	}
}

// HeaderFromBellatrix is the inverse of HeaderToBellatrix.
func HeaderFromBellatrix(h *bellatrix.ExecutionPayloadHeader) *Header {
	return &Header{
		ParentHash: h.ParentHash, FeeRecipient: h.FeeRecipient, StateRoot: h.StateRoot, ReceiptsRoot: h.ReceiptsRoot,
		LogsBloom: h.LogsBloom, PrevRandao: h.PrevRandao, BlockNumber: h.BlockNumber, GasLimit: h.GasLimit,
		GasUsed:   h.GasUsed,
		Timestamp: h.Timestamp, ExtraData: h.ExtraData, BaseFeePerGas: fromLittleEndian(h.BaseFeePerGas),
		BlockHash:        h.BlockHash,
		TransactionsRoot: h.TransactionsRoot,
	}
}

// HeaderToCapella returns the header in capella's type.
func HeaderToCapella(h *Header) *capella.ExecutionPayloadHeader {
	return &capella.ExecutionPayloadHeader{
		ParentHash: h.ParentHash, FeeRecipient: h.FeeRecipient, StateRoot: h.StateRoot, ReceiptsRoot: h.ReceiptsRoot,
		LogsBloom: h.LogsBloom, PrevRandao: h.PrevRandao, BlockNumber: h.BlockNumber, GasLimit: h.GasLimit,
		GasUsed:   h.GasUsed,
		Timestamp: h.Timestamp, ExtraData: h.ExtraData, BaseFeePerGas: littleEndian(h.BaseFeePerGas), BlockHash: h.BlockHash,
		TransactionsRoot: h.TransactionsRoot, WithdrawalsRoot: h.WithdrawalsRoot,
	}
}

// HeaderFromCapella is the inverse of HeaderToCapella.
func HeaderFromCapella(h *capella.ExecutionPayloadHeader) *Header {
	return &Header{
		ParentHash: h.ParentHash, FeeRecipient: h.FeeRecipient, StateRoot: h.StateRoot, ReceiptsRoot: h.ReceiptsRoot,
		LogsBloom: h.LogsBloom, PrevRandao: h.PrevRandao, BlockNumber: h.BlockNumber, GasLimit: h.GasLimit,
		GasUsed:   h.GasUsed,
		Timestamp: h.Timestamp, ExtraData: h.ExtraData, BaseFeePerGas: fromLittleEndian(h.BaseFeePerGas),
		BlockHash:        h.BlockHash,
		TransactionsRoot: h.TransactionsRoot, WithdrawalsRoot: h.WithdrawalsRoot,
	}
}

// headerForms convert a header to the type whose hash tree root is the fork's.
var headerForms = eth.Column[func(*Header) hashed]{
	eth.Bellatrix: func(h *Header) hashed { return HeaderToBellatrix(h) },
	eth.Capella:   func(h *Header) hashed { return HeaderToCapella(h) },
	eth.Deneb:     func(h *Header) hashed { return h },
	eth.Electra:   func(h *Header) hashed { return h },
	eth.Fulu:      func(h *Header) hashed { return h },
}

// hashed is a method of all generated types of the libraries.
type hashed interface {
	HashTreeRoot() ([32]byte, error)
}

// HeaderRoot returns the header's hash tree root in its fork. It equals the root of the payload.
func HeaderRoot(fork eth.Fork, h *Header) (phase0.Root, error) {
	form, err := headerForms.Of(fork, "header")
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash header: %w", err)
	}
	root, err := form(h).HashTreeRoot()
	if err != nil {
		return phase0.Root{}, fmt.Errorf("hash header: %w", err)
	}
	return root, nil
}

// littleEndian returns a number in the form of the base fee in bellatrix and capella.
func littleEndian(v *uint256.Int) (le [32]byte) {
	if v == nil {
		return le
	}
	be := v.Bytes32()
	for i := range be {
		le[31-i] = be[i]
	}
	return le
}

func fromLittleEndian(le [32]byte) *uint256.Int {
	var be [32]byte
	for i := range le {
		be[31-i] = le[i]
	}
	return new(uint256.Int).SetBytes32(be[:])
}
