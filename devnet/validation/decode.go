package validation

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
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// forks are the forks by validation method.
var forks = map[string]eth.Fork{
	"flashbots_validateBuilderSubmissionV1": eth.Bellatrix,
	"flashbots_validateBuilderSubmissionV2": eth.Capella,
	"flashbots_validateBuilderSubmissionV3": eth.Deneb,
	"flashbots_validateBuilderSubmissionV4": eth.Electra,
	"flashbots_validateBuilderSubmissionV5": eth.Fulu,
}

// Decode reads the parameter of a validation method: a fork's submission with the registered gas
// limit and, from deneb on, the parent beacon block root beside it. What the block promises is what
// its message says.
func Decode(fork eth.Fork, raw []byte) (*exec.Block, error) {
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
	if fork < eth.Deneb {
		return b, nil
	}
	if beside.Root == nil {
		return nil, errors.New("parent_beacon_block_root missing")
	}
	b.ParentBeaconRoot = *beside.Root
	return b, nil
}

func decodeSubmission(b *exec.Block, raw []byte) error {
	switch b.Fork {
	case eth.Bellatrix:
		var s bellatrixapi.SubmitBlockRequest
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		if s.ExecutionPayload == nil {
			return errors.New("execution payload missing")
		}
		b.Trace, b.Payload, b.Signature = s.Message, payload.FromBellatrix(s.ExecutionPayload), s.Signature
	case eth.Capella:
		var s capellaapi.SubmitBlockRequest
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		b.Trace, b.Payload, b.Signature = s.Message, payload.FromCapella(s.ExecutionPayload), s.Signature
	case eth.Deneb:
		var s denebapi.SubmitBlockRequest
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		b.Trace, b.Payload, b.Signature, b.Blobs = s.Message, s.ExecutionPayload, s.Signature, blobsOf(s.BlobsBundle)
	case eth.Electra:
		var s electraapi.SubmitBlockRequest
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		b.Trace, b.Payload, b.Signature, b.Blobs = s.Message, s.ExecutionPayload, s.Signature, blobsOf(s.BlobsBundle)
		b.Requests = s.ExecutionRequests
	case eth.Fulu:
		var s fuluapi.SubmitBlockRequest
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		b.Trace, b.Payload, b.Signature = s.Message, s.ExecutionPayload, s.Signature
		b.Blobs = (*payload.Blobs)(s.BlobsBundle)
		b.Requests = s.ExecutionRequests
	default:
		return fmt.Errorf("unknown fork %s", b.Fork)
	}
	return nil
}

func blobsOf(bundle *denebapi.BlobsBundle) *payload.Blobs {
	if bundle == nil {
		return nil
	}
	return &payload.Blobs{Commitments: bundle.Commitments, Proofs: bundle.Proofs, Blobs: bundle.Blobs}
}
