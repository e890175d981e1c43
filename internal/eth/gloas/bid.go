package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// BuilderIndex is a staked builder's place in the state's list of builders.
type BuilderIndex uint64

// SelfBuild is the index of a proposer that builds its own payload (BUILDER_INDEX_SELF_BUILD). Its
// bid has no value, and the point at infinity as its signature.
const SelfBuild = ^BuilderIndex(0)

// ExecutionPayloadBid is what a builder offers for the right to reveal a slot's payload
// (consensus-specs, specs/gloas/beacon-chain.md).
type ExecutionPayloadBid struct {
	// ParentBlockHash is the block of the execution layer that the payload extends, ParentBlockRoot
	// the beacon block. The same beacon block has two hashes: with its own payload, and without.
	ParentBlockHash phase0.Hash32              `ssz-index:"0"`
	ParentBlockRoot phase0.Root                `ssz-index:"1"`
	BlockHash       phase0.Hash32              `ssz-index:"2"`
	PrevRandao      phase0.Root                `ssz-index:"3"`
	FeeRecipient    bellatrix.ExecutionAddress `ssz-index:"4"`
	GasLimit        uint64                     `ssz-index:"5"`
	BuilderIndex    BuilderIndex               `ssz-index:"6"`
	Slot            phase0.Slot                `ssz-index:"7"`
	// Value is paid from the builder's balance on the beacon chain, even if the payload is withheld.
	Value phase0.Gwei `ssz-index:"8"`
	// ExecutionPayment is promised as a payment within the payload.
	ExecutionPayment      phase0.Gwei           `ssz-index:"9"`
	BlobKZGCommitments    []deneb.KZGCommitment `ssz-index:"10" ssz-type:"progressive-list"`
	ExecutionRequestsRoot phase0.Root           `ssz-index:"11"`
}

// SignedExecutionPayloadBid is signed by the builder under DomainBeaconBuilder.
type SignedExecutionPayloadBid struct {
	Message   *ExecutionPayloadBid
	Signature phase0.BLSSignature
}

func bidShape() shape.Shape[ExecutionPayloadBid] {
	type bid = ExecutionPayloadBid
	return shape.ProgressiveContainer(
		shape.In("parent_block_hash", hash32, func(b *bid) *phase0.Hash32 { return &b.ParentBlockHash }),
		shape.In("parent_block_root", root, func(b *bid) *phase0.Root { return &b.ParentBlockRoot }),
		shape.In("block_hash", hash32, func(b *bid) *phase0.Hash32 { return &b.BlockHash }),
		shape.In("prev_randao", root, func(b *bid) *phase0.Root { return &b.PrevRandao }),
		shape.In("fee_recipient", address, func(b *bid) *bellatrix.ExecutionAddress { return &b.FeeRecipient }),
		number("gas_limit", func(b *bid) *uint64 { return &b.GasLimit }),
		number("builder_index", func(b *bid) *BuilderIndex { return &b.BuilderIndex }),
		number("slot", func(b *bid) *phase0.Slot { return &b.Slot }),
		number("value", func(b *bid) *phase0.Gwei { return &b.Value }),
		number("execution_payment", func(b *bid) *phase0.Gwei { return &b.ExecutionPayment }),
		shape.In("blob_kzg_commitments", shape.Progressive(commitment),
			func(b *bid) *[]deneb.KZGCommitment { return &b.BlobKZGCommitments }),
		shape.In("execution_requests_root", root, func(b *bid) *phase0.Root { return &b.ExecutionRequestsRoot }),
	)
}

func signedBidShape() shape.Shape[SignedExecutionPayloadBid] {
	type signed = SignedExecutionPayloadBid
	return signedShape(bidShape(), func(s *signed) **ExecutionPayloadBid { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
