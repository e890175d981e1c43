package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Lengths of the fixed parts of a header submission in SSZ. Its container, whose JSON has the same
// names in the same order:
//
//	message                   BidTrace                      236 bytes
//	execution_payload_header  the fork's header             an offset
//	blob_kzg_commitments      List[KZGCommitment, 4096]     an offset, from deneb on
//	execution_requests        ExecutionRequests             an offset, from electra on
//	signature                 BLSSignature                  96 bytes
const (
	traceBytes     = 236
	offsetBytes    = 4
	signatureBytes = phase0.SignatureLength
)

var errHeaderIncomplete = errors.New("message, its value, header or its base fee is missing")

// DecodeHeaderSubmission reads a header submission of a fork. The caller fills in when and how it
// came.
func DecodeHeaderSubmission(fork eth.Fork, media Media, body []byte) (*relay.HeaderSubmission, error) {
	form, err := forms.Of(fork, "header submissions")
	if err != nil {
		return nil, err
	}
	s := &relay.HeaderSubmission{Fork: fork, Trace: new(relay.BidTrace), Header: new(payload.Header)}
	if fork.HasRequests() {
		s.Requests = new(electra.ExecutionRequests)
	}
	if media == JSON {
		err = decodeJSON(body, headerSubmissionShapes[fork], s)
	} else {
		err = readHeaderSSZ(s, form, body)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// readHeaderSSZ reads the container above. It accepts only the one valid encoding of its contents
// (REL-SUB-36).
func readHeaderSSZ(s *relay.HeaderSubmission, form form, body []byte) (err error) {
	defer recoverMalformed(&err)
	parts, err := split(body, traceBytes, offsetsOf(s.Fork), fixedHeaderBytes(s.Fork))
	if err != nil {
		return err
	}
	if err := s.Trace.UnmarshalSSZ(body[:traceBytes]); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	copy(s.Signature[:], body[fixedHeaderBytes(s.Fork)-signatureBytes:])
	if s.Header, err = form.readHeader(parts[0]); err != nil {
		return fmt.Errorf("execution_payload_header: %w", err)
	}
	if s.Fork.HasBlobs() {
		list, err := itemsOf[deneb.KZGCommitment](parts[1], maxCommitments)
		if err != nil {
			return fmt.Errorf("blob_kzg_commitments: %w", err)
		}
		s.Commitments = slices.Clone(list) // the bid keeps them, and must not keep the body
	}
	if s.Fork.HasRequests() {
		if err := readSSZ(s.Requests, parts[2]); err != nil {
			return fmt.Errorf("execution_requests: %w", err)
		}
	}
	return nil
}

// offsetsOf returns how many parts of a submission, of a header submission or of a bid have a
// variable size: the payload or its header, then blobs or commitments, then requests.
func offsetsOf(fork eth.Fork) int {
	offsets := 1
	if fork.HasBlobs() {
		offsets++
	}
	if fork.HasRequests() {
		offsets++
	}
	return offsets
}

func fixedHeaderBytes(fork eth.Fork) int {
	return traceBytes + offsetsOf(fork)*offsetBytes + signatureBytes
}

// EncodeHeaderSubmission is the inverse of DecodeHeaderSubmission, for builders.
func EncodeHeaderSubmission(media Media, s *relay.HeaderSubmission) ([]byte, error) {
	form, err := forms.Of(s.Fork, "header submissions")
	if err != nil {
		return nil, err
	}
	if s.Trace == nil || s.Trace.Value == nil || s.Header == nil || s.Header.BaseFeePerGas == nil {
		return nil, errHeaderIncomplete
	}
	if len(s.Commitments) > maxCommitments {
		return nil, fmt.Errorf("blob_kzg_commitments: %w", errTooMany)
	}
	if media == JSON {
		return writeHeaderJSON(s, form.header(s.Header))
	}
	return writeHeaderSSZ(s, form.header(s.Header))
}

func writeHeaderJSON(s *relay.HeaderSubmission, header codec) ([]byte, error) {
	document := struct {
		Message     json.Marshaler             `json:"message"`
		Header      json.Marshaler             `json:"execution_payload_header"`
		Commitments []deneb.KZGCommitment      `json:"blob_kzg_commitments,omitzero"`
		Requests    *electra.ExecutionRequests `json:"execution_requests,omitempty"`
		Signature   phase0.BLSSignature        `json:"signature"`
	}{Message: s.Trace, Header: header, Signature: s.Signature}
	if s.Fork.HasBlobs() {
		document.Commitments = append([]deneb.KZGCommitment{}, s.Commitments...)
	}
	if s.Fork.HasRequests() {
		document.Requests = requestsOf(s.Requests)
	}
	return json.Marshal(document)
}

func writeHeaderSSZ(s *relay.HeaderSubmission, header codec) ([]byte, error) {
	body, err := s.Trace.MarshalSSZTo(make([]byte, 0,
		fixedHeaderBytes(s.Fork)+header.SizeSSZ()+len(s.Commitments)*deneb.KZGCommitmentLength))
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	body = append(body, make([]byte, offsetsOf(s.Fork)*offsetBytes)...)
	body = append(body, s.Signature[:]...)
	// begin writes the offset of a part that begins here.
	begin := func(part int) { binary.LittleEndian.PutUint32(body[traceBytes+part*offsetBytes:], uint32(len(body))) }
	begin(0)
	if body, err = header.MarshalSSZTo(body); err != nil {
		return nil, fmt.Errorf("execution_payload_header: %w", err)
	}
	if s.Fork.HasBlobs() {
		begin(1)
		for i := range s.Commitments {
			body = append(body, s.Commitments[i][:]...)
		}
	}
	if s.Fork.HasRequests() {
		begin(2)
		if body, err = requestsOf(s.Requests).MarshalSSZTo(body); err != nil {
			return nil, fmt.Errorf("execution_requests: %w", err)
		}
	}
	return body, nil
}

var headerSubmissionShapes = perFork(func(fork eth.Fork) shape[relay.HeaderSubmission] {
	type s = relay.HeaderSubmission
	return containerShape(fork,
		func(s *s) container { return container{s.Trace, s.Requests, &s.Signature} },
		within("execution_payload_header", headerShape(fork), func(s *s) *payload.Header { return s.Header }),
		fixedList("blob_kzg_commitments", maxCommitments, commitmentBytes,
			func(s *s) *[]deneb.KZGCommitment { return &s.Commitments }))
})
