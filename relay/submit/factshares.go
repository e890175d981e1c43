package submit

import (
	"maps"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// keyShare is how many bids of a stranger's key are facts of a slot, and addressShare of all
// strangers of an address, whether they lead or not.
const (
	keyShare     = 256
	addressShare = 1024
)

// factShares is what strangers had of each slot. The zero value is ready.
type factShares struct {
	mu    sync.Mutex // guards slots
	slots map[phase0.Slot]*slotShare
}

type slotShare struct {
	keys      map[phase0.BLSPubKey]*keyHas
	addresses map[string]int // bids that are facts
}

// keyHas is what a key had of a slot.
type keyHas struct {
	bids int // that are facts
	// standing: a bid of it counted since it took one back.
	standing bool
}

// add takes a stranger's bid that counts, and says whether it is within the shares of its key and
// its address.
func (sh *factShares) add(s *relay.Submission) bool {
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
	key.standing = true
	if key.bids >= keyShare || s.From != "" && had.addresses[s.From] >= addressShare {
		return false
	}
	key.bids++
	had.addresses[s.From]++
	return true
}

// takeBack says whether a stranger may have taken back a bid that counted: once after each.
func (sh *factShares) takeBack(s *relay.Submission) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	had := sh.slots[phase0.Slot(s.Trace.Slot)]
	if had == nil {
		return false
	}
	key := had.keys[s.Trace.BuilderPubkey]
	if key == nil || !key.standing || key.bids >= keyShare {
		return false
	}
	key.standing = false
	return true
}

// close forgets slots before one.
func (sh *factShares) close(before phase0.Slot) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	maps.DeleteFunc(sh.slots, func(slot phase0.Slot, _ *slotShare) bool { return slot < before })
}
