package vectors

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// headerSubmission is a bid whose payload follows (POST /relay/v1/builder/headers, docs/relay.md).
// In SSZ it is a container of the members that the fork has, in this order.
type headerSubmission struct {
	Message     *builderv1.BidTrace        `json:"message"`
	Header      probe.Document             `json:"execution_payload_header"`
	Commitments *[]deneb.KZGCommitment     `json:"blob_kzg_commitments,omitempty"`
	Requests    *electra.ExecutionRequests `json:"execution_requests,omitempty"`
	Signature   phase0.BLSSignature        `json:"signature"`
}

// headerForms make a header's form of a fork.
var headerForms = eth.Column[func(*deneb.ExecutionPayloadHeader) probe.Document]{
	eth.Bellatrix: func(h *deneb.ExecutionPayloadHeader) probe.Document { return payload.HeaderToBellatrix(h) },
	eth.Capella:   func(h *deneb.ExecutionPayloadHeader) probe.Document { return payload.HeaderToCapella(h) },
	eth.Deneb:     func(h *deneb.ExecutionPayloadHeader) probe.Document { return h },
	eth.Electra:   func(h *deneb.ExecutionPayloadHeader) probe.Document { return h },
	eth.Fulu:      func(h *deneb.ExecutionPayloadHeader) probe.Document { return h },
}

// headerOf makes the header submission of a draft, signed as the draft is.
func headerOf(d *draft) (*headerSubmission, error) {
	form, err := headerForms.Of(d.fork, "headers")
	if err != nil {
		return nil, err
	}
	header, err := payload.HeaderOf(d.fork, d.ExecutionPayload)
	if err != nil {
		return nil, fmt.Errorf("make a header: %w", err)
	}
	h := &headerSubmission{Message: d.Message, Header: form(header), Requests: d.ExecutionRequests, Signature: d.Signature}
	if d.fork.HasBlobs() {
		h.Commitments = &d.BlobsBundle.Commitments
	}
	return h, nil
}

// ssz encodes the container: fixed parts and offsets first, then what has any length.
func (h *headerSubmission) ssz() ([]byte, error) {
	message, err := h.Message.MarshalSSZ()
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	header, err := h.Header.MarshalSSZ()
	if err != nil {
		return nil, fmt.Errorf("encode a header: %w", err)
	}
	parts := [][]byte{header}
	if h.Commitments != nil {
		var list []byte
		for _, commitment := range *h.Commitments {
			list = append(list, commitment[:]...)
		}
		parts = append(parts, list)
	}
	if h.Requests != nil {
		requests, err := h.Requests.MarshalSSZ()
		if err != nil {
			return nil, fmt.Errorf("encode requests: %w", err)
		}
		parts = append(parts, requests)
	}
	out, at := message, len(message)+4*len(parts)+len(h.Signature)
	for _, part := range parts {
		out = binary.LittleEndian.AppendUint32(out, uint32(at)) // some kilobytes
		at += len(part)
	}
	out = append(out, h.Signature[:]...)
	return append(out, slices.Concat(parts...)...), nil
}

// headerRows are the rows of whole submissions that a header can break, and those about trust.
func headerRows() []submissionRow {
	distrusted := refused(stageCheck, "header-not-trusted")
	rows := slices.Concat(validRows()[:3], messageRows(), payloadRows(), withdrawalRows(), signatureRows())
	for _, row := range blobRows() {
		if row.name == "blobs-too-many" {
			rows = append(rows, row)
		}
	}
	for i := range rows {
		if rows[i].expect.Verdict == "accepted" {
			rows[i].expect.Clauses = nil // they are of whole submissions
		}
	}
	return append(rows,
		submissionRow{name: "collateral-none", says: "The operator does not let this builder send headers first.",
			spoil: change(func(d *draft) { d.known.CollateralWei = nil }), expect: distrusted},
		submissionRow{name: "collateral-exceeded", says: "The value is a wei more than the builder's collateral.",
			spoil: change(func(d *draft) {
				d.Message.Value.AddUint64(d.Message.Value, 1)
			}), expect: distrusted},
	)
}

func writeHeaderSubmissions(out *folder, r *round) error {
	f := &drafts{round: r, built: map[int][]byte{}, headers: true}
	file := Submissions{Schema: schemaOf(4, "submissions"), Suite: "relay/header-submissions", Network: r.network()}
	folder := file.Suite + "/" + r.fork.String()
	var text, ssz []byte
	for _, row := range headerRows() {
		if !r.fork.Includes(row.from) {
			continue
		}
		d, root, err := f.make(row)
		if err != nil {
			return fmt.Errorf("header submission %q: %w", row.name, err)
		}
		c := SubmissionCase{Name: row.name, Says: row.says, Known: d.known, SigningRoot: hexOf(root[:]), Expect: row.expect}
		h, err := headerOf(d)
		if err != nil {
			return err
		}
		content, err := json.Marshal(h)
		if err != nil {
			return fmt.Errorf("encode header submission %q: %w", row.name, err)
		}
		raw, err := h.ssz()
		if err != nil {
			return err
		}
		if c.Bodies, err = out.bodies(folder+"/"+row.name, r.fork.String(), content, raw); err != nil {
			return err
		}
		if row.name == "valid" {
			text, ssz = content, raw
		}
		file.Cases = append(file.Cases, c)
	}
	// Before deneb the container ends with extra_data, which may have any length. Then the header's
	// root differs, of which a relay learns only when the payload comes.
	for _, row := range garbledRows(r.fork, "", "", Expect{}) {
		if row.name == "ssz-cut" || row.name == "ssz-byte-more" {
			continue
		}
		row.expect.Clauses = nil
		c := SubmissionCase{Name: row.name, Says: row.says, Known: f.known(), Expect: row.expect}
		var err error
		if c.Bodies, err = out.garble(folder, r.fork, row, text, ssz); err != nil {
			return err
		}
		file.Cases = append(file.Cases, c)
	}
	return out.document(folder+"/cases.json", "submissions", file.Suite, len(file.Cases), file)
}
