package beacon

import (
	"net/http"
	"strconv"

	"github.com/gavel-relay/gavel/internal/serve"
)

// The emulated state has no rewards or penalties: balances stay as they are. These endpoints say so
// in the standard's form.

// blockRewards answers with a proposer's consensus rewards (beacon-APIs, getBlockRewards).
func (b *Beacon) blockRewards(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	data(w, r, map[string]string{
		"proposer_index": decimal(block.ProposerIndex), "total": "0", "attestations": "0", "sync_aggregate": "0",
		"proposer_slashings": "0", "attester_slashings": "0",
	}, b.settled(block))
}

// syncRewards answers with the rewards of the sync committee (beacon-APIs,
// getSyncCommitteeRewards).
func (b *Beacon) syncRewards(w http.ResponseWriter, r *http.Request) {
	block, err := b.find(r.PathValue("block_id"))
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	indices, ok := b.postedValidators(w, r)
	if !ok {
		return
	}
	list := []any{}
	for _, index := range indices {
		list = append(list, map[string]string{"validator_index": strconv.Itoa(index), "reward": "0"})
	}
	data(w, r, list, b.settled(block))
}

// attestationRewards answers with the attesters' rewards of an epoch (beacon-APIs,
// getAttestationsRewards).
func (b *Beacon) attestationRewards(w http.ResponseWriter, r *http.Request) {
	number, err := pathNumber(r, "epoch")
	if current := uint64(b.epoch()); err == nil && number > current {
		err = problem{http.StatusNotFound, "the epoch has not begun: it is epoch " + strconv.FormatUint(current, 10)}
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	indices, ok := b.postedValidators(w, r)
	if !ok {
		return
	}
	total := []any{}
	for _, index := range indices {
		total = append(total, map[string]string{
			"validator_index": strconv.Itoa(index), "head": "0", "target": "0", "source": "0", "inactivity": "0",
		})
	}
	ideal := map[string]string{
		"effective_balance": validatorBalance, "head": "0", "target": "0", "source": "0", "inactivity": "0",
	}
	data(w, r, map[string]any{"ideal_rewards": []any{ideal}, "total_rewards": total}, b.settled(b.Head()))
}

// postedValidators returns the validators that a body names, or all if it names none. If ok is
// false, it has answered with a refusal.
func (b *Beacon) postedValidators(w http.ResponseWriter, r *http.Request) (indices []int, ok bool) {
	var ids []string
	if !readJSON(w, r, &ids) {
		return nil, false
	}
	indices, err := b.indices(ids)
	if err != nil {
		serve.Refuse(w, r, err)
		return nil, false
	}
	return indices, true
}
