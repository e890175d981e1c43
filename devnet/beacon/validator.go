package beacon

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// dutiesV1 names as dependent root that of the last block before the epoch. Head events call it
// current_duty_dependent_root once the epoch has begun.
func (b *Beacon) dutiesV1(w http.ResponseWriter, r *http.Request) { b.duties(w, r, 0) }

// dutiesV2 names the root that is one epoch earlier, which head events call
// previous_duty_dependent_root: since fulu, duties are fixed one epoch ahead.
func (b *Beacon) dutiesV2(w http.ResponseWriter, r *http.Request) { b.duties(w, r, 1) }

// duties lists the proposers of an epoch, up to the next one (beacon-APIs, getProposerDuties and
// V2).
func (b *Beacon) duties(w http.ResponseWriter, r *http.Request, earlier phase0.Epoch) {
	number, err := pathNumber(r, "epoch")
	epoch := phase0.Epoch(number)
	if current := b.cfg.Spec.EpochOf(b.cfg.Spec.SlotAt(b.cfg.Clock.Now())); err == nil && epoch > current+1 {
		err = bad("epoch %d is too far ahead: it is epoch %d", epoch, current)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list := []any{}
	first := b.cfg.Spec.FirstSlot(epoch)
	for slot := first; slot < first+phase0.Slot(b.cfg.Spec.SlotsPerEpoch); slot++ {
		index, pubkey := b.Duty(slot)
		list = append(list, map[string]string{"pubkey": hexOf(pubkey[:]), "validator_index": decimal(index),
			"slot": decimal(slot)})
	}
	dependent := b.dependentRoot(b.Head(), max(epoch, earlier)-earlier)
	data(w, r, list, map[string]any{"dependent_root": hexOf(dependent[:]), "execution_optimistic": false})
}

// dependentRoot is the root of the last block before an epoch on the chain that ends with head. The
// schedule of this network depends on no block, but its duties name the root as others' do, so that
// clients see a re-organisation across the edge of an epoch.
func (b *Beacon) dependentRoot(head *Block, epoch phase0.Epoch) phase0.Root {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.choice.dependent(head, epoch).Root
}

// prepare stores fee recipients for local blocks (beacon-APIs, prepareBeaconProposer).
func (b *Beacon) prepare(w http.ResponseWriter, r *http.Request) {
	var body []struct {
		ValidatorIndex string `json:"validator_index"`
		FeeRecipient   string `json:"fee_recipient"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	recipients := map[phase0.ValidatorIndex]bellatrix.ExecutionAddress{}
	for i, entry := range body {
		index, err := strconv.ParseUint(entry.ValidatorIndex, 10, 63)
		var address bellatrix.ExecutionAddress
		if err == nil {
			err = eth.ParseHex(entry.FeeRecipient, address[:])
		}
		if err != nil {
			serve.Refuse(w, r, bad("entry %d: %v", i, err))
			return
		}
		recipients[phase0.ValidatorIndex(index)] = address
	}
	b.mu.Lock()
	for index, address := range recipients {
		b.recipient[index] = address
	}
	b.mu.Unlock()
	w.WriteHeader(http.StatusOK)
}

// localBlock produces an unsigned block (beacon-APIs, produceBlockV3). It is never blinded, because
// validators here ask relays through a sidecar of their own.
func (b *Beacon) localBlock(w http.ResponseWriter, r *http.Request) {
	media, made, err := b.produceAsked(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	value := made.built.CoinbaseGainWei.Dec()
	w.Header().Set(versionHeader, made.fork.String())
	w.Header().Set("Eth-Execution-Payload-Blinded", "false")
	w.Header().Set("Eth-Execution-Payload-Value", value)
	w.Header().Set("Eth-Consensus-Block-Value", "0")
	if media == mediaJSON {
		data(w, r, made.block, map[string]any{
			"version": made.fork.String(), "execution_payload_blinded": false, "execution_payload_value": value,
			"consensus_block_value": "0",
		})
		return
	}
	raw, err := made.block.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode block: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// produceAsked produces the block that a request asks for, and returns the media type that the
// client wants.
func (b *Beacon) produceAsked(r *http.Request) (media string, made *produced, err error) {
	media, asked, err := b.askedBlock(r)
	if err != nil {
		return "", nil, err
	}
	made, err = b.produce(r.Context(), asked.slot, asked.reveal, asked.graffiti)
	return media, made, err
}

// askedBlock reads what a request for a block says of it, and the media type that the client wants.
func (b *Beacon) askedBlock(r *http.Request) (media string, asked template, err error) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	if !ok {
		return "", asked, problem{http.StatusNotAcceptable, "only JSON and SSZ are produced"}
	}
	slot, err := pathNumber(r, "slot")
	if err != nil {
		return "", asked, err
	}
	if now := uint64(b.cfg.Spec.SlotAt(b.cfg.Clock.Now())); slot > now+1 {
		return "", asked, bad("slot %d is too far ahead: it is slot %d", slot, now)
	}
	asked.slot = phase0.Slot(slot)
	if err := eth.ParseHex(r.URL.Query().Get("randao_reveal"), asked.reveal[:]); err != nil {
		return "", asked, bad("randao_reveal: %v", err)
	}
	if text := r.URL.Query().Get("graffiti"); text != "" {
		if err := eth.ParseHex(text, asked.graffiti[:]); err != nil {
			return "", asked, bad("graffiti: %v", err)
		}
	}
	return media, asked, nil
}
