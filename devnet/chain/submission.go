package chain

import (
	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Submission returns what a builder sends to a relay to bid with the block (relay-specs,
// SubmitBlockRequest of the block's fork): the block, the bid trace, and the builder's signature on
// the trace.
func (b *Built) Submission(trace *builderv1.BidTrace,
	signature phase0.BLSSignature) (*builderspec.VersionedSubmitBlockRequest, error) {
	fill, err := submissions.Of(b.Fork, "submissions")
	if err != nil {
		return nil, err
	}
	request := &builderspec.VersionedSubmitBlockRequest{Version: b.Fork.DataVersion()}
	fill(b, request, trace, signature)
	return request, nil
}

// SubmissionV6 is Submission for blocks of gloas.
func (b *Built) SubmissionV6(trace *builderv1.BidTrace, signature phase0.BLSSignature) *gloas.SignedBidSubmissionV6 {
	s := &gloas.SignedBidSubmissionV6{
		Message: trace, Signature: signature,
		BlobsBundle: &gloas.BlobsBundle{Commitments: b.Blobs.Commitments, Proofs: b.Blobs.Proofs, Blobs: b.Blobs.Blobs},
	}
	s.ExecutionPayload, s.ExecutionRequests = payload.JoinGloas(b.Payload, b.Requests, b.Gloas)
	return s
}

// submissions fill in the field of the block's fork.
var submissions = eth.Column[func(
	b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
)]{
	eth.Bellatrix: func(
		b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
	) {
		into.Bellatrix = &bellatrix.SubmitBlockRequest{
			Message: trace, ExecutionPayload: payload.ToBellatrix(b.Payload), Signature: signature,
		}
	},
	eth.Capella: func(
		b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
	) {
		into.Capella = &capella.SubmitBlockRequest{
			Message: trace, ExecutionPayload: payload.ToCapella(b.Payload), Signature: signature,
		}
	},
	eth.Deneb: func(
		b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
	) {
		into.Deneb = &deneb.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, BlobsBundle: onePerBlob(b.Blobs), Signature: signature,
		}
	},
	eth.Electra: func(
		b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
	) {
		into.Electra = &electra.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, BlobsBundle: onePerBlob(b.Blobs),
			ExecutionRequests: b.Requests, Signature: signature,
		}
	},
	eth.Fulu: func(
		b *Built, into *builderspec.VersionedSubmitBlockRequest, trace *builderv1.BidTrace, signature phase0.BLSSignature,
	) {
		into.Fulu = &fulu.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, ExecutionRequests: b.Requests, Signature: signature,
			BlobsBundle: &fulu.BlobsBundle{
				Commitments: b.Blobs.Commitments, Proofs: b.Blobs.Proofs, Blobs: b.Blobs.Blobs,
			},
		}
	},
}

func onePerBlob(b *payload.Blobs) *deneb.BlobsBundle {
	return &deneb.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}
