package beacon

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/serve"
)

// proposerPreferences is the topic of events about them.
const proposerPreferences = "proposer_preferences"

// takePreferences takes what proposers ask of builders, and tells it (beacon-APIs,
// submitSignedProposerPreferences). One refused entry refuses those after it too.
func (b *Beacon) takePreferences(w http.ResponseWriter, r *http.Request) {
	list, err := readList(w, r, gloas.Mainnet.SignedProposerPreferences.FromJSON)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	for i, signed := range list {
		if err := b.takePreference(signed); err != nil {
			serve.Refuse(w, r, bad("entry %d: %v", i, err))
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

// Why preferences are refused.
var (
	errNotInGloas    = errors.New("the slot is not of gloas")
	errSlotOver      = errors.New("the slot is over, or after the next epoch")
	errNotItsSlot    = errors.New("the validator does not propose in the slot")
	errDependentRoot = errors.New("the duty does not depend on this root")
)

func (b *Beacon) takePreference(signed *gloas.SignedProposerPreferences) error {
	p, spec := signed.Message, b.cfg.Spec
	epoch := spec.EpochOf(p.ProposalSlot)
	switch {
	case !isGloas(spec.ForkAt(p.ProposalSlot)):
		return errNotInGloas
	case p.ProposalSlot < spec.SlotAt(b.cfg.Clock.Now()) || b.near(epoch) != nil:
		return errSlotOver
	case p.ValidatorIndex != b.schedule.proposer(p.ProposalSlot):
		return errNotItsSlot
	case !b.isDependentRoot(p.DependentRoot, epoch):
		return errDependentRoot
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(p)
	if err != nil {
		return fmt.Errorf("hash preferences: %w", err)
	}
	_, key := b.Duty(p.ProposalSlot)
	if err := bls.Verify(key, eth.SigningRoot(root, gloas.PreferencesDomain(spec, p.ProposalSlot)),
		signed.Signature); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	b.mu.Lock()
	ofSlot := b.market.preferences[p.ProposalSlot]
	if ofSlot == nil {
		ofSlot = map[phase0.Root]*gloas.SignedProposerPreferences{}
		b.market.preferences[p.ProposalSlot] = ofSlot
	}
	known := ofSlot[p.DependentRoot]
	if known == nil {
		ofSlot[p.DependentRoot] = signed
	}
	b.mu.Unlock()
	if known == nil { // the first ones of a slot and a branch are handed on
		b.events.send(proposerPreferences, preferencesEvent(signed))
	}
	return nil
}

// isDependentRoot says whether duties of an epoch depend on a root on any branch that is known.
func (b *Beacon) isDependentRoot(root phase0.Root, epoch phase0.Epoch) bool {
	b.mu.RLock()
	defer b.mu.RUnlock()
	block := b.choice.blocks[root]
	return block != nil && b.choice.mayDepend(block, max(epoch, 1)-1)
}

// preferencesOn returns what the proposer of a slot asks for on a branch, nil if that is not known.
// The caller holds mu.
func (b *Beacon) preferencesOn(parent *Block, slot phase0.Slot) *gloas.SignedProposerPreferences {
	root := b.choice.dependent(parent, max(b.cfg.Spec.EpochOf(slot), 1)-1).Root
	return b.market.preferences[slot][root]
}

func preferencesEvent(signed *gloas.SignedProposerPreferences) []byte {
	return versioned(inJSON(gloas.Mainnet.SignedProposerPreferences.ToJSON(signed)))
}

// preferencesAhead returns the events about preferences of this slot and later ones, for listeners
// of that topic. Other nodes do not repeat them.
func (b *Beacon) preferencesAhead(topics []string) (list []event) {
	if !slices.Contains(topics, proposerPreferences) {
		return nil
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	for _, ofSlot := range b.market.preferences {
		for _, signed := range ofSlot {
			list = append(list, event{proposerPreferences, preferencesEvent(signed)})
		}
	}
	return list
}

// readList reads a JSON list of containers.
func readList[T any](w http.ResponseWriter, r *http.Request, read func([]byte) (*T, error)) ([]*T, error) {
	body, inJSON, _, err := readPublished(w, r)
	switch {
	case err != nil:
		return nil, err
	case !inJSON:
		return nil, problem{http.StatusUnsupportedMediaType, "send application/json"}
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return nil, bad("decode request: %v", err)
	}
	list := make([]*T, len(raw))
	for i := range raw {
		if list[i], err = read(raw[i]); err != nil {
			return nil, bad("decode entry %d: %v", i, err)
		}
	}
	return list, nil
}

// listBuilders lists staked builders, all or those of ids (beacon-APIs, getStateBuilders).
func (b *Beacon) listBuilders(w http.ResponseWriter, r *http.Request) {
	var body struct {
		IDs []string `json:"ids"`
	}
	if !readJSON(w, r, &body) {
		return
	}
	block, err := b.findState(r.PathValue("state_id"))
	if err == nil && !b.hasGloas() {
		err = bad("there are no builders before gloas")
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	state, err := b.stateAt(block)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	list := []any{}
	for i := range state.Builders {
		index, key := gloas.BuilderIndex(i), state.Builders[i].Pubkey
		if len(body.IDs) > 0 && !slices.Contains(body.IDs, decimal(index)) && !slices.Contains(body.IDs, hexOf(key[:])) {
			continue
		}
		list = append(list, map[string]any{
			"index": decimal(index), "balance": decimal(state.Builders[i].Balance),
			"builder": inJSON(gloas.Mainnet.Builder.ToJSON(&state.Builders[i])),
		})
	}
	data(w, r, list, b.settled(block))
}

// BuilderBalance returns what a staked builder has on the chain that ends with the head, and what
// it still owes.
func (b *Beacon) BuilderBalance(index gloas.BuilderIndex) (balance, owed phase0.Gwei, err error) {
	state, err := b.stateAt(b.Head())
	if err != nil {
		return 0, 0, err
	}
	if uint64(index) >= uint64(len(state.Builders)) {
		return 0, 0, fmt.Errorf("there is no builder %d", index)
	}
	return state.Builders[index].Balance, state.Owed(index), nil
}
