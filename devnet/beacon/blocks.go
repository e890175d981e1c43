package beacon

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// headerOf returns a block as /headers shows it. The genesis block has an empty signature.
func (b *Beacon) headerOf(block *Block) map[string]any {
	b.mu.RLock()
	at, canonical := b.choice.canonical(block.Slot)
	b.mu.RUnlock()
	return map[string]any{"root": hexOf(block.Root[:]), "canonical": canonical && at == block, "header": block.header}
}

// headers lists the head, or all blocks of ?slot= that are known, or the children of ?parent_root=.
func (b *Beacon) headers(w http.ResponseWriter, r *http.Request) {
	blocks, err := b.listed(r.URL.Query())
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list := []any{}
	final := len(blocks) > 0
	for _, block := range blocks {
		list = append(list, b.headerOf(block))
		final = final && b.isFinal(block)
	}
	data(w, r, list, map[string]any{"execution_optimistic": false, "finalized": final})
}

// listed returns the blocks that a query of /headers names; for a slot without a block that is an
// empty list.
func (b *Beacon) listed(query url.Values) ([]*Block, error) {
	switch parent, slot := query.Get("parent_root"), query.Get("slot"); {
	case parent != "":
		var root phase0.Root
		if err := eth.ParseHex(parent, root[:]); err != nil {
			return nil, bad("parent_root: %v", err)
		}
		b.mu.RLock()
		defer b.mu.RUnlock()
		return slices.Clone(b.choice.children[root]), nil
	case slot != "":
		number, err := strconv.ParseUint(slot, 10, 63)
		if err != nil {
			return nil, bad("slot is %.40q: want a number", slot)
		}
		b.mu.RLock()
		defer b.mu.RUnlock()
		return slices.Clone(b.choice.slots[phase0.Slot(number)]), nil
	default:
		return []*Block{b.Head()}, nil
	}
}

func (b *Beacon) header(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, b.headerOf(block), b.settled(block))
}

func (b *Beacon) blockRoot(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, map[string]string{"root": hexOf(block.Root[:])}, b.settled(block))
}

// block answers with a whole signed block, in JSON or SSZ.
func (b *Beacon) block(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		serve.Refuse(w, r, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"})
		return
	}
	found, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	w.Header().Set(versionHeader, found.Fork.String())
	if media == mediaJSON {
		extra := b.settled(found)
		extra["version"] = found.Fork.String()
		data(w, r, found.signed, extra)
		return
	}
	raw, err := found.signed.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// maxBlock bounds a published block in bytes.
const maxBlock = 64 << 20

// publish imports a signed block (beacon-APIs, publishBlockV2). The status is 200 if the block was
// imported, 202 if it keeps the consensus rules but the execution node could not judge it, and 400
// if it breaks a rule.
func (b *Beacon) publish(w http.ResponseWriter, r *http.Request) {
	fork, err := forkOf(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.publishAs(w, r, fork)
}

// publishV1 takes a block without the header that names its fork (beacon-APIs, publishBlock). The
// block is then of the network's present fork.
func (b *Beacon) publishV1(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get(versionHeader) != "" {
		b.publish(w, r)
		return
	}
	b.publishAs(w, r, b.cfg.Spec.ForkAt(b.cfg.Spec.SlotAt(b.cfg.Clock.Now())))
}

func (b *Beacon) publishAs(w http.ResponseWriter, r *http.Request, fork eth.Fork) {
	body, json, level, err := readPublished(w, r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	signed, err := decodeBlock(fork, json, body)
	if err != nil {
		serve.Refuse(w, r, bad("decode block: %v", err))
		return
	}
	b.importAnswered(w, r, signed, level)
}

// readPublished reads a published block's body, whether it is JSON, and the level of
// broadcast_validation.
func readPublished(w http.ResponseWriter, r *http.Request) (body []byte, json bool, level string, err error) {
	level = r.URL.Query().Get("broadcast_validation")
	switch level {
	case "", "gossip", "consensus", "consensus_and_equivocation":
	default:
		return nil, false, "", bad("broadcast_validation is %.40q: want gossip, consensus or consensus_and_equivocation",
			level)
	}
	contentType, ok := serve.ContentType(r)
	if !ok || (contentType != mediaJSON && contentType != mediaSSZ) {
		return nil, false, "", problem{http.StatusUnsupportedMediaType, "send application/json or application/octet-stream"}
	}
	body, err = serve.ReadBody(w, r, maxBlock, "gzip")
	switch {
	case errors.Is(err, serve.ErrTooLarge):
		err = problem{http.StatusRequestEntityTooLarge, err.Error()}
	case errors.Is(err, serve.ErrEncoding):
		err = problem{http.StatusUnsupportedMediaType, err.Error()}
	case err != nil:
		err = bad("%v", err)
	}
	return body, contentType == mediaJSON, level, err
}

// importAnswered imports a block, answers, and hands it to the builder that the publisher names.
// The import goes on if the publisher disconnects.
func (b *Beacon) importAnswered(w http.ResponseWriter, r *http.Request, signed *signedBlock, level string) {
	if err := b.importBlock(withoutCancel(r), signed, level == "consensus_and_equivocation"); err != nil {
		b.log.Warn("block refused", "slot", signed.slot, "error", err)
		if status := importStatus(err); status == http.StatusAccepted {
			w.WriteHeader(status)
		} else {
			serve.Refuse(w, r, problem{status, err.Error()})
		}
		return
	}
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	if url := r.Header.Get(builderURL); url != "" && signed.gloas != nil {
		_ = http.NewResponseController(w).Flush() // the publisher need not wait for the builder
		b.forwardBlock(withoutCancel(r), url, signed)
	}
}
