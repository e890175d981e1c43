package submit

import (
	"context"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// escrowShares divides the escrow's bytes among the senders, so that one sender's blocks do not
// push out another's. A sender above its share loses its oldest payloads, and their bids with them.
// A payload stays if it leads, is being executed, or may still be asked for.
//
//	of three quarters of the escrow (the rest still holds payloads of past slots):
//	a listed builder: a quarter ─ all strangers: half ─ strangers of one address: an eighth
//
// It is not safe for concurrent use; its owner guards it.
type escrowShares struct {
	bytes   int64 // of the escrow; 0 for no bound
	least   int64 // the least share of a sender, however small the escrow is
	holders map[string]*holder
	held    map[relay.PayloadID]heldPayload
}

// holder is a sender of payloads.
type holder struct {
	stranger bool
	bytes    int64
	order    []relay.PayloadID // the oldest first
}

// heldPayload is how many bytes a payload takes, and of which sender's share.
type heldPayload struct {
	sender string
	bytes  int64
}

// leastShare has room for a few blocks of the largest size.
const leastShare = 32 << 20

// over returns the sender who must lose a payload before a new one has room; empty if it has room
// already. A sender above its share loses its own. If all strangers together, or all senders, are
// above their share, the one that holds most loses one.
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

// most returns the sender that holds most bytes, among strangers or among all.
func (r *escrowShares) most(strangers bool) (sender string) {
	var most int64
	for name, h := range r.holders {
		if (h.stranger || !strangers) && h.bytes > most {
			sender, most = name, h.bytes
		}
	}
	return sender
}

// mostTried bounds the search for a payload that can go. The search holds the pipeline's mutex, so
// all bids wait for it.
const mostTried = 64

func (r *escrowShares) add(id relay.PayloadID, sender string, stranger bool, bytes int64) {
	if r.holders == nil {
		r.holders, r.held = map[string]*holder{}, map[relay.PayloadID]heldPayload{}
	}
	h := r.holders[sender]
	if h == nil {
		h = &holder{stranger: stranger}
		r.holders[sender] = h
	}
	h.bytes += bytes
	h.order = append(h.order, id)
	r.held[id] = heldPayload{sender, bytes}
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

// makeRoom reserves room in the escrow for a payload. If there is none, it drops older payloads of
// the sender that is above its share.
func (p *Pipeline) makeRoom(ctx context.Context, s *relay.Submission, id relay.PayloadID, bytes int64) *relay.Refused {
	sender, stranger := p.Builders.Of(s.Trace.BuilderPubkey).Name, false
	if sender == "" {
		sender, stranger = "from "+s.From, true
	}
	for {
		goes, full := p.tryReserve(id, sender, stranger, bytes)
		switch {
		case full:
			return relay.SubmissionEscrowCrowded.Plain()
		case goes == nil:
			return nil
		}
		if p.shared != nil {
			dropped, refused := p.dropShared(ctx, goes.PayloadID, goes.trace)
			if refused != nil {
				return refused
			}
			if !dropped {
				continue // it leads meanwhile
			}
		}
		if err := p.Escrow.Drop(ctx, goes.PayloadID); err != nil {
			p.reportFailure("drop a payload from the escrow", err)
			return relay.SubmissionEscrowDown.Plain()
		}
	}
}

// tryReserve notes a payload if there is room for it. If not, it withdraws the bids of an older
// payload and returns that one, which the caller must drop. full says that no payload can go.
func (p *Pipeline) tryReserve(id relay.PayloadID, sender string, stranger bool,
	bytes int64) (goes *droppable, full bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	whose := p.escrowShares.over(sender, stranger, bytes)
	if whose == "" {
		p.escrowShares.add(id, sender, stranger, bytes)
		return nil, false
	}
	oldest := p.escrowShares.holders[whose].order
	for _, old := range oldest[:min(len(oldest), mostTried)] {
		if !p.mayDrop(old) {
			continue
		}
		goes := &droppable{old, p.escrowed[old].of.trace}
		if p.shared == nil {
			p.bookOf(goes.trace).Withdraw(old.Builder, func(bid relay.Bid) bool { return isOf(bid, old) })
			p.forgetBlock(old)
		}
		return goes, false
	}
	return nil, true
}

// droppable is a payload that can go, and a bid of it.
type droppable struct {
	relay.PayloadID
	trace relay.Trace
}

// isOf says whether a bid is for the block of a payload.
func isOf(bid relay.Bid, id relay.PayloadID) bool {
	return bid.Builder == id.Builder && bid.BlockHash == id.BlockHash
}

// bookOf is the book of the auction that a bid is in. The caller holds mu.
func (p *Pipeline) bookOf(trace relay.Trace) *auction.Book {
	return p.book(relay.Key{Slot: trace.Slot, ParentHash: trace.ParentHash, Proposer: trace.Proposer})
}

// mayDrop says whether a payload can go. It stays if it leads, led lately, was served, waits for
// its execution, or makes the current bid of a builder that replaces its bids. The caller holds mu.
func (p *Pipeline) mayDrop(id relay.PayloadID) bool {
	there := p.escrowed[id]
	if !there.isKept() || p.Escrow.Needs(id) || p.optimistic.holds(id) {
		return false
	}
	book := p.bookOf(there.of.trace)
	if top := book.Top(); top != nil && isOf(*top, id) {
		return false
	}
	current := book.Current(id.Builder)
	return current == nil || !isOf(*current, id)
}

// forgetBlock forgets a block whose payload is dropped. The caller holds mu.
func (p *Pipeline) forgetBlock(id relay.PayloadID) {
	delete(p.escrowed, id)
	p.escrowShares.remove(id)
	for bid := range p.prepared {
		if bid.builder == id.Builder && bid.block == id.BlockHash {
			delete(p.prepared, bid)
		}
	}
}
