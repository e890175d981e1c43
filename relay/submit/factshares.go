package submit

import (
	"maps"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// keyShare is how many bids of one stranger's key become facts in a slot, even if they never lead.
// addressShare is the same for all strangers of one address together.
const (
	keyShare     = 256
	addressShare = 1024
)

// factShares counts the facts that strangers have used of each slot's shares. The zero value is
// ready.
type factShares struct {
	mu    sync.Mutex // guards slots
	slots map[phase0.Slot]*slotShare
}

type slotShare struct {
	keys      map[phase0.BLSPubKey]*keyHas
	addresses map[string]int // bids that are facts
}

// keyHas is what a key has used of its share of a slot.
type keyHas struct {
	bids int // that are facts
	// standing: a bid of the key has counted since it last took one back.
	standing bool
}

// add counts a stranger's bid that is in the auction. It says whether the bid is within the shares
// of its key and its address.
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

// takeBack says whether a stranger may have taken back a bid that counted. It is true at most once
// after each bid.
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

// close forgets the slots before one.
func (sh *factShares) close(before phase0.Slot) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	maps.DeleteFunc(sh.slots, func(slot phase0.Slot, _ *slotShare) bool { return slot < before })
}
