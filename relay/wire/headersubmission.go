package wire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

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

// DecodeHeaderSubmission reads a header submission of a fork. When and how it came is left for the
// caller to fill in.
func DecodeHeaderSubmission(fork eth.Fork, media Media, body []byte) (*relay.HeaderSubmission, error) {
	if fork < eth.Bellatrix || fork > eth.Fulu {
		return nil, fmt.Errorf("no header submissions in %s", fork)
	}
	s := &relay.HeaderSubmission{Fork: fork, Trace: new(relay.BidTrace), Header: new(payload.Header)}
	if fork >= eth.Electra {
		s.Requests = new(electra.ExecutionRequests)
	}
	var err error
	if media == JSON {
		err = decodeJSON(body, headerSubmissionShapes[fork], s)
	} else {
		err = readHeaderSSZ(s, body)
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// readHeaderSSZ reads the container above. Only the one encoding of what it says passes (S36).
func readHeaderSSZ(s *relay.HeaderSubmission, body []byte) (err error) {
	defer malformed(&err)
	parts, err := splitHeaderSSZ(s.Fork, body)
	if err != nil {
		return err
	}
	if err := s.Trace.UnmarshalSSZ(body[:traceBytes]); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	copy(s.Signature[:], body[fixedHeaderBytes(s.Fork)-signatureBytes:])
	if s.Header, err = readForkHeader(s.Fork, parts[0]); err != nil {
		return fmt.Errorf("execution_payload_header: %w", err)
	}
	if s.Fork >= eth.Deneb {
		if s.Commitments, err = readCommitments(parts[1]); err != nil {
			return fmt.Errorf("blob_kzg_commitments: %w", err)
		}
	}
	if s.Fork >= eth.Electra {
		if err := readSSZ(s.Requests, parts[2]); err != nil {
			return fmt.Errorf("execution_requests: %w", err)
		}
	}
	return nil
}

// offsetsOf is how many parts of the container are variable.
func offsetsOf(fork eth.Fork) int {
	switch {
	case fork >= eth.Electra:
		return 3
	case fork >= eth.Deneb:
		return 2
	default:
		return 1
	}
}

func fixedHeaderBytes(fork eth.Fork) int {
	return traceBytes + offsetsOf(fork)*offsetBytes + signatureBytes
}

// splitHeaderSSZ are the container's variable parts.
func splitHeaderSSZ(fork eth.Fork, body []byte) ([][]byte, error) {
	fixed := fixedHeaderBytes(fork)
	if len(body) < fixed {
		return nil, fmt.Errorf("%d bytes: want at least %d", len(body), fixed)
	}
	parts := make([][]byte, offsetsOf(fork))
	end := len(body)
	for i := len(parts) - 1; i >= 0; i-- {
		offset := int(binary.LittleEndian.Uint32(body[traceBytes+i*offsetBytes:]))
		if offset < fixed || offset > end || i == 0 && offset != fixed {
			return nil, fmt.Errorf("offset %d is %d: want it from %d to %d", i, offset, fixed, end)
		}
		parts[i], end = body[offset:end], offset
	}
	return parts, nil
}

func readForkHeader(fork eth.Fork, part []byte) (*payload.Header, error) {
	switch fork {
	case eth.Bellatrix:
		header := new(bellatrix.ExecutionPayloadHeader)
		if err := readSSZ(header, part); err != nil {
			return nil, err
		}
		return payload.HeaderFromBellatrix(header), nil
	case eth.Capella:
		header := new(capella.ExecutionPayloadHeader)
		if err := readSSZ(header, part); err != nil {
			return nil, err
		}
		return payload.HeaderFromCapella(header), nil
	default:
		header := new(payload.Header)
		return header, readSSZ(header, part)
	}
}

func readCommitments(part []byte) ([]deneb.KZGCommitment, error) {
	const size = deneb.KZGCommitmentLength
	if len(part)%size != 0 {
		return nil, fmt.Errorf("%d bytes are no list of commitments", len(part))
	}
	if len(part)/size > maxCommitments {
		return nil, errTooMany
	}
	list := make([]deneb.KZGCommitment, len(part)/size)
	for i := range list {
		copy(list[i][:], part[i*size:])
	}
	return list, nil
}

// EncodeHeaderSubmission is the inverse of DecodeHeaderSubmission, for builders.
func EncodeHeaderSubmission(media Media, s *relay.HeaderSubmission) ([]byte, error) {
	if s.Fork < eth.Bellatrix || s.Fork > eth.Fulu {
		return nil, fmt.Errorf("no header submissions in %s", s.Fork)
	}
	if s.Trace == nil || s.Trace.Value == nil || s.Header == nil || s.Header.BaseFeePerGas == nil {
		return nil, errHeaderIncomplete
	}
	if len(s.Commitments) > maxCommitments {
		return nil, fmt.Errorf("blob_kzg_commitments: %w", errTooMany)
	}
	if media == JSON {
		return writeHeaderJSON(s)
	}
	return writeHeaderSSZ(s)
}

func writeHeaderJSON(s *relay.HeaderSubmission) ([]byte, error) {
	document := struct {
		Message     json.Marshaler             `json:"message"`
		Header      json.Marshaler             `json:"execution_payload_header"`
		Commitments []deneb.KZGCommitment      `json:"blob_kzg_commitments,omitzero"`
		Requests    *electra.ExecutionRequests `json:"execution_requests,omitempty"`
		Signature   phase0.BLSSignature        `json:"signature"`
	}{Message: s.Trace, Header: forkHeader(s), Signature: s.Signature}
	if s.Fork >= eth.Deneb {
		document.Commitments = append([]deneb.KZGCommitment{}, s.Commitments...)
	}
	if s.Fork >= eth.Electra {
		document.Requests = requestsOf(s.Requests)
	}
	return json.Marshal(document)
}

func writeHeaderSSZ(s *relay.HeaderSubmission) ([]byte, error) {
	header := forkHeader(s)
	body, err := s.Trace.MarshalSSZTo(make([]byte, 0,
		fixedHeaderBytes(s.Fork)+header.SizeSSZ()+len(s.Commitments)*deneb.KZGCommitmentLength))
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	body = append(body, make([]byte, offsetsOf(s.Fork)*offsetBytes)...)
	body = append(body, s.Signature[:]...)
	// begin notes where a part begins.
	begin := func(part int) { binary.LittleEndian.PutUint32(body[traceBytes+part*offsetBytes:], uint32(len(body))) }
	begin(0)
	if body, err = header.MarshalSSZTo(body); err != nil {
		return nil, fmt.Errorf("execution_payload_header: %w", err)
	}
	if s.Fork >= eth.Deneb {
		begin(1)
		for i := range s.Commitments {
			body = append(body, s.Commitments[i][:]...)
		}
	}
	if s.Fork >= eth.Electra {
		begin(2)
		if body, err = requestsOf(s.Requests).MarshalSSZTo(body); err != nil {
			return nil, fmt.Errorf("execution_requests: %w", err)
		}
	}
	return body, nil
}

// forkHeader is the header in the fork's own type.
func forkHeader(s *relay.HeaderSubmission) codec {
	switch s.Fork {
	case eth.Bellatrix:
		return payload.HeaderToBellatrix(s.Header)
	case eth.Capella:
		return payload.HeaderToCapella(s.Header)
	default:
		return s.Header
	}
}

var headerSubmissionShapes = perFork(func(fork eth.Fork) shape[relay.HeaderSubmission] {
	type submission = relay.HeaderSubmission
	s := shape[submission]{
		within("message", traceShape, func(s *submission) *relay.BidTrace { return s.Trace }),
		within("execution_payload_header", headerShape(fork), func(s *submission) *payload.Header { return s.Header }),
	}
	if fork >= eth.Deneb {
		s = append(s, fixedList("blob_kzg_commitments", maxCommitments, commitmentBytes,
			func(s *submission) *[]deneb.KZGCommitment { return &s.Commitments }))
	}
	if fork >= eth.Electra {
		s = append(s, within("execution_requests", requestsShape, func(s *submission) *electra.ExecutionRequests {
			return s.Requests
		}))
	}
	return append(s, fixed("signature", func(s *submission) []byte { return s.Signature[:] }))
})

func headerShape(fork eth.Fork) shape[payload.Header] {
	type h = payload.Header
	s := shape[h]{
		fixed("parent_hash", func(h *h) []byte { return h.ParentHash[:] }),
		fixed("fee_recipient", func(h *h) []byte { return h.FeeRecipient[:] }),
		fixed("state_root", func(h *h) []byte { return h.StateRoot[:] }),
		fixed("receipts_root", func(h *h) []byte { return h.ReceiptsRoot[:] }),
		fixed("logs_bloom", func(h *h) []byte { return h.LogsBloom[:] }),
		fixed("prev_randao", func(h *h) []byte { return h.PrevRandao[:] }),
		number("block_number", func(h *h) *uint64 { return &h.BlockNumber }),
		number("gas_limit", func(h *h) *uint64 { return &h.GasLimit }),
		number("gas_used", func(h *h) *uint64 { return &h.GasUsed }),
		number("timestamp", func(h *h) *uint64 { return &h.Timestamp }),
		{"extra_data", func(c *cursor, h *h) (err error) {
			h.ExtraData, err = c.bytes(maxExtraDataBytes)
			return err
		}},
		wei("base_fee_per_gas", func(h *h) **uint256.Int { return &h.BaseFeePerGas }),
		fixed("block_hash", func(h *h) []byte { return h.BlockHash[:] }),
		fixed("transactions_root", func(h *h) []byte { return h.TransactionsRoot[:] }),
	}
	if fork >= eth.Capella {
		s = append(s, fixed("withdrawals_root", func(h *h) []byte { return h.WithdrawalsRoot[:] }))
	}
	if fork >= eth.Deneb {
		s = append(s,
			number("blob_gas_used", func(h *h) *uint64 { return &h.BlobGasUsed }),
			number("excess_blob_gas", func(h *h) *uint64 { return &h.ExcessBlobGas }))
	}
	return s
}
