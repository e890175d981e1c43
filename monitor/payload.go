package monitor

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// PastPayload is a slot of gloas of which it is decided whether the chain has its payload. Bids are
// not public then: what can be judged is the block, and what relays list.
type PastPayload struct {
	Slot     phase0.Slot
	Proposer phase0.BLSPubKey
	// Sold is the bid of the slot's block; nil if the slot has no block.
	Sold *Sold
	// Equivocated: a second block of the slot is known. A builder should reveal nothing then.
	Equivocated bool
	Relays      []ListingRelay
}

// Sold is a bid that the chain has.
type Sold struct {
	Builder  gloas.BuilderIndex
	Hash     phase0.Hash32
	ValueWei *uint256.Int // what it promises, from the stake and within the payload
	// Full: the next block builds on the payload.
	Full bool
}

// ListingRelay is a relay with what it lists of a slot.
type ListingRelay struct {
	Name string
	// Builder is the index under which the relay bids; nil if its key is no staked builder's.
	Builder *gloas.BuilderIndex
	// Listed is what the relay lists as delivered in the slot. ListErr says that the relay did not
	// answer; it is nil for a refusal.
	Listed  []Delivered
	ListErr error
}

// JudgePayload returns the contradictions between the chain and what relays list, and says who has
// left a payload out.
func JudgePayload(over PastPayload) []Finding {
	var found findings
	listed := false
	for _, relay := range over.Relays {
		for _, one := range relay.Listed {
			listed = listed || over.Sold != nil && one.BlockHash == over.Sold.Hash
		}
	}
	for _, relay := range over.Relays {
		of := judgeList(over.Sold, relay, listed)
		for i := range of {
			of[i].Relay = relay.Name
		}
		found = append(found, of...)
	}
	switch {
	case over.Equivocated:
		found.add(Equivocation, "the proposer has signed two blocks of the slot")
		found[len(found)-1].Proposer = &over.Proposer
	case over.Sold != nil && !over.Sold.Full:
		found = append(found, over.accuse())
	}
	return found.in(over.Slot)
}

// judgeList judges what a relay lists. listed says that some relay lists the block's payload.
func judgeList(sold *Sold, relay ListingRelay, listed bool) (found findings) {
	if relay.ListErr != nil {
		found.add(Unavailable, "list of delivered payloads: %v", relay.ListErr)
	}
	for _, one := range relay.Listed {
		switch {
		case sold == nil:
			found.add(ListedUnlanded, "%#x is listed as delivered, and the slot has no block", one.BlockHash[:])
		case one.BlockHash != sold.Hash:
			found.add(ListedUnlanded, "%#x is listed as delivered, and the block has the bid for %#x", one.BlockHash[:],
				sold.Hash[:])
		case !sold.Full:
			found.add(ListedUnlanded, "%#x is listed as delivered, and the chain goes on without it", one.BlockHash[:])
		case one.ValueWei.Lt(sold.ValueWei):
			found.add(Value, "%#x was bid for %s wei and is listed for %s", one.BlockHash[:], sold.ValueWei.Dec(),
				one.ValueWei.Dec())
		}
	}
	if sold != nil && sold.Full && relay.sells(sold) && relay.ListErr == nil && !listed {
		found.add(Unlisted, "%#x was bid and is on the chain, and nobody lists it as delivered", sold.Hash[:])
	}
	return found
}

func (r *ListingRelay) sells(sold *Sold) bool { return r.Builder != nil && *r.Builder == sold.Builder }

// accuse says who has left out the payload of the slot's block.
func (p *PastPayload) accuse() Finding {
	var found findings
	if p.Sold.Builder == gloas.SelfBuild {
		found.add(Withheld, "the block has the proposer's own payload %#x, and the chain goes on without it", p.Sold.Hash[:])
		found[0].Proposer = &p.Proposer
		return found[0]
	}
	found.add(Withheld, "the block has builder %d's bid for %#x, and the chain goes on without it", p.Sold.Builder,
		p.Sold.Hash[:])
	for _, relay := range p.Relays {
		if relay.sells(p.Sold) {
			found[0].Relay = relay.Name
			return found[0]
		}
	}
	found[0].Builder = &p.Sold.Builder
	return found[0]
}
