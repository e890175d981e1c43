package probe

import (
	"fmt"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Submission makes the wire form that a builder's submission has in a fork.
func Submission(fork eth.Fork, s *builderfulu.SubmitBlockRequest) Document {
	return forks[fork].submission(s)
}

// ReadSubmission reads a builder's submission of a fork in SSZ.
func ReadSubmission(fork eth.Fork, ssz []byte) (*builderfulu.SubmitBlockRequest, error) {
	return ReadSubmissionAs(fork, "application/octet-stream", ssz)
}

// ReadSubmissionAs reads a builder's submission of a fork in SSZ or JSON, as the media type says.
func ReadSubmissionAs(fork eth.Fork, media string, raw []byte) (*builderfulu.SubmitBlockRequest, error) {
	d := Submission(fork, &builderfulu.SubmitBlockRequest{ExecutionPayload: new(payload.Payload)})
	if err := decode(media, raw, d); err != nil {
		return nil, fmt.Errorf("read a submission of %s: %w", fork, err)
	}
	switch s := d.(type) {
	case *builderbellatrix.SubmitBlockRequest:
		return &builderfulu.SubmitBlockRequest{Message: s.Message,
			ExecutionPayload: payload.FromBellatrix(s.ExecutionPayload), Signature: s.Signature}, nil
	case *buildercapella.SubmitBlockRequest:
		return &builderfulu.SubmitBlockRequest{Message: s.Message, ExecutionPayload: payload.FromCapella(s.ExecutionPayload),
			Signature: s.Signature}, nil
	case *builderdeneb.SubmitBlockRequest:
		return &builderfulu.SubmitBlockRequest{
			Message: s.Message, ExecutionPayload: s.ExecutionPayload, BlobsBundle: newerBlobs(s.BlobsBundle),
			Signature: s.Signature,
		}, nil
	case *builderelectra.SubmitBlockRequest:
		return &builderfulu.SubmitBlockRequest{
			Message: s.Message, ExecutionPayload: s.ExecutionPayload, BlobsBundle: newerBlobs(s.BlobsBundle),
			ExecutionRequests: s.ExecutionRequests,
			Signature:         s.Signature,
		}, nil
	default:
		return d.(*builderfulu.SubmitBlockRequest), nil // the only one left
	}
}

// toOlderBlobs converts blobs to the type of the forks before fulu. The members are the same, but
// before fulu a blob has one proof.
func toOlderBlobs(b *builderfulu.BlobsBundle) *builderdeneb.BlobsBundle {
	if b == nil {
		return nil
	}
	return &builderdeneb.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}

func newerBlobs(b *builderdeneb.BlobsBundle) *builderfulu.BlobsBundle {
	if b == nil {
		return nil
	}
	return &builderfulu.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}
