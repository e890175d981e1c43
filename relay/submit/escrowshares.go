package submit

import (
	"context"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// escrowShares divides the escrow's bytes among those who fill it, so that nobody's blocks drive
// out another's. What is over its share goes, the oldest first, and its bid with it; what leads, is
// being executed, or may still be asked for stays.
//
//	of three quarters of the escrow (the rest is what past slots have left):
//	a listed builder: a quarter ─ all strangers: half ─ strangers of one address: an eighth
//
// It is not safe for concurrent use; its owner guards it. With no bytes at all there is no bound.
type escrowShares struct {
	bytes   int64 // of the escrow; 0 for no bound
	least   int64 // that a sender has, however small the escrow: room for its largest blocks
	holders map[string]*holder
	held    map[relay.PayloadID]place
}

// holder is a sender of payloads.
type holder struct {
	stranger bool
	bytes    int64
	order    []relay.PayloadID // the oldest first
}

// place is what a payload takes, and of whom.
type place struct {
	sender string
	bytes  int64
}

// leastShare lets a few blocks in, with all that they may have.
const leastShare = 32 << 20

// over is the sender whose payload has to go before another one has room, empty if it has room. A
// sender above its share makes room for itself, and whoever has most does if all of a kind are
// above theirs.
func (r *escrowShares) over(sender string, stranger bool, bytes int64) string {
	if r.bytes == 0 {
		return ""
	}
	usable := r.bytes / 4 * 3
	share := max(usable/4, r.least)
	if stranger {
		share = max(usable/8, r.least)
	}
	if own := r.holders[sender]; own != nil && own.bytes+bytes > share {
		return sender
	}
	var all, strangers int64
	for _, h := range r.holders {
		all += h.bytes
		if h.stranger {
			strangers += h.bytes
		}
	}
	switch {
	case stranger && strangers+bytes > max(usable/2, r.least):
		return r.most(true)
	case all+bytes > max(usable, r.least):
		return r.most(stranger)
	}
	return ""
}

// most is who holds most, of strangers alone or of all.
func (r *escrowShares) most(strangers bool) (sender string) {
	var most int64
	for name, h := range r.holders {
		if (h.stranger || !strangers) && h.bytes > most {
			sender, most = name, h.bytes
		}
	}
	return sender
}

// mostTried bounds the search for a payload that can go: it is made while all bids wait.
const mostTried = 64

func (r *escrowShares) add(id relay.PayloadID, sender string, stranger bool, bytes int64) {
	if r.holders == nil {
		r.holders, r.held = map[string]*holder{}, map[relay.PayloadID]place{}
	}
	h := r.holders[sender]
	if h == nil {
		h = &holder{stranger: stranger}
		r.holders[sender] = h
	}
	h.bytes += bytes
	h.order = append(h.order, id)
	r.held[id] = place{sender, bytes}
}

func (r *escrowShares) remove(id relay.PayloadID) {
	p, there := r.held[id]
	if !there {
		return
	}
	delete(r.held, id)
	h := r.holders[p.sender]
	h.bytes -= p.bytes
	h.order = slices.DeleteFunc(h.order, func(other relay.PayloadID) bool { return other == id })
	if len(h.order) == 0 {
		delete(r.holders, p.sender)
	}
}

func (r *escrowShares) close(before phase0.Slot) {
	for id := range r.held {
		if id.Slot < before {
			r.remove(id)
		}
	}
}

// makeRoom takes room in the escrow for a payload, at the cost of older ones of who has too much.
func (p *Pipeline) makeRoom(ctx context.Context, s *relay.Submission, id relay.PayloadID, bytes int64) *relay.Refused {
	sender, stranger := p.Builders.Of(s.Trace.BuilderPubkey).Name, false
	if sender == "" {
		sender, stranger = "from "+s.From, true
	}
	for {
		goes, full := p.takeRoom(id, sender, stranger, bytes)
		switch {
		case full:
			return relay.SubmissionEscrowCrowded.Plain()
		case goes == nil:
			return nil
		}
		if err := p.Escrow.Drop(ctx, *goes); err != nil {
			p.trouble("drop a payload from the escrow", err)
			return relay.SubmissionEscrowDown.Plain()
		}
	}
}

// takeRoom notes a payload if there is room for it. If not, the bids of one that has to go are
// withdrawn, and it is to be dropped; full if none can go.
func (p *Pipeline) takeRoom(id relay.PayloadID, sender string, stranger bool,
	bytes int64) (goes *relay.PayloadID, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whose := p.room.over(sender, stranger, bytes)
	if whose == "" {
		p.room.add(id, sender, stranger, bytes)
		return nil, false
	}
	oldest := p.room.holders[whose].order
	for _, old := range oldest[:min(len(oldest), mostTried)] {
		if p.tryWithdraw(old) {
			p.room.remove(old)
			delete(p.escrowed, old)
			return &old, false
		}
	}
	return nil, true
}

// tryWithdraw takes the bids of a payload out of the auction, if nobody needs it: it does not lead,
// nor did lately, was not served, waits for no execution, and is not the bid in force of a builder
// that replaces its bids. The caller holds mu.
func (p *Pipeline) tryWithdraw(id relay.PayloadID) bool {
	there := p.escrowed[id]
	if !there.isKept() || p.Escrow.Needs(id) || p.optimistic.holds(id) {
		return false
	}
	trace := there.of.trace
	book := p.books.Of(relay.Key{Slot: trace.Slot, ParentHash: trace.ParentHash, Proposer: trace.Proposer})
	of := func(bid relay.Bid) bool { return bid.Builder == id.Builder && bid.BlockHash == id.BlockHash }
	if top := book.Top(); top != nil && of(*top) {
		return false
	}
	if current := book.Current(id.Builder); current != nil && of(*current) {
		return false
	}
	book.Withdraw(id.Builder, of)
	for bid := range p.prepared {
		if bid.builder == id.Builder && bid.block == id.BlockHash {
			delete(p.prepared, bid)
		}
	}
	return true
}
