package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// submissionHead is the fixed part of a SubmitBlockRequest from electra on (relay-specs): the
// message, three offsets, the signature.
const submissionHead = traceBytes + 3*offsetBytes + signatureBytes

// decodeSubmissionSSZ reads a SubmitBlockRequest from electra on. It copies neither transactions
// nor proofs and blobs, which are nearly all of it: they are slices of the body. The libraries read
// the rest.
//
//	message │ offsets │ signature │ payload … │ 3 offsets, commitments, proofs, blobs │ requests …
func decodeSubmissionSSZ(fork eth.Fork, body []byte) (s *relay.Submission, err error) {
	defer recoverMalformed(&err)
	if len(body) < submissionHead {
		return nil, fmt.Errorf("%d bytes are too few", len(body))
	}
	parts, err := split(body, traceBytes, 3, submissionHead)
	if err != nil {
		return nil, err
	}
	s = &relay.Submission{
		Fork: fork, Trace: new(relay.BidTrace), Requests: new(electra.ExecutionRequests), Raw: body,
	}
	copy(s.Signature[:], body[submissionHead-signatureBytes:])
	if err := readSSZ(s.Trace, body[:traceBytes]); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if s.Payload, err = readPayload(parts[0]); err != nil {
		return nil, err
	}
	if s.Blobs, err = readBundle(parts[1], mostProofs(fork)); err != nil {
		return nil, fmt.Errorf("blobs_bundle: %w", err)
	}
	if err := readSSZ(s.Requests, parts[2]); err != nil {
		return nil, fmt.Errorf("execution_requests: %w", err)
	}
	return s, nil
}

// readBundle reads the lists of a bundle; proofs and blobs are slices of raw. Commitments are
// copied, because bids keep them as long as the slot runs and must not keep the whole body in
// memory.
func readBundle(raw []byte, most int) (*payload.Blobs, error) {
	parts, err := split(raw, 0, 3, 3*offsetBytes)
	if err != nil {
		return nil, err
	}
	bundle := new(payload.Blobs)
	if bundle.Commitments, err = itemsOf[deneb.KZGCommitment](parts[0], maxCommitments); err != nil {
		return nil, fmt.Errorf("commitments: %w", err)
	}
	bundle.Commitments = slices.Clone(bundle.Commitments)
	if bundle.Proofs, err = itemsOf[deneb.KZGProof](parts[1], most); err != nil {
		return nil, fmt.Errorf("proofs: %w", err)
	}
	if bundle.Blobs, err = itemsOf[deneb.Blob](parts[2], maxCommitments); err != nil {
		return nil, fmt.Errorf("blobs: %w", err)
	}
	return bundle, nil
}

// split returns the parts of variable size behind the fixed part. at is where their offsets begin.
// The parts must follow one another without a gap.
func split(raw []byte, at, count, fixed int) ([][]byte, error) {
	if len(raw) < fixed {
		return nil, fmt.Errorf("%d bytes are too few", len(raw))
	}
	parts := make([][]byte, count)
	from := fixed
	for i := range parts {
		to := len(raw)
		if i+1 < count {
			to = int(binary.LittleEndian.Uint32(raw[at+(i+1)*offsetBytes:]))
		}
		if start := int(binary.LittleEndian.Uint32(raw[at+i*offsetBytes:])); start != from || to < from || to > len(raw) {
			return nil, fmt.Errorf("offset %d is wrong: %d", i, start)
		}
		parts[i], from = raw[from:to:to], to
	}
	return parts, nil
}

// itemsOf returns bytes as a list of byte arrays, without copying.
func itemsOf[T deneb.Blob | deneb.KZGCommitment | deneb.KZGProof](raw []byte, most int) ([]T, error) {
	size := int(unsafe.Sizeof(*new(T)))
	count := len(raw) / size
	switch {
	case len(raw)%size != 0:
		return nil, fmt.Errorf("%d bytes are no multiple of %d", len(raw), size)
	case count > most:
		return nil, fmt.Errorf("%d, at most %d", count, most)
	case count == 0:
		return []T{}, nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(raw))), count), nil // arrays of bytes have no alignment
}
