package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

const jsonType = "application/json"

// headers reads the headers that a relay serves in one auction. Most are the same as before, so
// each one is read once.
type headers struct {
	mu    sync.Mutex
	known map[string]*builderelectra.SignedBuilderBid
}

// headerRequest asks for the header of the auction.
func (w *window) headerRequest() request {
	return request{method: http.MethodGet, accept: jsonType, url: fmt.Sprintf("%s/eth/v1/builder/header/%d/%#x/%#x",
		w.ProposerURL, w.slot.Slot, w.slot.ParentHash[:], w.proposer.Public[:])}
}

// read reads an answer; nil if it neither has a header nor says that there is none.
func (h *headers) read(w *window, client int, answer reply) *bench.Served {
	served := &bench.Served{Client: client, Sent: w.since(answer.sent), Done: w.since(answer.done)}
	switch answer.status {
	case http.StatusNoContent:
		served.Empty = true
	case http.StatusOK:
		fork, _ := w.World.Facts.ForkAt(w.slot.Slot)
		bid, err := h.parse(fork, answer.body)
		if err != nil {
			served.Unreadable = err.Error()
			return served
		}
		served.Block, served.Parent = bid.Message.Header.BlockHash, bid.Message.Header.ParentHash
		served.Value = *bid.Message.Value
	default:
		return nil
	}
	return served
}

// parse reads the body of an answer with a bid.
func (h *headers) parse(fork eth.Fork, body []byte) (*builderelectra.SignedBuilderBid, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if bid, is := h.known[string(body)]; is {
		return bid, nil
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return nil, fmt.Errorf("read a bid: %w", err)
	}
	bid, err := probe.ReadBid(fork, jsonType, envelope.Data)
	if err != nil {
		return nil, err
	}
	if h.known == nil {
		h.known = map[string]*builderelectra.SignedBuilderBid{}
	}
	h.known[string(body)] = bid
	return bid, nil
}
