package submit

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// payment is what executions of a builder's block have found that it pays a fee recipient. It is a
// lower bound: nodes by URL say no more than that a promise is kept, and a recipient that spends in
// the block itself is judged by the last transaction. So a bid above it is executed at its own
// value, and a bid at or below it is proven without another execution.
type payment struct {
	recipient relay.FeeRecipient
	// paidWei is nil if no execution has said.
	paidWei *uint256.Int
	// valid: a block that breaks another rule proves nothing, whatever it pays.
	valid bool
}

// notePaid keeps what a valid block was found to pay the recipient of a message: what it
// promises, if the execution does not say.
func (p *Pipeline) notePaid(t *relay.BidTrace, paidWei *uint256.Int) {
	if paidWei == nil || paidWei.Lt(t.Value) {
		paidWei = t.Value
	}
	p.notePayment(t, paidWei, true)
}

// noteShortfall keeps what a block was found to pay that pays less than it promises.
func (p *Pipeline) noteShortfall(t *relay.BidTrace, paidWei *uint256.Int) {
	if paidWei != nil {
		p.notePayment(t, paidWei, false)
	}
}

func (p *Pipeline) notePayment(t *relay.BidTrace, paidWei *uint256.Int, valid bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := payloadOf(t)
	known, any := p.payments[id]
	switch {
	case !any, known.recipient != t.ProposerFeeRecipient: // it registered anew: the last one counts
		known = payment{recipient: t.ProposerFeeRecipient, paidWei: paidWei, valid: valid}
	default:
		known.valid = known.valid || valid
		if paidWei.Gt(known.paidWei) {
			known.paidWei = paidWei
		}
	}
	p.payments[id] = known
}

// provenPayment is what the block of a message pays, if that is proven and at least what the
// message promises; else nil.
func (p *Pipeline) provenPayment(t *relay.BidTrace) *uint256.Int {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, any := p.payments[payloadOf(t)]
	if !any || !known.valid || known.recipient != t.ProposerFeeRecipient || t.Value.Gt(known.paidWei) {
		return nil
	}
	return known.paidWei
}

// payloadOf is the escrow's key of a message's payload.
func payloadOf(t *relay.BidTrace) relay.PayloadID {
	return relay.PayloadID{Slot: phase0.Slot(t.Slot), BlockHash: t.BlockHash, Builder: t.BuilderPubkey}
}

// paid is what executions have found that a payload pays; nil if none has.
func (p *Pipeline) paid(id relay.PayloadID) *uint256.Int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.payments[id].paidWei
}

// Paid is what executions have found that a builder's block pays its proposer, at least; nil if
// nothing is known.
func (p *Pipeline) Paid(slot phase0.Slot, block phase0.Hash32, builder phase0.BLSPubKey) *uint256.Int {
	return p.paid(relay.PayloadID{Slot: slot, BlockHash: block, Builder: builder})
}

// provePayment keeps what the simulated block pays. It comes after the escrow: only then it is this
// very payload that the escrow has.
func (p *Pipeline) provePayment(_ context.Context, a *attempt) *relay.Refused {
	p.notePaid(a.submission.Trace, a.paidWei)
	a.bid.verified = true
	return nil
}

// queueSimulation has a bid simulated that counts already.
func (p *Pipeline) queueSimulation(_ context.Context, a *attempt) *relay.Refused {
	p.queueJob(jobOf(a.submission, a.rules, p.Clock.Now()))
	return nil
}

// queueJob has a bid simulated at the value that it was shown with. One above what its block was
// found to pay comes first.
func (p *Pipeline) queueJob(job *optimisticJob) {
	if paid := p.paid(job.payload()); paid != nil && job.rules.Submission.Trace.Value.Gt(paid) {
		job.abovePaid = true
	}
	p.optimistic.add(job)
}
