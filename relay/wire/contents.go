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
	// One buffer of the right size: a block is far too large to be copied again to get two bytes in front of it.
	raw := make([]byte, 0, 2+request.SizeSSZ())
	return request.MarshalSSZTo(append(raw, contentsVersion, byte(c.Fork)))
}

// DecodeContents is the inverse of EncodeContents. It costs little more than the copy that it makes: what is in the escrow was checked when it
// was a submission, so only its form is looked at.
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
