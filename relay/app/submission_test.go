package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
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

// encodable is what the libraries' types can do.
type encodable interface {
	json.Marshaler
	MarshalSSZ() ([]byte, error)
}

// request is what the builder sends, in the shape of the submission's fork.
func (s *submission) request(t testing.TB) encodable {
	t.Helper()
	built := &chain.Built{Fork: s.fork, Payload: s.payload, Blobs: s.blobs, Requests: s.requests}
	request, err := built.Submission(s.trace, s.signature)
	must(t, err)
	member, err := payload.Member[encodable](request)
	must(t, err)
	return member
}

func (s *submission) ssz(t testing.TB) []byte {
	t.Helper()
	raw, err := s.request(t).MarshalSSZ()
	must(t, err)
	return raw
}

func (s *submission) json(t testing.TB) []byte {
	t.Helper()
	raw, err := s.request(t).MarshalJSON()
	must(t, err)
	return raw
}

const (
	submitPath  = "/relay/v1/builder/blocks"
	headersPath = "/relay/v1/builder/headers"
)

func sszHeader(fork eth.Fork) http.Header {
	return http.Header{"Content-Type": {"application/octet-stream"}, "Eth-Consensus-Version": {fork.String()}}
}

// submit sends a submission in SSZ. It is cancellable: a final bid would raise the floor, and what
// comes after it would not be executed.
func (h *relayUnderTest) submit(t testing.TB, s *submission) answer {
	t.Helper()
	return h.post(t, submitPath+"?cancellations=1", sszHeader(s.fork), s.ssz(t))
}

// submitFinal sends a submission that cannot be taken back.
func (h *relayUnderTest) submitFinal(t testing.TB, s *submission) answer {
	t.Helper()
	return h.post(t, submitPath, sszHeader(s.fork), s.ssz(t))
}

// submitted sends a submission that must be taken.
func (h *relayUnderTest) submitted(t testing.TB, s *submission) {
	t.Helper()
	if got := h.submit(t, s); got.status != http.StatusOK || len(got.body) != 0 {
		t.Fatalf("a good submission: %s", got)
	}
}
