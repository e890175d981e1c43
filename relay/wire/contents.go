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

// contentsVersion is the last byte of what the escrow keeps. The byte before it is the fork, and
// before that is the fork's SubmitBlockRequest in SSZ, whose signature may be zeros. The two bytes
// are at the end, so that a body that came in SSZ does not have to be moved.
const contentsVersion = 2

// EncodeContents encodes a submission for the escrow. A body that came in SSZ is not encoded again,
// and not even copied if its slice has capacity for two more bytes.
func EncodeContents(c *relay.Contents) ([]byte, error) {
	if c.Raw != nil {
		return append(c.Raw, byte(c.Fork), contentsVersion), nil
	}
	if c.Gloas != nil {
		raw, err := encodeGloas(SSZ, &relay.Submission{
			Trace: c.Trace, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests, Gloas: c.Gloas,
		})
		if err != nil {
			return nil, fmt.Errorf("encode for the escrow: %w", err)
		}
		return append(raw, byte(c.Fork), contentsVersion), nil
	}
	form, err := forms.Of(c.Fork, "submissions")
	if err != nil {
		return nil, err
	}
	request := form.request(c, phase0.BLSSignature{})
	// The buffer has room for the two bytes, because copying a block once more for them would cost
	// much.
	raw, err := request.MarshalSSZTo(make([]byte, 0, request.SizeSSZ()+2))
	if err != nil {
		return nil, err
	}
	return append(raw, byte(c.Fork), contentsVersion), nil
}

// DecodeContents is the inverse of EncodeContents. The contents keep raw, so it must not be changed
// afterwards.
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
	contents.Raw = raw[:end:end] // so that EncodeContents copies: raw may be the escrow's own memory
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

// bundleOf replaces nil lists by empty ones, as requestsOf does.
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
