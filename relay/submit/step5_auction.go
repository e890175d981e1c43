package submit

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/slots"
)

// enterAuction puts a bid into the book and announces the new top, if there is one. The bid can be
// served then, because its payload is in the escrow or awaited.
func (p *Pipeline) enterAuction(ctx context.Context, a *attempt) *relay.Refused {
	s, bid := a.submission, a.bid
	bid.askedGas, bid.parentRoot = a.rules.Duty.Registration.Message.GasLimit, a.rules.Attributes.ParentRoot
	if p.shared != nil {
		return p.enterShared(ctx, a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Since the rules were checked, the proposer may have registered again, or a payload may have been
	// delivered.
	if refused := p.checkRegistration(s, bid); refused != nil {
		return refused
	}
	if p.Slots.Delivered(phase0.Slot(s.Trace.Slot)) {
		return relay.SubmissionDelivered.Plain()
	}
	offered := s.Bid()
	id := idOf(&offered)
	// dropped meanwhile, to make room for others
	if p.awaited[id] == nil && !p.escrowed[slots.PayloadOf(s.Trace)].isKept() {
		return relay.SubmissionEscrowCrowded.Plain()
	}
	if before := p.prepared[id]; before == nil || !before.verified { // a bid that is known to be valid stays so
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

// Distrust withdraws the bids of a builder that another instance has demoted, unless an execution
// here has found them valid.
func (p *Pipeline) Distrust(pubkeys []phase0.BLSPubKey) { p.withdrawUnverified(pubkeys) }

// withdrawUnverified withdraws from all auctions the bids of a builder that no execution has found
// valid, and shows the bids that lead then.
func (p *Pipeline) withdrawUnverified(pubkeys []phase0.BLSPubKey) {
	if p.shared != nil {
		p.withdrawShared(pubkeys)
		return
	}
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
