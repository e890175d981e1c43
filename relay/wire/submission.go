package wire

import (
	"fmt"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	"github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-builder-client/api/fulu"
	speccapella "github.com/attestantio/go-eth2-client/spec/capella"
	specelectra "github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// DecodeSubmission reads a SubmitBlockRequest of a fork (relay-specs, submitBlock). When and how it
// came is left for the caller to fill in. Of a body in SSZ the submission keeps parts: nobody may
// change it any more.
func DecodeSubmission(fork eth.Fork, media Media, body []byte) (*relay.Submission, error) {
	request, err := newRequest(fork)
	if err != nil {
		return nil, err
	}
	switch {
	case media == JSON:
		return decodeSubmissionJSON(fork, body)
	case fork >= eth.Electra:
		return decodeSubmissionSSZ(fork, body)
	}
	if err := checkTransactionCount(fork, body); err != nil {
		return nil, err
	}
	if err := decodeSSZ(body, request); err != nil {
		return nil, err
	}
	return fromRequest(fork, request)
}

// EncodeSubmission is the inverse of DecodeSubmission, for builders.
func EncodeSubmission(media Media, s *relay.Submission) ([]byte, error) {
	contents := s.Contents()
	if s.Payload.Withdrawals == nil { // the libraries would write null
		full := *s.Payload
		full.Withdrawals, contents.Payload = []*speccapella.Withdrawal{}, &full
	}
	request, err := toRequest(contents)
	if err != nil {
		return nil, err
	}
	switch r := request.(type) {
	case *bellatrix.SubmitBlockRequest:
		r.Signature = s.Signature
	case *capella.SubmitBlockRequest:
		r.Signature = s.Signature
	case *deneb.SubmitBlockRequest:
		r.Signature = s.Signature
	case *electra.SubmitBlockRequest:
		r.Signature = s.Signature
	case *fulu.SubmitBlockRequest:
		r.Signature = s.Signature
	}
	return encode(media, request)
}

// newRequest is an empty request in the fork's type.
func newRequest(fork eth.Fork) (codec, error) {
	switch fork {
	case eth.Bellatrix:
		return new(bellatrix.SubmitBlockRequest), nil
	case eth.Capella:
		return new(capella.SubmitBlockRequest), nil
	case eth.Deneb:
		return new(deneb.SubmitBlockRequest), nil
	case eth.Electra:
		return new(electra.SubmitBlockRequest), nil
	case eth.Fulu:
		return new(fulu.SubmitBlockRequest), nil
	default:
		return nil, fmt.Errorf("no submissions in %s", fork)
	}
}

// fromRequest gives a decoded request the relay's shape. Nothing is copied.
func fromRequest(fork eth.Fork, request codec) (*relay.Submission, error) {
	s := &relay.Submission{Fork: fork}
	switch r := request.(type) {
	case *bellatrix.SubmitBlockRequest:
		if r.ExecutionPayload != nil {
			s.Payload = payload.FromBellatrix(r.ExecutionPayload)
		}
		s.Trace, s.Signature = r.Message, r.Signature
	case *capella.SubmitBlockRequest:
		if r.ExecutionPayload != nil {
			s.Payload = payload.FromCapella(r.ExecutionPayload)
		}
		s.Trace, s.Signature = r.Message, r.Signature
	case *deneb.SubmitBlockRequest:
		s.Trace, s.Payload, s.Signature = r.Message, r.ExecutionPayload, r.Signature
		s.Blobs = fromDenebBundle(r.BlobsBundle)
	case *electra.SubmitBlockRequest:
		s.Trace, s.Payload, s.Signature = r.Message, r.ExecutionPayload, r.Signature
		s.Blobs, s.Requests = fromDenebBundle(r.BlobsBundle), r.ExecutionRequests
	case *fulu.SubmitBlockRequest:
		s.Trace, s.Payload, s.Signature = r.Message, r.ExecutionPayload, r.Signature
		s.Requests = r.ExecutionRequests
		if r.BlobsBundle != nil {
			s.Blobs = &payload.Blobs{Commitments: r.BlobsBundle.Commitments, Proofs: r.BlobsBundle.Proofs,
				Blobs: r.BlobsBundle.Blobs}
		}
	}
	switch {
	case s.Trace == nil || s.Trace.Value == nil:
		return nil, fmt.Errorf("no message")
	case s.Payload == nil || s.Payload.BaseFeePerGas == nil:
		return nil, fmt.Errorf("no execution_payload")
	case fork >= eth.Deneb && s.Blobs == nil:
		return nil, fmt.Errorf("no blobs_bundle")
	case fork >= eth.Electra && s.Requests == nil:
		return nil, fmt.Errorf("no execution_requests")
	}
	return s, nil
}

// toRequest is the inverse of fromRequest, with a signature of zeros: the escrow has no use for it.
func toRequest(c *relay.Contents) (codec, error) {
	signature := phase0.BLSSignature{}
	switch c.Fork {
	case eth.Bellatrix:
		return &bellatrix.SubmitBlockRequest{Message: c.Trace, ExecutionPayload: payload.ToBellatrix(c.Payload),
			Signature: signature}, nil
	case eth.Capella:
		return &capella.SubmitBlockRequest{Message: c.Trace, ExecutionPayload: payload.ToCapella(c.Payload),
			Signature: signature}, nil
	case eth.Deneb:
		return &deneb.SubmitBlockRequest{Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs)},
			nil
	case eth.Electra:
		return &electra.SubmitBlockRequest{
			Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toDenebBundle(c.Blobs),
			ExecutionRequests: requestsOf(c.Requests),
		}, nil
	case eth.Fulu:
		return &fulu.SubmitBlockRequest{
			Message: c.Trace, ExecutionPayload: c.Payload, BlobsBundle: toFuluBundle(c.Blobs),
			ExecutionRequests: requestsOf(c.Requests),
		}, nil
	default:
		return nil, fmt.Errorf("no submissions in %s", c.Fork)
	}
}

func fromDenebBundle(b *deneb.BlobsBundle) *payload.Blobs {
	if b == nil {
		return nil
	}
	return &payload.Blobs{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}

// requestsOf replaces nil by empty lists: the libraries write JSON null for nil ones.
func requestsOf(r *specelectra.ExecutionRequests) *specelectra.ExecutionRequests {
	full := payload.EmptyRequests()
	if r == nil {
		return full
	}
	full.Deposits = append(full.Deposits, r.Deposits...)
	full.Withdrawals = append(full.Withdrawals, r.Withdrawals...)
	full.Consolidations = append(full.Consolidations, r.Consolidations...)
	return full
}
