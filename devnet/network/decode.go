package network

import (
	"encoding/json"
	"errors"
	"fmt"

	bellatrixapi "github.com/attestantio/go-builder-client/api/bellatrix"
	capellaapi "github.com/attestantio/go-builder-client/api/capella"
	denebapi "github.com/attestantio/go-builder-client/api/deneb"
	electraapi "github.com/attestantio/go-builder-client/api/electra"
	fuluapi "github.com/attestantio/go-builder-client/api/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// DecodeValidation reads the parameter of a validation method: a fork's submission, with the
// registered gas limit and, from deneb on, the parent beacon block root as further members. Fee
// recipient and value are those that the submission's message promises.
func DecodeValidation(fork eth.Fork, raw []byte) (*exec.Block, error) {
	b := &exec.Block{Fork: fork}
	if err := decodeSubmission(b, raw); err != nil {
		return nil, fmt.Errorf("decode %s submission: %w", fork, err)
	}
	if b.Trace == nil || b.Trace.Value == nil || b.Payload == nil {
		return nil, errors.New("message or payload missing")
	}
	b.FeeRecipient, b.ValueWei = b.Trace.ProposerFeeRecipient, b.Trace.Value
	var beside struct {
		GasLimit *uint64      `json:"registered_gas_limit,string"`
		Root     *phase0.Root `json:"parent_beacon_block_root"`
	}
	if err := json.Unmarshal(raw, &beside); err != nil {
		return nil, fmt.Errorf("decode what stands beside the submission: %w", err)
	}
	if beside.GasLimit == nil {
		return nil, errors.New("registered_gas_limit missing")
	}
	b.RegisteredGasLimit = *beside.GasLimit
	if !fork.Validation().ParentBeaconRoot {
		return b, nil
	}
	if beside.Root == nil {
		return nil, errors.New("parent_beacon_block_root missing")
	}
	b.ParentBeaconRoot = *beside.Root
	return b, nil
}

func decodeSubmission(b *exec.Block, raw []byte) error {
	read, err := submissions.Of(b.Fork, "submissions")
	if err != nil {
		return err
	}
	return read(b, raw)
}

// submissions decode the submission of each fork with the library's types.
var submissions = eth.Column[func(b *exec.Block, raw []byte) error]{
	eth.Bellatrix: readAs(func(b *exec.Block, s *bellatrixapi.SubmitBlockRequest) {
		b.Trace, b.Signature = s.Message, s.Signature
		if s.ExecutionPayload != nil {
			b.Payload = payload.FromBellatrix(s.ExecutionPayload)
		}
	}),
	eth.Capella: readAs(func(b *exec.Block, s *capellaapi.SubmitBlockRequest) {
		b.Trace, b.Signature = s.Message, s.Signature
		if s.ExecutionPayload != nil {
			b.Payload = payload.FromCapella(s.ExecutionPayload)
		}
	}),
	eth.Deneb: readAs(func(b *exec.Block, s *denebapi.SubmitBlockRequest) {
		b.Trace, b.Payload, b.Signature, b.Blobs = s.Message, s.ExecutionPayload, s.Signature, blobsOf(s.BlobsBundle)
	}),
	eth.Electra: readAs(func(b *exec.Block, s *electraapi.SubmitBlockRequest) {
		b.Trace, b.Payload, b.Signature, b.Blobs = s.Message, s.ExecutionPayload, s.Signature, blobsOf(s.BlobsBundle)
		b.Requests = s.ExecutionRequests
	}),
	eth.Fulu: readAs(func(b *exec.Block, s *fuluapi.SubmitBlockRequest) {
		b.Trace, b.Payload, b.Signature = s.Message, s.ExecutionPayload, s.Signature
		b.Blobs, b.Requests = (*payload.Blobs)(s.BlobsBundle), s.ExecutionRequests
	}),
	eth.Gloas: readV6,
}

// readV6 decodes a submission of gloas.
func readV6(b *exec.Block, raw []byte) error {
	s, err := gloas.Mainnet.SignedBidSubmissionV6.FromJSON(raw)
	if err != nil {
		return err
	}
	b.Trace, b.Signature, b.Blobs = s.Message, s.Signature, (*payload.Blobs)(s.BlobsBundle)
	b.Payload, b.Requests, b.Gloas = payload.SplitGloas(s.ExecutionPayload, s.ExecutionRequests)
	return nil
}

// readAs returns a decoder for one of the library's types, which fills in the block.
func readAs[T any](fill func(*exec.Block, *T)) func(*exec.Block, []byte) error {
	return func(b *exec.Block, raw []byte) error {
		s := new(T)
		if err := json.Unmarshal(raw, s); err != nil {
			return err
		}
		fill(b, s)
		return nil
	}
}

func blobsOf(bundle *denebapi.BlobsBundle) *payload.Blobs {
	if bundle == nil {
		return nil
	}
	return &payload.Blobs{Commitments: bundle.Commitments, Proofs: bundle.Proofs, Blobs: bundle.Blobs}
}
