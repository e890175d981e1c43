package gloas

import (
	apiv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// SignedBidSubmissionV6 is a block that a builder without stake sends to a relay. No specification
// has it; it is what builders and execution nodes use (flashbots_validateBuilderSubmissionV6).
type SignedBidSubmissionV6 struct {
	Message           *apiv1.BidTrace
	ExecutionPayload  *ExecutionPayload
	BlobsBundle       *BlobsBundle
	ExecutionRequests *ExecutionRequests
	Signature         phase0.BLSSignature
}

// BlobsBundle is a block's blobs with their commitments, and a proof for each cell.
type BlobsBundle struct {
	Commitments []deneb.KZGCommitment `ssz-max:"4096"`
	Proofs      []deneb.KZGProof      `ssz-max:"524288"`
	Blobs       []deneb.Blob          `ssz-max:"4096"`
}

func bidTraceShape() shape.Shape[apiv1.BidTrace] {
	type b = apiv1.BidTrace
	return shape.Container(
		number("slot", func(b *b) *uint64 { return &b.Slot }),
		shape.In("parent_hash", hash32, func(b *b) *phase0.Hash32 { return &b.ParentHash }),
		shape.In("block_hash", hash32, func(b *b) *phase0.Hash32 { return &b.BlockHash }),
		shape.In("builder_pubkey", pubkey, func(b *b) *phase0.BLSPubKey { return &b.BuilderPubkey }),
		shape.In("proposer_pubkey", pubkey, func(b *b) *phase0.BLSPubKey { return &b.ProposerPubkey }),
		shape.In("proposer_fee_recipient", address,
			func(b *b) *bellatrix.ExecutionAddress { return &b.ProposerFeeRecipient }),
		number("gas_limit", func(b *b) *uint64 { return &b.GasLimit }),
		number("gas_used", func(b *b) *uint64 { return &b.GasUsed }),
		shape.In("value", shape.Wei(), func(b *b) **uint256.Int { return &b.Value }),
	)
}

func blobsBundleShape() shape.Shape[BlobsBundle] {
	type b = BlobsBundle
	return shape.Container(
		shape.In("commitments", shape.List(commitment, maxBlobs),
			func(b *b) *[]deneb.KZGCommitment { return &b.Commitments }),
		shape.In("proofs", shape.List(proof, maxProofs), func(b *b) *[]deneb.KZGProof { return &b.Proofs }),
		shape.In("blobs", shape.List(blob, maxBlobs), func(b *b) *[]deneb.Blob { return &b.Blobs }),
	)
}

func submissionShape() shape.Shape[SignedBidSubmissionV6] {
	type s = SignedBidSubmissionV6
	return shape.Container(
		shape.In("message", shape.Pointer(bidTraceShape()), func(s *s) **apiv1.BidTrace { return &s.Message }),
		shape.In("execution_payload", shape.Pointer(payloadShape()),
			func(s *s) **ExecutionPayload { return &s.ExecutionPayload }),
		shape.In("blobs_bundle", shape.Pointer(blobsBundleShape()), func(s *s) **BlobsBundle { return &s.BlobsBundle }),
		shape.In("execution_requests", shape.Pointer(requestsShape()),
			func(s *s) **ExecutionRequests { return &s.ExecutionRequests }),
		shape.In("signature", signature, func(s *s) *phase0.BLSSignature { return &s.Signature }),
	)
}
