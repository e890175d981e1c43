package registry

import (
	"cmp"
	"slices"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// dutyTable is one epoch's duties and the root that they depend on. When a head event names another
// root, they are void.
type dutyTable struct {
	dependent phase0.Root
	duties    []relay.Duty
}

// dutyList is the list of duties as it was last made. It is never changed.
type dutyList struct {
	version uint64
	duties  []relay.RegisteredDuty
}

// SetDuties replaces the duties of an epoch and forgets epochs that are long over.
func (r *Registry) SetDuties(epoch phase0.Epoch, dependent phase0.Root, duties []relay.Duty) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.duties[epoch] = dutyTable{dependent: dependent, duties: slices.Clone(duties)}
	clear(r.proposers)
	for known, table := range r.duties {
		if known+2 < epoch {
			delete(r.duties, known)
			continue
		}
		for _, duty := range table.duties {
			r.proposers[duty.Proposer] = true
		}
	}
	r.version++
}

// touch makes the list of duties outdated if a change of a validator may show in it. The caller
// holds the lock.
func (r *Registry) touch(key phase0.BLSPubKey) {
	if r.proposers[key] {
		r.version++
	}
}

// Duty returns the duty of a slot, with the proposer's registration if it has one; nil if the duty
// is not known.
func (r *Registry) Duty(slot phase0.Slot) *relay.RegisteredDuty {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, duty := range r.duties[r.spec.EpochOf(slot)].duties {
		if duty.Slot == slot {
			return &relay.RegisteredDuty{Duty: duty, Registration: r.asked(duty)}
		}
	}
	return nil
}

// Duties returns the duties of registered proposers in the epoch of the head and the one after it,
// by slot, as the Builder API lists them. The version changes whenever the list does. The list must
// not be changed.
func (r *Registry) Duties() (duties []relay.RegisteredDuty, version uint64) {
	r.mu.RLock()
	listed, current := r.listed, r.version
	r.mu.RUnlock()
	if listed.version == current {
		return listed.duties, current
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listed.version != r.version {
		r.listed = dutyList{version: r.version, duties: r.list()}
	}
	return r.listed.duties, r.listed.version
}

// list makes the list of duties. The caller holds the lock.
func (r *Registry) list() []relay.RegisteredDuty {
	current := r.spec.EpochOf(r.head.Slot)
	list := []relay.RegisteredDuty{}
	for _, epoch := range []phase0.Epoch{current, current + 1} {
		for _, duty := range r.duties[epoch].duties {
			if registration := r.asked(duty); registration != nil {
				list = append(list, relay.RegisteredDuty{Duty: duty, Registration: registration})
			}
		}
	}
	slices.SortFunc(list, func(a, b relay.RegisteredDuty) int { return cmp.Compare(a.Slot, b.Slot) })
	return list
}

// DutiesKnown says whether the duties of an epoch are known.
func (r *Registry) DutiesKnown(epoch phase0.Epoch) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	_, known := r.duties[epoch]
	return known
}

// asked returns what a proposer asks for in a slot: its registration, and from gloas on its
// preferences for the slot, in the form of a registration without time and signature; nil if it has
// asked for nothing. The caller holds the lock.
func (r *Registry) asked(duty relay.Duty) *relay.SignedRegistration {
	if r.spec.ForkAt(duty.Slot).HasBlindedBlocks() {
		return r.table.find(duty.Proposer).registration()
	}
	terms := r.preferencesOf(duty)
	if len(terms) == 0 {
		return nil
	}
	return &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
		FeeRecipient: terms[0].FeeRecipient, GasLimit: terms[0].TargetGasLimit, Timestamp: time.Unix(0, 0),
		Pubkey: duty.Proposer,
	}}
}
