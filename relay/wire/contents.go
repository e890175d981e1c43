package wire

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/fulu"
	specdeneb "github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// contentsVersion is the last byte of what the escrow keeps; the one before it is the fork, and
// before that is the fork's SubmitBlockRequest in SSZ, whose signature may be zeros. What the
// escrow adds is behind, so that a body that came in SSZ need not be moved.
const contentsVersion = 2

// EncodeContents is the escrow's form of a submission. One that came in SSZ is not encoded again,
// and not even copied if there is room for two bytes behind it.
func EncodeContents(c *relay.Contents) ([]byte, error) {
	if c.Raw != nil {
		return append(c.Raw, byte(c.Fork), contentsVersion), nil
	}
	form, err := forms.Of(c.Fork, "submissions")
	if err != nil {
		return nil, err
	}
	request := form.request(c, phase0.BLSSignature{})
	// One buffer of the right size: a block is far too large to be copied again to get two bytes
	// behind it.
	raw, err := request.MarshalSSZTo(make([]byte, 0, request.SizeSSZ()+2))
	if err != nil {
		return nil, err
	}
	return append(raw, byte(c.Fork), contentsVersion), nil
}

// DecodeContents is the inverse of EncodeContents. The contents keep raw, which nobody may change
// any more. It costs little more than the copy of the transactions that it makes: what is in the
// escrow was checked when it was a submission, so only its form is looked at.
func DecodeContents(raw []byte) (*relay.Contents, error) {
	end := len(raw) - 2
	if end < 0 {
		return nil, fmt.Errorf("decode contents: %d bytes are none", len(raw))
	}
	if version := raw[end+1]; version > contentsVersion {
		return nil, fmt.Errorf("decode contents: they are of format %d, which a newer version of gavel wrote; this one "+
			"reads %d", version, contentsVersion)
	} else if version != contentsVersion {
		return nil, fmt.Errorf("decode contents: they are of format %d, this version of gavel reads %d", version,
			contentsVersion)
	}
	s, err := DecodeSubmission(eth.Fork(raw[end]), SSZ, raw[:end])
	if err != nil {
		return nil, fmt.Errorf("decode contents: %w", err)
	}
	contents := s.Contents()
	contents.Raw = raw[:end:end] // whoever encodes them again copies: raw may be the escrow's own
	return contents, nil
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
	full := &payload.Blobs{Commitments: []specdeneb.KZGCommitment{}, Proofs: []specdeneb.KZGProof{},
		Blobs: []specdeneb.Blob{}}
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
