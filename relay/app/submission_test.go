package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// submission is a builder's block that tests spoil before it is sent.
type submission struct {
	fork       eth.Fork
	spec       *eth.Spec
	key        *bls.SecretKey
	trace      *builderv1.BidTrace
	payload    *payload.Payload
	blobs      *payload.Blobs
	requests   *electra.ExecutionRequests
	signature  phase0.BLSSignature
	parentRoot phase0.Root
}

// sign signs the message as it is now.
func (s *submission) sign() {
	s.trace.BuilderPubkey = s.key.PublicKey()
	s.signature = s.key.Sign(eth.SigningRoot(rootOf(s.trace), s.spec.BuilderDomain()))
}

// rehash gives the changed block its right hash and signs that, so that only the change itself is
// wrong.
func (s *submission) rehash(t testing.TB) {
	t.Helper()
	var hashes []common.Hash
	var root *common.Hash
	var items [][]byte
	if s.fork >= eth.Deneb {
		hashes, root = []common.Hash{}, (*common.Hash)(&s.parentRoot)
		for _, commitment := range s.blobs.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
	}
	if s.fork >= eth.Electra {
		var err error
		items, err = payload.EncodeRequests(s.requests)
		must(t, err)
	}
	block, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(s.fork, s.payload), hashes, root, items)
	must(t, err)
	s.payload.BlockHash = phase0.Hash32(block.Hash())
	s.trace.BlockHash = s.payload.BlockHash
	s.sign()
}

// encodable is what the libraries' types can do.
type encodable interface {
	json.Marshaler
	MarshalSSZ() ([]byte, error)
}

// in is the request in a fork's shape, by default its own.
func (s *submission) in(fork eth.Fork) encodable {
	switch fork {
	case eth.Bellatrix:
		return &builderbellatrix.SubmitBlockRequest{Message: s.trace, ExecutionPayload: payload.ToBellatrix(s.payload),
			Signature: s.signature}
	case eth.Capella:
		return &buildercapella.SubmitBlockRequest{Message: s.trace, ExecutionPayload: payload.ToCapella(s.payload),
			Signature: s.signature}
	case eth.Deneb:
		return &builderdeneb.SubmitBlockRequest{Message: s.trace, ExecutionPayload: s.payload,
			BlobsBundle: s.oneProofPerBlob(), Signature: s.signature}
	case eth.Electra:
		return &builderelectra.SubmitBlockRequest{
			Message: s.trace, ExecutionPayload: s.payload, BlobsBundle: s.oneProofPerBlob(), ExecutionRequests: s.requests,
			Signature: s.signature,
		}
	default:
		return &builderfulu.SubmitBlockRequest{
			Message: s.trace, ExecutionPayload: s.payload, ExecutionRequests: s.requests, Signature: s.signature,
			BlobsBundle: &builderfulu.BlobsBundle{Commitments: s.blobs.Commitments, Proofs: s.blobs.Proofs,
				Blobs: s.blobs.Blobs},
		}
	}
}

func (s *submission) oneProofPerBlob() *builderdeneb.BlobsBundle {
	return &builderdeneb.BlobsBundle{Commitments: s.blobs.Commitments, Proofs: s.blobs.Proofs, Blobs: s.blobs.Blobs}
}

func (s *submission) ssz(t testing.TB) []byte {
	t.Helper()
	raw, err := s.in(s.fork).MarshalSSZ()
	must(t, err)
	return raw
}

func (s *submission) json(t testing.TB) []byte {
	t.Helper()
	raw, err := s.in(s.fork).MarshalJSON()
	must(t, err)
	return raw
}

const submitPath = "/relay/v1/builder/blocks"

func sszHeader(fork eth.Fork) http.Header {
	return http.Header{"Content-Type": {"application/octet-stream"}, "Eth-Consensus-Version": {fork.String()}}
}

// submit sends a submission in SSZ. It is cancellable: a final bid would raise the floor, and what
// comes after it would not be executed.
func (h *house) submit(t testing.TB, s *submission) answer {
	t.Helper()
	return h.post(t, submitPath+"?cancellations=1", sszHeader(s.fork), s.ssz(t))
}

// submitFinal sends a submission that cannot be taken back.
func (h *house) submitFinal(t testing.TB, s *submission) answer {
	t.Helper()
	return h.post(t, submitPath, sszHeader(s.fork), s.ssz(t))
}

// submitted sends a submission that must be taken.
func (h *house) submitted(t testing.TB, s *submission) {
	t.Helper()
	if got := h.submit(t, s); got.status != http.StatusOK || len(got.body) != 0 {
		t.Fatalf("a good submission: %s", got)
	}
}
