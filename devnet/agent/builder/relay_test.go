package builder

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	builderbellatrix "github.com/attestantio/go-builder-client/api/bellatrix"
	buildercapella "github.com/attestantio/go-builder-client/api/capella"
	builderdeneb "github.com/attestantio/go-builder-client/api/deneb"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay/client"
)

// relay is a scripted relay: it tells duties, keeps submissions and answers them by its script.
type relay struct {
	t *testing.T
	// registrations by slot.
	registrations map[phase0.Slot]*builderv1.SignedValidatorRegistration
	// answer, if set, is the status for submission number n, from 0.
	answer func(n int) int
	// after, if set, is called when a submission has been answered.
	after func(n int)

	mu          sync.Mutex // guards all below
	asked       int
	dutyStatus  int // 0 is 200
	submissions []*builderspec.VersionedSubmitBlockRequest
}

func newRelay(t *testing.T, registrations map[phase0.Slot]*builderv1.SignedValidatorRegistration) (
	*relay, *client.Client) {
	t.Helper()
	r := &relay{t: t, registrations: registrations}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /relay/v1/builder/validators", r.duties)
	mux.HandleFunc("POST /relay/v1/builder/blocks", r.submit)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, client.Options{HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return r, c
}

func (r *relay) duties(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.dutyStatus != 0 {
		w.WriteHeader(r.dutyStatus)
		return
	}
	list := []map[string]any{}
	for slot, entry := range r.registrations {
		list = append(list, map[string]any{"slot": fmt.Sprint(uint64(slot)), "validator_index": "3", "entry": entry})
	}
	if err := json.NewEncoder(w).Encode(list); err != nil {
		r.t.Error(err)
	}
}

func (r *relay) submit(w http.ResponseWriter, request *http.Request) {
	raw, err := io.ReadAll(request.Body)
	if err != nil {
		return // the builder has given this bid up
	}
	block, err := decodeSubmission(request.Header.Get("Eth-Consensus-Version"), raw)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	n := len(r.submissions)
	r.submissions = append(r.submissions, block)
	r.mu.Unlock()
	status := http.StatusOK
	if r.answer != nil {
		status = r.answer(n)
	}
	w.WriteHeader(status)
	if r.after != nil {
		r.after(n)
	}
}

func (r *relay) got() []*builderspec.VersionedSubmitBlockRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]*builderspec.VersionedSubmitBlockRequest{}, r.submissions...)
}

func decodeSubmission(version string, raw []byte) (*builderspec.VersionedSubmitBlockRequest, error) {
	fork, err := eth.ParseFork(version)
	if err != nil {
		return nil, err
	}
	block := &builderspec.VersionedSubmitBlockRequest{Version: fork.DataVersion()}
	switch fork {
	case eth.Bellatrix:
		block.Bellatrix = new(builderbellatrix.SubmitBlockRequest)
		return block, block.Bellatrix.UnmarshalSSZ(raw)
	case eth.Capella:
		block.Capella = new(buildercapella.SubmitBlockRequest)
		return block, block.Capella.UnmarshalSSZ(raw)
	case eth.Deneb:
		block.Deneb = new(builderdeneb.SubmitBlockRequest)
		return block, block.Deneb.UnmarshalSSZ(raw)
	case eth.Electra:
		block.Electra = new(builderelectra.SubmitBlockRequest)
		return block, block.Electra.UnmarshalSSZ(raw)
	default:
		block.Fulu = new(builderfulu.SubmitBlockRequest)
		return block, block.Fulu.UnmarshalSSZ(raw)
	}
}

// block is what an execution node wants to know of a submission.
type block struct {
	payload     *payload.Payload
	commitments []deneb.KZGCommitment
	proofs      int
	requests    *electra.ExecutionRequests
}

func blockOf(v *builderspec.VersionedSubmitBlockRequest) block {
	switch eth.ForkOf(v.Version) {
	case eth.Bellatrix:
		return block{payload: payload.FromBellatrix(v.Bellatrix.ExecutionPayload)}
	case eth.Capella:
		return block{payload: payload.FromCapella(v.Capella.ExecutionPayload)}
	case eth.Deneb:
		b := v.Deneb.BlobsBundle
		return block{payload: v.Deneb.ExecutionPayload, commitments: b.Commitments, proofs: len(b.Proofs)}
	case eth.Electra:
		b := v.Electra.BlobsBundle
		return block{v.Electra.ExecutionPayload, b.Commitments, len(b.Proofs), v.Electra.ExecutionRequests}
	default:
		b := v.Fulu.BlobsBundle
		return block{v.Fulu.ExecutionPayload, b.Commitments, len(b.Proofs), v.Fulu.ExecutionRequests}
	}
}
