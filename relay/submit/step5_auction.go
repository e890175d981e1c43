package submit

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/slots"
)

// enterAuction puts a bid into the book and announces the new top, if there is one. What the bid
// needs to be served is there: its payload is in the escrow, or awaited.
func (p *Pipeline) enterAuction(_ context.Context, a *attempt) *relay.Refused {
	s, bid := a.submission, a.bid
	bid.askedGas = a.rules.Duty.Registration.Message.GasLimit
	p.mu.Lock()
	defer p.mu.Unlock()
	// The proposer may have registered anew, or a payload been revealed, since the rules were checked.
	if refused := p.checkRegistration(s, bid); refused != nil {
		return refused
	}
	if p.Slots.Delivered(phase0.Slot(s.Trace.Slot)) {
		return relay.SubmissionDelivered.Plain()
	}
	offered := s.Bid()
	id := idOf(&offered)
	if p.awaited[id] == nil && !p.escrowed[slots.PayloadOf(s.Trace)].isKept() { // has made room for others meanwhile
		return relay.SubmissionEscrowCrowded.Plain()
	}
	if before := p.prepared[id]; before == nil || !before.verified { // what is known to be valid stays known
		p.prepared[id] = bid
	}
	outcome := p.books.Of(s.Key()).Submit(offered)
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	p.announce(s.Key(), outcome)
	a.outcome, a.judged.EligibleAt = accepted, p.Clock.Now()
	a.judged.Verified = a.header == nil && !a.judged.Optimistic
	return nil
}

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
			p.announce(key, book.Withdraw(pubkey, unverified))
		}
	}
}
