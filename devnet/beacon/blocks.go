package beacon

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
)

// headerOf is a block as /headers shows it. Genesis has no signature.
func (b *Beacon) headerOf(block *Block) map[string]any {
	b.mu.RLock()
	at, canonical := b.choice.canonical(block.Slot)
	b.mu.RUnlock()
	state := b.stateRootOf(block)
	message := map[string]string{
		"slot": decimal(block.Slot), "proposer_index": decimal(block.ProposerIndex), "parent_root": hexOf(block.ParentRoot[:]),
		"state_root": hexOf(state[:]), "body_root": hexOf(make([]byte, 32)),
	}
	signature := make([]byte, 96)
	if s := block.signed; s != nil {
		message["body_root"] = hexOf(s.bodyRoot[:])
		signature = s.signature[:]
	}
	return map[string]any{
		"root": hexOf(block.Root[:]), "canonical": canonical && at == block,
		"header": map[string]any{"message": message, "signature": hexOf(signature)},
	}
}

// headers lists the head, or the canonical block of ?slot=, or the child of ?parent_root= on the chain.
func (b *Beacon) headers(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	query := r.URL.Query()
	switch {
	case query.Get("parent_root") != "":
		parent, err := b.find(query.Get("parent_root"))
		if err != nil {
			serve.Refuse(w, r, err)
			return
		}
		b.mu.RLock()
		children := b.choice.children[parent.Root]
		b.mu.RUnlock()
		for _, child := range children {
			list = append(list, b.headerOf(child))
		}
	case query.Get("slot") != "":
		if _, err := strconv.ParseUint(query.Get("slot"), 10, 63); err != nil {
			serve.Refuse(w, r, bad("slot is %.40q: want a number", query.Get("slot")))
			return
		}
		if block, err := b.find(query.Get("slot")); err == nil {
			list = append(list, b.headerOf(block))
		}
	default:
		list = append(list, b.headerOf(b.Head()))
	}
	data(w, r, list, settled)
}

func (b *Beacon) header(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, b.headerOf(block), settled)
}

func (b *Beacon) blockRoot(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, map[string]string{"root": hexOf(block.Root[:])}, settled)
}

// block is a whole signed block, in JSON or SSZ.
func (b *Beacon) block(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		serve.Refuse(w, r, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"})
		return
	}
	found, err := b.find(r.PathValue("block_id"))
	if err == nil && found.signed == nil {
		err = problem{http.StatusNotFound, "the genesis block has no body"}
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	w.Header().Set(versionHeader, found.Fork.String())
	if media == mediaJSON {
		data(w, r, found.signed.block, map[string]any{"version": found.Fork.String(), "execution_optimistic": false, "finalized": false})
		return
	}
	raw, err := found.signed.block.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// maxBlock bounds a published block in bytes.
const maxBlock = 64 << 20

// publish imports a signed block (beacon-APIs, publishBlockV2): 200 when it is part of the chain now; 202 when the rules that the caller asked for
// hold, but the execution node could not take it; 400 when they do not.
func (b *Beacon) publish(w http.ResponseWriter, r *http.Request) {
	level := r.URL.Query().Get("broadcast_validation")
	switch level {
	case "", "gossip", "consensus", "consensus_and_equivocation":
	default:
		serve.Refuse(w, r, bad("broadcast_validation is %.40q: want gossip, consensus or consensus_and_equivocation", level))
		return
	}
	contentType, ok := serve.ContentType(r)
	if !ok || (contentType != mediaJSON && contentType != mediaSSZ) {
		serve.Refuse(w, r, problem{http.StatusUnsupportedMediaType, "send application/json or application/octet-stream"})
		return
	}
	fork, err := forkOf(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	body, err := serve.ReadBody(w, r, maxBlock, "gzip")
	if err != nil {
		status := http.StatusBadRequest
		if errors.Is(err, serve.ErrTooLarge) {
			status = http.StatusRequestEntityTooLarge
		} else if errors.Is(err, serve.ErrEncoding) {
			status = http.StatusUnsupportedMediaType
		}
		serve.Refuse(w, r, problem{status, err.Error()})
		return
	}
	signed, err := decodeBlock(fork, contentType == mediaJSON, body)
	if err != nil {
		serve.Refuse(w, r, bad("decode block: %v", err))
		return
	}
	// Who asked to publish may go away; the block is judged and imported all the same.
	if err := b.importBlock(withoutCancel(r), signed, level == "consensus_and_equivocation"); err != nil {
		b.log.Warn("block refused", "slot", signed.slot, "error", err)
		if status := importStatus(err); status == http.StatusAccepted {
			w.WriteHeader(status)
		} else {
			serve.Refuse(w, r, problem{status, err.Error()})
		}
		return
	}
	w.WriteHeader(http.StatusOK)
}
