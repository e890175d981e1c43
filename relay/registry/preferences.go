package registry

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// Why preferences are not kept.
var (
	errPreferencesForm  = errors.New("no message")
	errUnknownValidator = errors.New("no such validator")
	errFarSlot          = errors.New("the slot is over, or too far away")
	errNotProposer      = errors.New("the validator does not propose in the slot")
	errTooManyRoots     = errors.New("too many dependent roots for one slot")
)

// maxRoots is how many dependent roots preferences of one slot may have: two branches are seldom,
// more are a mistake of the beacon node.
const maxRoots = 8

// SetPreferences keeps what a proposer asks for in a slot, as a beacon node has told. The newest
// for a slot and a dependent root counts. It says whether they are new. If the slot's duty is not
// known yet, it is found later whether the validator proposes in it: when the preferences are used.
func (r *Registry) SetPreferences(signed *gloas.SignedProposerPreferences) (isNew bool, err error) {
	p := signed.Message
	if p == nil {
		return false, fmt.Errorf("keep preferences: %w", errPreferencesForm)
	}
	key, known := r.Pubkey(p.ValidatorIndex)
	if !known {
		return false, fmt.Errorf("keep preferences: %w: %d", errUnknownValidator, p.ValidatorIndex)
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(p)
	if err != nil {
		return false, fmt.Errorf("hash preferences: %w", err)
	}
	domain := gloas.PreferencesDomain(r.spec, p.ProposalSlot)
	if err := bls.Verify(key, eth.SigningRoot(root, domain), signed.Signature); err != nil {
		return false, fmt.Errorf("verify the preferences of validator %d: %w", p.ValidatorIndex, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.spec.EpochOf(r.head.Slot); p.ProposalSlot+1 < r.head.Slot || r.spec.EpochOf(p.ProposalSlot) > now+2 {
		return false, fmt.Errorf("keep preferences for slot %d: %w", p.ProposalSlot, errFarSlot)
	}
	for _, duty := range r.duties[r.spec.EpochOf(p.ProposalSlot)].duties {
		if duty.Slot == p.ProposalSlot && duty.Index != p.ValidatorIndex {
			return false, fmt.Errorf("keep preferences of validator %d for slot %d: %w", p.ValidatorIndex, p.ProposalSlot,
				errNotProposer)
		}
	}
	ofSlot := r.preferences[p.ProposalSlot]
	if ofSlot == nil {
		ofSlot = map[phase0.Root]*gloas.ProposerPreferences{}
		r.preferences[p.ProposalSlot] = ofSlot
	}
	if ofSlot[p.DependentRoot] == nil && len(ofSlot) == maxRoots {
		return false, fmt.Errorf("keep preferences for slot %d: %w", p.ProposalSlot, errTooManyRoots)
	}
	if known := ofSlot[p.DependentRoot]; known != nil && *known == *p {
		return false, nil
	}
	ofSlot[p.DependentRoot] = p
	r.version++
	return true, nil
}

// Preferences returns what the slot's proposer asks for, one for each dependent root that is known.
// They must not be changed.
func (r *Registry) Preferences(slot phase0.Slot) []*gloas.ProposerPreferences {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, duty := range r.duties[r.spec.EpochOf(slot)].duties {
		if duty.Slot == slot {
			return r.preferencesOf(duty)
		}
	}
	return nil
}

// preferencesOf returns those of the duty's proposer, in the order of their roots. The caller holds
// the lock.
func (r *Registry) preferencesOf(duty relay.Duty) (list []*gloas.ProposerPreferences) {
	for _, p := range r.preferences[duty.Slot] {
		if p.ValidatorIndex == duty.Index {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *gloas.ProposerPreferences) int {
		return bytes.Compare(a.DependentRoot[:], b.DependentRoot[:])
	})
	return list
}

// forgetPreferences forgets those of slots that are over. The caller holds the lock.
func (r *Registry) forgetPreferences(head phase0.Slot) {
	for slot := range r.preferences {
		if slot+1 < head {
			delete(r.preferences, slot)
		}
	}
}
