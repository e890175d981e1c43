package slots

import (
	"maps"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// Slots holds what was delivered, what is expected and what was paid in the slots that run. It is
// safe for concurrent use; its calls never block, except for Await. The zero value is empty and
// ready.
type Slots struct {
	mu        sync.Mutex // guards all below
	any       bool       // a payload was delivered
	last      phase0.Slot
	lastBlock phase0.Hash32
	delivered map[phase0.Hash32]phase0.Slot
	expected  map[*Expected]struct{}
	payments  map[relay.PayloadID]payment
}

// MarkDelivered notes that a block was published: submissions for its slot, and for all slots
// before it, come too late.
func (s *Slots) MarkDelivered(slot phase0.Slot, block phase0.Hash32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delivered == nil {
		s.delivered = map[phase0.Hash32]phase0.Slot{}
	}
	s.delivered[block] = slot
	s.any, s.last, s.lastBlock = true, max(s.last, slot), block
}

// Delivered says whether a slot is the newest one whose payload was published, or before it.
func (s *Slots) Delivered(slot phase0.Slot) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.any && slot <= s.last
}

// LastDelivered returns the newest slot whose payload was published; false if there is none.
func (s *Slots) LastDelivered() (phase0.Slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.any
}

// IsDelivered says whether a block was published, in a slot that Close has not forgotten, or as the
// last one of all.
func (s *Slots) IsDelivered(block phase0.Hash32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, lately := s.delivered[block]
	return lately || s.any && block == s.lastBlock
}

// Close forgets the blocks and payments of slots before the given one. It does not forget the last
// delivered slot.
func (s *Slots) Close(before phase0.Slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.delivered, func(_ phase0.Hash32, slot phase0.Slot) bool { return slot < before })
	maps.DeleteFunc(s.payments, func(id relay.PayloadID, _ payment) bool { return id.Slot < before })
}
