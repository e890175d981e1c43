package chain

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Submission is what a builder sends to a relay to bid with the block (relay-specs,
// SubmitBlockRequest of the block's fork): the block, what the builder says of it, and its
// signature on that.
func (b *Built) Submission(trace *builderv1.BidTrace,
	signature phase0.BLSSignature) (*builderspec.VersionedSubmitBlockRequest, error) {
	request := &builderspec.VersionedSubmitBlockRequest{Version: b.Fork.DataVersion()}
	switch b.Fork {
	case eth.Bellatrix:
		request.Bellatrix = &bellatrix.SubmitBlockRequest{Message: trace, ExecutionPayload: payload.ToBellatrix(b.Payload),
			Signature: signature}
	case eth.Capella:
		request.Capella = &capella.SubmitBlockRequest{Message: trace, ExecutionPayload: payload.ToCapella(b.Payload),
			Signature: signature}
	case eth.Deneb:
		request.Deneb = &deneb.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, BlobsBundle: onePerBlob(b.Blobs), Signature: signature,
		}
	case eth.Electra:
		request.Electra = &electra.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, BlobsBundle: onePerBlob(b.Blobs), ExecutionRequests: b.Requests,
			Signature: signature,
		}
	case eth.Fulu:
		request.Fulu = &fulu.SubmitBlockRequest{
			Message: trace, ExecutionPayload: b.Payload, ExecutionRequests: b.Requests, Signature: signature,
			BlobsBundle: &fulu.BlobsBundle{Commitments: b.Blobs.Commitments, Proofs: b.Blobs.Proofs, Blobs: b.Blobs.Blobs},
		}
	default:
		return nil, fmt.Errorf("no submissions in %s", b.Fork)
	}
	return request, nil
}

func onePerBlob(b *payload.Blobs) *deneb.BlobsBundle {
	return &deneb.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}
