package wire

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// HasBids says whether the relay can bid in blocks of the fork: then it has submissions, and
// neither headers to sign blind nor blinded blocks.
func HasBids(fork eth.Fork) bool { return fork.HasAccessLists() && !fork.HasBlindedBlocks() }

// errNoAccessList means that a payload of gloas has no access list. An empty one is a byte of RLP.
var errNoAccessList = errors.New("no block_access_list")

// decodeGloas reads a SignedBidSubmissionV6. Raw is set whatever the encoding, because the escrow
// keeps SSZ.
func decodeGloas(fork eth.Fork, media Media, body []byte) (*relay.Submission, error) {
	read := gloas.Mainnet.SignedBidSubmissionV6.Decode
	if media == JSON {
		read = gloas.Mainnet.SignedBidSubmissionV6.FromJSON
	}
	request, err := read(body)
	if err != nil {
		return nil, err
	}
	if len(request.ExecutionPayload.BlockAccessList) == 0 {
		return nil, errNoAccessList
	}
	if err := errors.Join(request.ExecutionPayload.CheckLimits(), request.ExecutionRequests.CheckLimits()); err != nil {
		return nil, err
	}
	s := &relay.Submission{
		Fork: fork, Trace: request.Message, Signature: request.Signature, Raw: body,
		Blobs: &payload.Blobs{
			Commitments: request.BlobsBundle.Commitments, Proofs: request.BlobsBundle.Proofs, Blobs: request.BlobsBundle.Blobs,
		},
	}
	s.Payload, s.Requests, s.Gloas = payload.SplitGloas(request.ExecutionPayload, request.ExecutionRequests)
	if media == JSON {
		if s.Raw, err = gloas.Mainnet.SignedBidSubmissionV6.Encode(request); err != nil {
			return nil, fmt.Errorf("encode for the escrow: %w", err)
		}
	}
	return s, nil
}

// DecodeBuilderBid reads a SignedBuilderBid.
func DecodeBuilderBid(media Media, body []byte) (*gloas.SignedBuilderBid, error) {
	read := gloas.Mainnet.SignedBuilderBid.Decode
	if media == JSON {
		read = gloas.Mainnet.SignedBuilderBid.FromJSON
	}
	signed, err := read(body)
	if err != nil {
		return nil, err
	}
	for _, contents := range signed.Contents {
		if len(contents.ExecutionPayload.BlockAccessList) == 0 {
			return nil, errNoAccessList
		}
		err := errors.Join(contents.ExecutionPayload.CheckLimits(), contents.ExecutionRequests.CheckLimits())
		if err != nil {
			return nil, err
		}
	}
	return signed, nil
}

// encodeGloas is the inverse of decodeGloas.
func encodeGloas(media Media, s *relay.Submission) ([]byte, error) {
	full, blobs := &gloas.SignedBidSubmissionV6{Message: s.Trace, Signature: s.Signature}, bundleOf(s.Blobs)
	full.ExecutionPayload, full.ExecutionRequests = payload.JoinGloas(s.Payload, s.Requests, s.Gloas)
	full.BlobsBundle = &gloas.BlobsBundle{Commitments: blobs.Commitments, Proofs: blobs.Proofs, Blobs: blobs.Blobs}
	if media == JSON {
		return gloas.Mainnet.SignedBidSubmissionV6.ToJSON(full)
	}
	return gloas.Mainnet.SignedBidSubmissionV6.Encode(full)
}
