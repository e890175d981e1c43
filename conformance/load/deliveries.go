package load

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
)

// deliver does what a proposer does when its slot begins: it asks for the header, signs it in place
// of the payload of its own block, and asks for its payload.
func (w *window) deliver(ctx context.Context, local probe.Local) {
	answer := w.client.do(ctx, w.headerRequest())
	served := w.headers.read(w, w.phase.Connections, answer)
	if served == nil || served.Empty || served.Unreadable != "" {
		w.skip(answer)
		return
	}
	w.mu.Lock()
	w.auction.Served = append(w.auction.Served, *served)
	w.mu.Unlock()
	fork, _ := w.World.Facts.ForkAt(w.slot.Slot)
	bid, err := w.headers.parse(fork, answer.body)
	if err != nil {
		w.fail(err)
		return
	}
	body, err := w.signedBlinded(local, bid)
	if err != nil {
		w.fail(err)
		return
	}
	w.sent.Add(1)
	q := request{method: http.MethodPost, url: w.ProposerURL + "/eth/v1/builder/blinded_blocks", media: jsonType,
		version: fork.String(), accept: jsonType, body: body}
	answer = w.client.do(ctx, q)
	wrong := w.wrongPayload(bid, answer)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.auction.Deliveries = append(w.auction.Deliveries, bench.Delivery{Sent: w.since(answer.sent),
		Done: w.since(answer.done), Block: served.Block, Wrong: wrong})
	w.samples = append(w.samples, sampleOf(w, bench.Deliveries, answer, 0, wrong == "", len(body)))
}

// skip notes that there was no header to sign.
func (w *window) skip(answer reply) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsold = answer.String(); w.unsold == "" {
		w.unsold = "no answer"
	}
}

// domain is the domain of a purpose in the fork of the slot.
func (w *window) domain(purpose phase0.DomainType) phase0.Domain {
	_, version := w.World.Facts.ForkAt(w.slot.Slot)
	return probe.Domain(purpose, phase0.Version(unhex(version)), phase0.Root(unhex(w.World.Facts.GenesisValidatorsRoot)))
}

// localBlock has the world's beacon node make the proposer's own block.
func (w *window) localBlock(ctx context.Context) (local probe.Local, err error) {
	facts := w.World.Facts
	var epoch phase0.Root
	binary.LittleEndian.PutUint64(epoch[:], uint64(w.slot.Slot)/facts.SlotsPerEpoch)
	reveal := w.proposer.Sign(probe.SigningRoot(epoch, w.domain(probe.DomainRandao)))
	answer := w.client.do(ctx, request{method: http.MethodGet, accept: "application/octet-stream",
		url: fmt.Sprintf("%s/eth/v3/validator/blocks/%d?randao_reveal=%#x", facts.BeaconURL, w.slot.Slot, reveal[:])})
	if answer.status != http.StatusOK {
		return local, fmt.Errorf("ask the world for a local block: %s", answer)
	}
	fork, _ := facts.ForkAt(w.slot.Slot)
	return probe.ReadLocal(fork, answer.body)
}

// signedBlinded makes the blinded block of a bid, out of the proposer's own block, and signs it.
func (w *window) signedBlinded(local probe.Local, bid *builderelectra.SignedBuilderBid) ([]byte, error) {
	fork, _ := w.World.Facts.ForkAt(w.slot.Slot)
	signed := &apielectra.SignedBlindedBeaconBlock{Message: local.Blinded()}
	b := signed.Message.Body
	b.ExecutionPayloadHeader, b.BlobKZGCommitments = bid.Message.Header, bid.Message.BlobKZGCommitments
	b.ExecutionRequests = bid.Message.ExecutionRequests
	root, err := probe.BlindedRoot(fork, signed.Message)
	if err != nil {
		return nil, err
	}
	signed.Signature = w.proposer.Sign(probe.SigningRoot(root, w.domain(probe.DomainProposer)))
	raw, err := probe.Blinded(fork, signed).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode a blinded block: %w", err)
	}
	return raw, nil
}

// wrongPayload says why an answer is not the payload of a bid's header; it is empty if it is.
func (w *window) wrongPayload(bid *builderelectra.SignedBuilderBid, answer reply) string {
	if answer.status != http.StatusOK {
		return answer.String()
	}
	fork, _ := w.World.Facts.ForkAt(w.slot.Slot)
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(answer.body, &envelope); err != nil {
		return err.Error()
	}
	both, err := probe.ReadPayload(fork, jsonType, envelope.Data)
	if err != nil {
		return err.Error()
	}
	want, err := probe.HeaderRoot(fork, bid.Message.Header)
	if err != nil {
		return err.Error()
	}
	got, err := probe.PayloadRoot(fork, both.ExecutionPayload)
	if err != nil {
		return err.Error()
	}
	if got != want {
		return fmt.Sprintf("the payload has root %#x, and the header %#x", got[:8], want[:8])
	}
	if blobs := len(bid.Message.BlobKZGCommitments); blobs > 0 && (both.BlobsBundle == nil ||
		len(both.BlobsBundle.Blobs) != blobs) {
		return fmt.Sprintf("the payload lacks some of %d blobs", blobs)
	}
	return ""
}

// registration is a request that registers validators.
func (r *relayRun) registration(body []byte) request {
	return request{method: http.MethodPost, url: r.ProposerURL + "/eth/v1/builder/validators", media: jsonType, body: body}
}

// dataRequest is the next question to the Data API.
func (w *window) dataRequest(n int) request {
	path := "/relay/v1/data/bidtraces/proposer_payload_delivered?limit=100"
	switch n % 3 {
	case 1:
		path = fmt.Sprintf("/relay/v1/data/bidtraces/builder_blocks_received?slot=%d", w.slot.Slot-1)
	case 2:
		key := w.validators[n%len(w.validators)].Public
		path = fmt.Sprintf("/relay/v1/data/validator_registration?pubkey=%#x", key[:])
	}
	return request{method: http.MethodGet, url: w.DataURL + path, accept: jsonType}
}
