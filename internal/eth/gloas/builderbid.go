package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// SignedBuilderBid is what a staked builder sends to a relay that takes bids of others: a bid that
// it has signed itself, alone or with the payload that it is for. No specification has it; it is a
// wire of our own (docs/gloas.md).
type SignedBuilderBid struct {
	Bid *SignedExecutionPayloadBid
	// Contents has the payload, or nothing: then the builder reveals it itself.
	Contents []*BidContents `ssz-max:"1"`
}

// BidContents is the payload of a bid with its blobs: all of an envelope that is there before a
// block has the bid.
type BidContents struct {
	ExecutionPayload  *ExecutionPayload
	ExecutionRequests *ExecutionRequests
	KZGProofs         []deneb.KZGProof `ssz-max:"524288"`
	Blobs             []deneb.Blob     `ssz-max:"4096"`
}

// BlindedExecutionPayloadEnvelope is an envelope with roots in the place of payload and requests.
// It has the root of the whole envelope, so that a signature of one is a signature of the other.
type BlindedExecutionPayloadEnvelope struct {
	PayloadRoot           phase0.Root  `ssz-index:"0"`
	ExecutionRequestsRoot phase0.Root  `ssz-index:"1"`
	BuilderIndex          BuilderIndex `ssz-index:"2"`
	BeaconBlockRoot       phase0.Root  `ssz-index:"3"`
	ParentBeaconBlockRoot phase0.Root  `ssz-index:"4"`
}

// SignedBlindedExecutionPayloadEnvelope is signed as SignedExecutionPayloadEnvelope is. A builder
// sends it to the relay that has the payload. It cannot do so with its bid, since the envelope
// names the block that has the bid.
type SignedBlindedExecutionPayloadEnvelope struct {
	Message   *BlindedExecutionPayloadEnvelope
	Signature phase0.BLSSignature
}

func bidContentsShape() shape.Shape[BidContents] {
	type c = BidContents
	return shape.Container(
		shape.In("execution_payload", shape.Pointer(payloadShape()),
			func(c *c) **ExecutionPayload { return &c.ExecutionPayload }),
		shape.In("execution_requests", shape.Pointer(requestsShape()),
			func(c *c) **ExecutionRequests { return &c.ExecutionRequests }),
		shape.In("kzg_proofs", shape.List(proof, maxProofs), func(c *c) *[]deneb.KZGProof { return &c.KZGProofs }),
		shape.In("blobs", shape.List(blob, maxBlobs), func(c *c) *[]deneb.Blob { return &c.Blobs }),
	)
}

func builderBidShape() shape.Shape[SignedBuilderBid] {
	type b = SignedBuilderBid
	return shape.Container(
		shape.In("bid", shape.Pointer(signedBidShape()), func(b *b) **SignedExecutionPayloadBid { return &b.Bid }),
		shape.In("contents", shape.List(shape.Pointer(bidContentsShape()), 1),
			func(b *b) *[]*BidContents { return &b.Contents }),
	)
}

func blindedEnvelopeShape() shape.Shape[BlindedExecutionPayloadEnvelope] {
	type e = BlindedExecutionPayloadEnvelope
	return shape.ProgressiveContainer(
		shape.In("payload_root", root, func(e *e) *phase0.Root { return &e.PayloadRoot }),
		shape.In("execution_requests_root", root, func(e *e) *phase0.Root { return &e.ExecutionRequestsRoot }),
		number("builder_index", func(e *e) *BuilderIndex { return &e.BuilderIndex }),
		shape.In("beacon_block_root", root, func(e *e) *phase0.Root { return &e.BeaconBlockRoot }),
		shape.In("parent_beacon_block_root", root, func(e *e) *phase0.Root { return &e.ParentBeaconBlockRoot }),
	)
}

func signedBlindedEnvelopeShape() shape.Shape[SignedBlindedExecutionPayloadEnvelope] {
	type signed = SignedBlindedExecutionPayloadEnvelope
	return signedShape(blindedEnvelopeShape(),
		func(s *signed) **BlindedExecutionPayloadEnvelope { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
