package submit

import (
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// checkRegistration refuses a bid that is not what the slot's proposer asks for now. A registration
// is stored before ApplyRegistration is called. So a bid either sees the new one here, or is in the
// book when ApplyRegistration looks through it. The caller holds the mutex.
func (p *Pipeline) checkRegistration(s *relay.Submission, bid *preparedBid) *relay.Refused {
	duty := p.Chain.Duty(phase0.Slot(s.Trace.Slot))
	if duty == nil || duty.Registration == nil {
		return nil
	}
	switch now := duty.Registration.Message; {
	case s.Trace.ProposerFeeRecipient != now.FeeRecipient:
		return relay.SubmissionFeeRecipient.With("got %#x, expected %#x", s.Trace.ProposerFeeRecipient[:],
			now.FeeRecipient[:])
	case exceeds(bid, now):
		return relay.SubmissionGasLimitChanged.With("%d, at most %d is asked for now", s.Trace.GasLimit, now.GasLimit)
	}
	return nil
}

// exceeds says whether a bid was made for another registered gas limit than the present one, and
// has a higher gas limit than that. A lower one is within what the proposer asks for, although a
// bid built now would have another.
func exceeds(bid *preparedBid, now *builderv1.ValidatorRegistration) bool {
	return now.GasLimit != 0 && bid.askedGas != now.GasLimit && bid.trace.GasLimit > now.GasLimit
}

// ApplyRegistration takes bids out of a proposer's auctions that are no longer what it asks for:
// those that pay another fee recipient, or exceed its gas limit. The best of the others leads at
// once. Payloads of headers that were served before are still delivered.
func (p *Pipeline) ApplyRegistration(now *builderv1.ValidatorRegistration) {
	if p.shared != nil {
		p.reregisterShared(now)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, book := range p.books.All() {
		if key.Proposer != now.Pubkey || !p.Spec.ForkAt(key.Slot).HasBlindedBlocks() {
			continue // from gloas on the proposer's preferences for the slot count
		}
		outcome := book.Exclude(func(bid relay.Bid) bool {
			known := p.prepared[idOf(&bid)]
			return bid.FeeRecipient != now.FeeRecipient || known != nil && exceeds(known, now)
		})
		p.announce(key, outcome)
	}
}
