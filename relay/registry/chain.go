package registry

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// attributesKey: several parents may be announced for one slot, since the chain may re-organise.
type attributesKey struct {
	slot   phase0.Slot
	parent phase0.Hash32
}

// SetHead takes the chain's head and forgets attributes of slots that are over.
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
}

// Head is the chain's head; the zero head before the first event.
func (r *Registry) Head() relay.Head {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.head
}

// SetAttributes takes announced payload attributes. A later announcement for the same parent and
// slot replaces the earlier one.
func (r *Registry) SetAttributes(attributes relay.Attributes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attributes[attributesKey{attributes.Slot, attributes.ParentHash}] = &attributes
}

// Attributes are what a block for the slot on the parent must carry; nil if nothing was announced.
// The result must not be changed.
func (r *Registry) Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.attributes[attributesKey{slot, parent}]
}
