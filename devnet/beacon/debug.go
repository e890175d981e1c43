package beacon

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/serve"
)

// dumpForkChoice answers with the tree of blocks (beacon-APIs, getDebugForkChoice).
func (b *Beacon) dumpForkChoice(w http.ResponseWriter, r *http.Request) {
	b.mu.RLock()
	head := b.choice.head()
	epoch := b.cfg.Spec.EpochOf(head.Slot)
	justified, final := b.checkpointOf(head, epoch, 1), b.checkpointOf(head, epoch, finalAfter)
	weights := b.choice.weights()
	nodes := []any{}
	for _, block := range b.choice.blocks {
		if block.Slot < b.choice.final.Slot {
			continue
		}
		nodes = append(nodes, map[string]any{
			"slot": decimal(block.Slot), "block_root": hexOf(block.Root[:]), "parent_root": hexOf(block.ParentRoot[:]),
			"justified_epoch": decimal(justified.Epoch), "finalized_epoch": decimal(final.Epoch),
			"weight": strconv.Itoa(weights[block.Root]), "validity": "valid",
			"execution_block_hash": hexOf(block.BlockHash[:]), "extra_data": map[string]any{},
		})
	}
	b.mu.RUnlock()
	serve.JSON(w, r, http.StatusOK, map[string]any{
		"justified_checkpoint": justified, "finalized_checkpoint": final, "fork_choice_nodes": nodes,
		"extra_data": map[string]any{},
	})
}

// debugHeads lists the blocks without children (beacon-APIs, getDebugChainHeadsV2).
func (b *Beacon) debugHeads(w http.ResponseWriter, r *http.Request) {
	b.mu.RLock()
	list := []any{}
	for root, block := range b.choice.blocks {
		if len(b.choice.children[root]) == 0 {
			list = append(list, map[string]any{"root": hexOf(root[:]), "slot": decimal(block.Slot),
				"execution_optimistic": false})
		}
	}
	b.mu.RUnlock()
	data(w, r, list, nil)
}

// debugState answers with a whole state in the form of its fork, in JSON or SSZ (beacon-APIs,
// getStateV2).
func (b *Beacon) debugState(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		serve.Refuse(w, r, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"})
		return
	}
	block, err := b.findState(r.PathValue("state_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	if forms[block.Fork].state == nil {
		serve.Refuse(w, r, problem{http.StatusNotFound, "this node has no states of " + block.Fork.String()})
		return
	}
	state := b.stateAfter(block)
	w.Header().Set(versionHeader, block.Fork.String())
	if media == mediaJSON {
		extra := b.settled(block)
		extra["version"] = block.Fork.String()
		data(w, r, state, extra)
		return
	}
	raw, err := state.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode state: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// checkpointOf goes back from an epoch by the number before, and returns the checkpoint of that
// earlier epoch on the chain of a block. The caller holds mu.
func (b *Beacon) checkpointOf(block *Block, epoch, before phase0.Epoch) *phase0.Checkpoint {
	return &phase0.Checkpoint{Epoch: max(epoch, before) - before, Root: b.choice.checkpoint(block, epoch, before).Root}
}
