package registry

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// attributesKey has the parent too, because several parents may be announced for one slot when the
// chain re-organises.
type attributesKey struct {
	slot   phase0.Slot
	parent phase0.Hash32
}

// SetHead sets the chain's head and forgets attributes of slots that are over.
func (r *Registry) SetHead(head relay.Head) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spec.EpochOf(head.Slot) != r.spec.EpochOf(r.head.Slot) {
		r.version++
	}
	r.head = head
	for key := range r.attributes {
		if key.slot+1 < head.Slot {
			delete(r.attributes, key)
		}
	}
	r.forgetPreferences(head.Slot)
}

// Head returns the chain's head; the zero head before SetHead was called.
func (r *Registry) Head() relay.Head {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head
}

// SetAttributes stores announced payload attributes. A later announcement for the same parent and
// slot replaces the earlier one.
func (r *Registry) SetAttributes(attributes relay.Attributes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attributes[attributesKey{attributes.Slot, attributes.ParentHash}] = &attributes
}

// Attributes returns what a block for the slot on the parent must carry; nil if nothing was
// announced. The result must not be changed.
func (r *Registry) Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.attributes[attributesKey{slot, parent}]
}
