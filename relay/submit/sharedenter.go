package submit

import (
	"context"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/slots"
)

// entryOf is the entry of a submission's bid.
func entryOf(s *relay.Submission) auction.Entry {
	return auction.Entry{
		Kind: auction.BidEntered, ParentHash: s.Trace.ParentHash, Proposer: s.Trace.ProposerPubkey,
		Builder: s.Trace.BuilderPubkey, BlockHash: s.Trace.BlockHash, ValueWei: s.Trace.Value,
		FeeRecipient: s.Trace.ProposerFeeRecipient, GasLimit: s.Trace.GasLimit, ReceivedAt: s.ReceivedAt.UTC(),
		Cancellable: s.Cancellable, Sequence: s.Sequence,
	}
}

// enterShared puts a bid into the auction of all instances: it appends the bid to the slot's log,
// and returns when the bid is applied here. Its payload is in the escrow before, or awaited by all.
func (p *Pipeline) enterShared(ctx context.Context, a *attempt) *relay.Refused {
	s := a.submission
	entry := entryOf(s)
	entry.AskedGas, entry.Verified = a.bid.askedGas, a.bid.verified
	if refused := p.mayEnter(a, &entry); refused != nil {
		return refused
	}
	var err error
	if entry.Offer, err = encodeOffer(s, a.bid); err != nil {
		return relay.Malformed.With("%v", err)
	}
	applied, refused := p.append(ctx, phase0.Slot(s.Trace.Slot), entry, a.bid)
	if refused != nil {
		return refused
	}
	if !applied.Entered {
		return p.notEntered(a, applied.Why)
	}
	a.outcome, a.judged.EligibleAt = accepted, p.Clock.Now()
	a.judged.Verified = a.header == nil && !a.judged.Optimistic
	return nil
}

// mayEnter refuses a bid that cannot be served here, and notes where its payload is.
func (p *Pipeline) mayEnter(a *attempt, entry *auction.Entry) *relay.Refused {
	s := a.submission
	slot := phase0.Slot(s.Trace.Slot)
	p.mu.Lock()
	defer p.mu.Unlock()
	if refused := p.checkRegistration(s, a.bid); refused != nil {
		return refused
	}
	if p.Slots.Delivered(slot) {
		return relay.SubmissionDelivered.Plain()
	}
	offered := s.Bid()
	switch {
	case p.awaited[idOf(&offered)] != nil:
		entry.Awaited = true
	case !p.escrowed[slots.PayloadOf(s.Trace)].isKept():
		return relay.SubmissionEscrowCrowded.Plain()
	}
	if board := p.shared.boards.Board(slot); board != nil {
		entry.Seen = board.Applied()
	}
	return nil
}

// notEntered is the answer to a bid that is in the log and not in the auction.
func (p *Pipeline) notEntered(a *attempt, why auction.NotEntered) *relay.Refused {
	switch why {
	case auction.WasOutdated:
		return relay.SubmissionStale.Plain()
	case auction.WasTooLate:
		return relay.SubmissionDelivered.Plain()
	case auction.WasUnfit:
		return relay.SubmissionFeeRecipient.With("the proposer has registered again")
	case auction.WasDropped:
		return relay.SubmissionEscrowCrowded.Plain()
	case auction.WasDistrusted:
		if a.header != nil {
			return relay.HeaderNotTrusted.Plain()
		}
		a.distrusted = true // Submit executes the block first
		return nil
	}
	return relay.Internal.Plain()
}

// replaceShared puts a bid at or below the floor into the auction of all instances: it only takes
// back its builder's earlier bid.
func (p *Pipeline) replaceShared(ctx context.Context, s *relay.Submission) *relay.Refused {
	entry := entryOf(s)
	entry.Uncounted = true
	applied, refused := p.append(ctx, phase0.Slot(s.Trace.Slot), entry, nil)
	switch {
	case refused != nil:
		return refused
	case applied.Why == auction.WasTooLate:
		return relay.SubmissionDelivered.Plain()
	case !applied.Entered:
		return relay.SubmissionStale.Plain()
	}
	return nil
}

// isDistrusted says whether the log of a slot has withdrawn a builder: its bids do not enter before
// their blocks are executed.
func (p *Pipeline) isDistrusted(slot phase0.Slot, builder phase0.BLSPubKey) bool {
	if p.shared == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	board := p.shared.boards.Board(slot)
	return board != nil && board.Withdrawn(builder)
}

// withdrawShared withdraws a builder's bids that no execution has found valid from the auctions of
// all instances. It does not wait.
func (p *Pipeline) withdrawShared(pubkeys []phase0.BLSPubKey) {
	go func() {
		for _, slot := range p.openSlots() {
			for _, pubkey := range pubkeys {
				if !p.isDistrusted(slot, pubkey) {
					p.tell(slot, auction.Entry{Kind: auction.BuilderWithdrawn, Builder: pubkey})
				}
			}
		}
	}()
}

// reregisterShared takes bids that a proposer no longer asks for out of the auctions of all
// instances. It does not wait, since the caller may hold what the reading of the log needs.
func (p *Pipeline) reregisterShared(now *builderv1.ValidatorRegistration) {
	go func() {
		for _, slot := range p.openSlots() {
			if duty := p.Chain.Duty(slot); duty != nil && duty.Proposer == now.Pubkey {
				p.tell(slot, auction.Entry{
					Kind: auction.ProposerReregistered, Proposer: now.Pubkey, FeeRecipient: now.FeeRecipient,
					GasLimit: now.GasLimit, RegisteredAt: now.Timestamp.UTC(),
				})
			}
		}
	}()
}

// tellVerified tells all instances that an execution has found a bid valid. It does not wait.
func (p *Pipeline) tellVerified(t *relay.BidTrace) {
	go p.tell(phase0.Slot(t.Slot), auction.Entry{
		Kind: auction.BidVerified, ParentHash: t.ParentHash, Proposer: t.ProposerPubkey, Builder: t.BuilderPubkey,
		BlockHash: t.BlockHash, ValueWei: t.Value, FeeRecipient: t.ProposerFeeRecipient,
	})
}

// SlotDelivered tells all instances that a payload of a slot was delivered here, so that no bid
// enters any more. It does not wait.
func (p *Pipeline) SlotDelivered(slot phase0.Slot) {
	if p.shared != nil {
		go p.tell(slot, auction.Entry{Kind: auction.SlotDelivered})
	}
}

// dropShared takes a block's bids out of the auctions of all instances, because the escrow has no
// room for its payload. It returns false if the block is needed there.
func (p *Pipeline) dropShared(ctx context.Context, id relay.PayloadID, trace relay.Trace) (bool, *relay.Refused) {
	applied, refused := p.append(ctx, id.Slot, auction.Entry{
		Kind: auction.BlockDropped, ParentHash: trace.ParentHash, Proposer: trace.Proposer, Builder: id.Builder,
		BlockHash: id.BlockHash,
	}, nil)
	return applied.Dropped, refused
}

// tellArrived tells all instances that the payload of headers is here: in the escrow, with what it
// makes of the bids; or, if bid is nil, as the payload of none of them. The builder is answered
// when all can know.
func (p *Pipeline) tellArrived(ctx context.Context, s *relay.Submission, bid *preparedBid) *relay.Refused {
	entry := auction.Entry{Kind: auction.PayloadArrived, Builder: s.Trace.BuilderPubkey, BlockHash: s.Trace.BlockHash}
	if bid != nil {
		var err error
		if entry.Offer, err = encodeOffer(s, bid); err != nil {
			return relay.Malformed.With("%v", err)
		}
	}
	slot := phase0.Slot(s.Trace.Slot)
	_, refused := p.append(ctx, slot, entry, nil)
	if refused != nil {
		go p.tell(slot, entry)
	}
	return refused
}

// settleLate finds out by the log whether a payload has come in time anywhere, and demotes the
// builder if it has not.
func (p *Pipeline) settleLate(ctx context.Context, a *awaitedPayload) {
	s := a.job.rules.Submission
	entry := entryOf(s)
	entry.Kind = auction.PayloadLate
	applied, told := p.tell(a.job.slot(), entry)
	switch {
	case applied.late != nil:
		p.demoteLate(ctx, a)
	case !told:
		p.endWait(a) // it is not known whether the payload is anywhere
	}
}

// watchElsewhere settles whether the payload of a header that another instance has taken is late,
// if that one does not.
func (p *Pipeline) watchElsewhere(a *awaitedPayload, at time.Time) {
	if p.waitLate(context.Background(), a, at) {
		p.settleLate(context.Background(), a)
	}
}

// demoteMismatch demotes the builder of a header whose payload another instance has put into the
// escrow, and which is not its payload.
func (p *Pipeline) demoteMismatch(a *awaitedPayload, difference string) {
	ctx := context.Background()
	contents, err := p.Escrow.Get(ctx, a.job.payload())
	if err != nil {
		p.reportFailure("read the payload of a header", err)
	}
	p.demote(ctx, a.job, relay.DemotedMismatch, difference, contents)
}
