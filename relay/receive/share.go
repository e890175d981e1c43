package receive

import (
	"maps"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// keyShare is how many bids of a stranger's key count in a slot, and addressShare of all strangers of an address. Each is a fact or two for good. Who
// needs more asks for an API key.
const (
	keyShare     = 256
	addressShare = 1024
)

// shares is what strangers had of each slot. The zero value is ready.
type shares struct {
	mu    sync.Mutex // guards slots
	slots map[phase0.Slot]*slotShare
}

type slotShare struct {
	keys      map[phase0.BLSPubKey]*keyHas
	addresses map[string]int // bids that counted
}

// keyHas is what a key had of a slot.
type keyHas struct {
	bids int
	// standing: a bid of it counted since it took one back.
	standing bool
}

// isStranger says whether nobody answers for a builder: the operator has not listed it, and no API key came with what it sent.
func (d *Desk) isStranger(s *relay.Submission) bool {
	return !s.Identified && d.Builders.Of(s.Trace.BuilderPubkey).Name == ""
}

// full says whether a stranger has had its share.
func (sh *shares) full(s *relay.Submission) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	had := sh.slots[phase0.Slot(s.Trace.Slot)]
	if had == nil {
		return false
	}
	key := had.keys[s.Trace.BuilderPubkey]
	return key != nil && key.bids >= keyShare || s.From != "" && had.addresses[s.From] >= addressShare
}

// add counts a stranger's bid that counts. Those that were being executed at the time may be beyond the share.
func (sh *shares) add(s *relay.Submission) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	slot := phase0.Slot(s.Trace.Slot)
	had := sh.slots[slot]
	if had == nil {
		had = &slotShare{keys: map[phase0.BLSPubKey]*keyHas{}, addresses: map[string]int{}}
		if sh.slots == nil {
			sh.slots = map[phase0.Slot]*slotShare{}
		}
		sh.slots[slot] = had
	}
	key := had.keys[s.Trace.BuilderPubkey]
	if key == nil {
		key = &keyHas{}
		had.keys[s.Trace.BuilderPubkey] = key
	}
	key.bids, key.standing = key.bids+1, true
	had.addresses[s.From]++
}

// takeBack says whether a stranger may have taken back a bid that counted: once after each.
func (sh *shares) takeBack(s *relay.Submission) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	had := sh.slots[phase0.Slot(s.Trace.Slot)]
	if had == nil {
		return false
	}
	key := had.keys[s.Trace.BuilderPubkey]
	if key == nil || !key.standing {
		return false
	}
	key.standing = false
	return true
}

// close forgets slots before one.
func (sh *shares) close(before phase0.Slot) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	maps.DeleteFunc(sh.slots, func(slot phase0.Slot, _ *slotShare) bool { return slot < before })
}
