package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// ExecutionPayloadEnvelope reveals the payload that a bid in a block was for.
type ExecutionPayloadEnvelope struct {
	Payload           *ExecutionPayload  `ssz-index:"0"`
	ExecutionRequests *ExecutionRequests `ssz-index:"1"`
	BuilderIndex      BuilderIndex       `ssz-index:"2"`
	// BeaconBlockRoot is the block that has the bid.
	BeaconBlockRoot       phase0.Root `ssz-index:"3"`
	ParentBeaconBlockRoot phase0.Root `ssz-index:"4"`
}

// SignedExecutionPayloadEnvelope is signed by the builder under DomainBeaconBuilder, or by the
// proposer that built the payload itself.
type SignedExecutionPayloadEnvelope struct {
	Message   *ExecutionPayloadEnvelope
	Signature phase0.BLSSignature
}

// SignedExecutionPayloadEnvelopeContents is an envelope with its blobs, for a beacon node that
// publishes both (beacon-APIs, POST /eth/v1/beacon/execution_payload_envelopes).
type SignedExecutionPayloadEnvelopeContents struct {
	SignedExecutionPayloadEnvelope *SignedExecutionPayloadEnvelope
	KZGProofs                      []deneb.KZGProof `ssz-max:"524288"`
	Blobs                          []deneb.Blob     `ssz-max:"4096"`
}

// Limits of lists of blobs in the APIs: MAX_BLOB_COMMITMENTS_PER_BLOCK, and a proof for each cell.
const (
	maxBlobs  = 4096
	maxProofs = maxBlobs * 128
)

func envelopeShape() shape.Shape[ExecutionPayloadEnvelope] {
	type e = ExecutionPayloadEnvelope
	return shape.ProgressiveContainer(
		shape.In("payload", shape.Pointer(payloadShape()), func(e *e) **ExecutionPayload { return &e.Payload }),
		shape.In("execution_requests", shape.Pointer(requestsShape()),
			func(e *e) **ExecutionRequests { return &e.ExecutionRequests }),
		number("builder_index", func(e *e) *BuilderIndex { return &e.BuilderIndex }),
		shape.In("beacon_block_root", root, func(e *e) *phase0.Root { return &e.BeaconBlockRoot }),
		shape.In("parent_beacon_block_root", root, func(e *e) *phase0.Root { return &e.ParentBeaconBlockRoot }),
	)
}

func signedEnvelopeShape() shape.Shape[SignedExecutionPayloadEnvelope] {
	type signed = SignedExecutionPayloadEnvelope
	return signedShape(envelopeShape(), func(s *signed) **ExecutionPayloadEnvelope { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}

func envelopeContentsShape() shape.Shape[SignedExecutionPayloadEnvelopeContents] {
	type c = SignedExecutionPayloadEnvelopeContents
	return shape.Container(
		shape.In("signed_execution_payload_envelope", shape.Pointer(signedEnvelopeShape()),
			func(c *c) **SignedExecutionPayloadEnvelope { return &c.SignedExecutionPayloadEnvelope }),
		shape.In("kzg_proofs", shape.List(proof, maxProofs), func(c *c) *[]deneb.KZGProof { return &c.KZGProofs }),
		shape.In("blobs", shape.List(blob, maxBlobs), func(c *c) *[]deneb.Blob { return &c.Blobs }),
	)
}
