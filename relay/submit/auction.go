package submit

import (
	"maps"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// belowFloor says whether a bid is at or below the floor and thus not worth executing. A
// cancellable one takes back its builder's earlier bid all the same.
func (p *Pipeline) belowFloor(s *relay.Submission) (bool, *relay.Refused) {
	p.mu.Lock()
	defer p.mu.Unlock()
	book := p.books.Of(s.Key())
	if floor := book.Floor(); floor.IsZero() || s.Trace.Value.Gt(floor) {
		return false, nil
	}
	if s.Cancellable || s.Sequence > 0 {
		outcome := book.SubmitUnverified(s.Bid())
		if outcome.Result == auction.Outdated {
			return true, relay.SubmissionStale.Plain()
		}
		return true, p.announce(s.Key(), outcome)
	}
	return true, nil
}

// leads says whether a bid is the top, or would be if it counted.
func (p *Pipeline) leads(s *relay.Submission) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	top := p.books.Of(s.Key()).Top()
	if top == nil || s.Trace.Value.Gt(top.ValueWei) {
		return true
	}
	offered := s.Bid()
	return idOf(top) == idOf(&offered)
}

// enterAuction puts a bid into the book and shows the new top, if there is one. What it needs to be
// served is there: its payload is in the escrow, or awaited.
func (p *Pipeline) enterAuction(s *relay.Submission, facts *caseFacts, bid *preparedBid) *relay.Refused {
	bid.askedGas = facts.Duty.Registration.Message.GasLimit
	p.mu.Lock()
	defer p.mu.Unlock()
	// the proposer has registered anew while this one was executed
	if refused := p.checkRegistration(s, bid); refused != nil {
		return refused
	}
	if p.Deliveries.Delivered(phase0.Slot(s.Trace.Slot)) { // revealed while this one was executed
		return relay.SubmissionDelivered.Plain()
	}
	offered := s.Bid()
	id := idOf(&offered)
	if p.awaited[id] == nil && !p.escrowed[payloadOf(s.Trace)].isKept() { // has made room for others meanwhile
		return relay.SubmissionEscrowCrowded.Plain()
	}
	if before := p.prepared[id]; before == nil || !before.verified { // what is known to be valid stays known
		p.prepared[id] = bid
	}
	outcome := p.books.Of(s.Key()).Submit(offered)
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	return p.announce(s.Key(), outcome)
}

// announce publishes the top if it changed. The caller holds the mutex.
func (p *Pipeline) announce(key relay.Key, outcome auction.Outcome) *relay.Refused {
	if !outcome.Changed {
		return nil
	}
	if outcome.Top == nil {
		p.Board.Show(key, nil)
		p.Facts.Record(relay.TopChanged{At: p.Clock.Now(), Trace: relay.Trace{
			Slot: key.Slot, ParentHash: key.ParentHash, Proposer: key.Proposer, ValueWei: new(uint256.Int),
		}})
		return nil
	}
	bid := p.prepared[idOf(outcome.Top)]
	p.Board.Show(key, bid.sign(key, p.Key, p.Spec.BuilderDomain(), p.notSigned))
	p.Facts.Record(relay.TopChanged{At: p.Clock.Now(), Trace: bid.trace})
	return nil
}

// notSigned tells of a bid that leads but cannot be served.
func (p *Pipeline) notSigned(err error) { p.trouble("sign bid", err) }

// withdrawUnverified withdraws all bids of a builder that no execution has found valid, from all
// auctions, and shows what leads then.
func (p *Pipeline) withdrawUnverified(pubkeys []phase0.BLSPubKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unverified := func(bid relay.Bid) bool {
		known := p.prepared[idOf(&bid)]
		return known == nil || !known.verified
	}
	for key, book := range p.books.All() {
		for _, pubkey := range pubkeys {
			if refused := p.announce(key, book.Withdraw(pubkey, unverified)); refused != nil {
				p.trouble("show the top after a withdrawal", refused)
			}
		}
	}
}

// Close forgets the auctions of all slots before the given one, and what of theirs was still to be
// executed; a delivered block still is.
func (p *Pipeline) Close(before phase0.Slot) {
	p.mu.Lock()
	p.books.Close(before)
	for id, bid := range p.prepared {
		if bid.trace.Slot < before {
			delete(p.prepared, id)
		}
	}
	p.room.close(before)
	maps.DeleteFunc(p.payments, func(id relay.PayloadID, _ payment) bool { return id.Slot < before })
	maps.DeleteFunc(p.escrowed, func(id relay.PayloadID, _ *escrowedPayload) bool { return id.Slot < before })
	p.mu.Unlock()
	p.senders.close(before)
	p.shares.close(before)
	for _, job := range p.optimistic.close(before) {
		p.recordSimulated(job, "infrastructure", "", "the slot was over before the block could be executed", nil)
	}
}
