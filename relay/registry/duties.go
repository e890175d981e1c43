package registry

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// dutyTable is one epoch's duties and the root that they depend on: when a head event names another one, they are void.
type dutyTable struct {
	dependent phase0.Root
	duties    []relay.Duty
}

// SetDuties replaces the duties of an epoch and forgets epochs that are long over.
func (r *Registry) SetDuties(epoch phase0.Epoch, dependent phase0.Root, duties []relay.Duty) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.duties[epoch] = dutyTable{dependent: dependent, duties: slices.Clone(duties)}
	for old := range r.duties {
		if old+2 < epoch {
			delete(r.duties, old)
		}
	}
}

// Duty is the duty of a slot, with the proposer's registration if it has one; nil if the duty is not known.
func (r *Registry) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, duty := range r.duties[r.spec.EpochOf(slot)].duties {
		if duty.Slot == slot {
			return &relay.RegisteredDuty{Duty: duty, Registration: r.registrations[duty.Proposer]}
		}
	}
	return nil
}

// Duties are the duties of registered proposers in the epoch of the head and the one after it, by slot: what the Builder API lists.
func (r *Registry) Duties() []relay.RegisteredDuty {
	r.mu.RLock()
	defer r.mu.RUnlock()
	current := r.spec.EpochOf(r.head.Slot)
	list := []relay.RegisteredDuty{}
	for _, epoch := range []phase0.Epoch{current, current + 1} {
		for _, duty := range r.duties[epoch].duties {
			if registration := r.registrations[duty.Proposer]; registration != nil {
				list = append(list, relay.RegisteredDuty{Duty: duty, Registration: registration})
			}
		}
	}
	slices.SortFunc(list, func(a, b relay.RegisteredDuty) int { return int(a.Slot) - int(b.Slot) })
	return list
}

// DutiesKnown says whether the duties of an epoch are here.
func (r *Registry) DutiesKnown(epoch phase0.Epoch) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, known := r.duties[epoch]
	return known
}
