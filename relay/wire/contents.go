package wire

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/fulu"
	specdeneb "github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// contentsVersion is the first byte of what the escrow keeps; the second is the fork, then the fork's SubmitBlockRequest in SSZ.
const contentsVersion = 1

// EncodeContents is the escrow's form of a submission.
func EncodeContents(c *relay.Contents) ([]byte, error) {
	request, err := toRequest(c)
	if err != nil {
		return nil, err
	}
	raw, err := request.MarshalSSZ()
	if err != nil {
		return nil, err
	}
	return append([]byte{contentsVersion, byte(c.Fork)}, raw...), nil
}

// DecodeContents is the inverse of EncodeContents.
func DecodeContents(raw []byte) (*relay.Contents, error) {
	if len(raw) < 2 || raw[0] != contentsVersion {
		return nil, fmt.Errorf("decode contents: not in a form that this version writes")
	}
	s, err := DecodeSubmission(eth.Fork(raw[1]), SSZ, raw[2:])
	if err != nil {
		return nil, fmt.Errorf("decode contents: %w", err)
	}
	return s.Contents(), nil
}

func toDenebBundle(b *payload.Blobs) *deneb.BlobsBundle {
	b = bundleOf(b)
	return &deneb.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}

func toFuluBundle(b *payload.Blobs) *fulu.BlobsBundle {
	b = bundleOf(b)
	return &fulu.BlobsBundle{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}

// bundleOf replaces nil by empty lists, as requestsOf does.
func bundleOf(b *payload.Blobs) *payload.Blobs {
	full := &payload.Blobs{Commitments: []specdeneb.KZGCommitment{}, Proofs: []specdeneb.KZGProof{}, Blobs: []specdeneb.Blob{}}
	if b == nil {
		return full
	}
	if b.Commitments != nil {
		full.Commitments = b.Commitments
	}
	if b.Proofs != nil {
		full.Proofs = b.Proofs
	}
	if b.Blobs != nil {
		full.Blobs = b.Blobs
	}
	return full
}
