package wire

import (
	"errors"

	"github.com/attestantio/go-builder-client/api/bellatrix"
	"github.com/attestantio/go-builder-client/api/capella"
	"github.com/attestantio/go-builder-client/api/deneb"
	speccapella "github.com/attestantio/go-eth2-client/spec/capella"
	specelectra "github.com/attestantio/go-eth2-client/spec/electra"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// DecodeSubmission reads a SubmitBlockRequest of a fork (relay-specs, submitBlock). The caller
// fills in when and how it came. The submission keeps parts of a body in SSZ, so the body must not
// be changed afterwards.
func DecodeSubmission(fork eth.Fork, media Media, body []byte) (*relay.Submission, error) {
	if HasBids(fork) {
		return decodeGloas(fork, media, body)
	}
	form, err := forms.Of(fork, "submissions")
	switch {
	case err != nil:
		return nil, err
	case media == JSON:
		return decodeSubmissionJSON(fork, body)
	default:
		return form.readRequest(fork, body)
	}
}

// EncodeSubmission is the inverse of DecodeSubmission, for builders.
func EncodeSubmission(media Media, s *relay.Submission) ([]byte, error) {
	if s.Gloas != nil {
		return encodeGloas(media, s)
	}
	form, err := forms.Of(s.Fork, "submissions")
	if err != nil {
		return nil, err
	}
	contents := s.Contents()
	if s.Payload.Withdrawals == nil { // the libraries would write null
		full := *s.Payload
		full.Withdrawals, contents.Payload = []*speccapella.Withdrawal{}, &full
	}
	return encode(media, form.request(contents, s.Signature))
}

// readWhole makes the reader for a fork before electra. It reads the SubmitBlockRequest with the
// library and converts it to the relay's type, without copying.
func readWhole[T any, P interface {
	*T
	codec
}](from func(request P, into *relay.Submission)) func(eth.Fork, []byte) (*relay.Submission, error) {
	return func(fork eth.Fork, body []byte) (*relay.Submission, error) {
		if err := checkTransactionCount(fork, body); err != nil {
			return nil, err
		}
		request, s := P(new(T)), &relay.Submission{Fork: fork}
		if err := decodeSSZ(body, request); err != nil {
			return nil, err
		}
		from(request, s)
		return s, checkComplete(s)
	}
}

// checkComplete returns an error if the library has left out a part of a submission.
func checkComplete(s *relay.Submission) error {
	switch {
	case s.Trace == nil || s.Trace.Value == nil:
		return errors.New("no message")
	case s.Payload == nil || s.Payload.BaseFeePerGas == nil:
		return errors.New("no execution_payload")
	case s.Fork.HasBlobs() && s.Blobs == nil:
		return errors.New("no blobs_bundle")
	default:
		return nil
	}
}

func fromBellatrix(r *bellatrix.SubmitBlockRequest, s *relay.Submission) {
	if r.ExecutionPayload != nil {
		s.Payload = payload.FromBellatrix(r.ExecutionPayload)
	}
	s.Trace, s.Signature = r.Message, r.Signature
}

func fromCapella(r *capella.SubmitBlockRequest, s *relay.Submission) {
	if r.ExecutionPayload != nil {
		s.Payload = payload.FromCapella(r.ExecutionPayload)
	}
	s.Trace, s.Signature = r.Message, r.Signature
}

func fromDeneb(r *deneb.SubmitBlockRequest, s *relay.Submission) {
	s.Trace, s.Payload, s.Signature = r.Message, r.ExecutionPayload, r.Signature
	s.Blobs = fromDenebBundle(r.BlobsBundle)
}

func fromDenebBundle(b *deneb.BlobsBundle) *payload.Blobs {
	if b == nil {
		return nil
	}
	return &payload.Blobs{Commitments: b.Commitments, Proofs: b.Proofs, Blobs: b.Blobs}
}

// requestsOf replaces nil lists by empty ones, because the libraries write nil as null in JSON.
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
