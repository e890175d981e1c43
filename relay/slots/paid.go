package slots

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// payment is what executions of a builder's block have found that it pays a fee recipient. It is a
// lower bound, for two reasons: nodes by URL say only that a promise is kept; and if the recipient
// spends in the block itself, the last transaction alone is counted. So a bid above it is executed
// at its own value, and a bid at or below it is proven without another execution.
type payment struct {
	recipient relay.FeeRecipient
	// paidWei is nil if no execution has found it.
	paidWei *uint256.Int
	// valid: a block that breaks another rule proves nothing, whatever it pays.
	valid bool
}

// NotePaid keeps what a valid block was found to pay the recipient of a message. If the execution
// has not found the amount, that is what the message promises.
func (s *Slots) NotePaid(t *relay.BidTrace, paidWei *uint256.Int) {
	if paidWei == nil || paidWei.Lt(t.Value) {
		paidWei = t.Value
	}
	s.notePayment(t, paidWei, true)
}

// NoteShortfall keeps what an invalid block was found to pay, such as one that pays less than it
// promises.
func (s *Slots) NoteShortfall(t *relay.BidTrace, paidWei *uint256.Int) {
	if paidWei != nil {
		s.notePayment(t, paidWei, false)
	}
}

func (s *Slots) notePayment(t *relay.BidTrace, paidWei *uint256.Int, valid bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := PayloadOf(t)
	known, any := s.payments[id]
	switch {
	case !any, known.recipient != t.ProposerFeeRecipient: // the proposer registered again: the last recipient counts
		known = payment{recipient: t.ProposerFeeRecipient, paidWei: paidWei, valid: valid}
	default:
		known.valid = known.valid || valid
		if paidWei.Gt(known.paidWei) {
			known.paidWei = paidWei
		}
	}
	if s.payments == nil {
		s.payments = map[relay.PayloadID]payment{}
	}
	s.payments[id] = known
}

// ProvenPayment returns what the block of a message pays, if that is proven and at least what the
// message promises; otherwise nil.
func (s *Slots) ProvenPayment(t *relay.BidTrace) *uint256.Int {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, any := s.payments[PayloadOf(t)]
	if !any || !known.valid || known.recipient != t.ProposerFeeRecipient || t.Value.Gt(known.paidWei) {
		return nil
	}
	return known.paidWei
}

// PayloadOf is the escrow's key of a message's payload.
func PayloadOf(t *relay.BidTrace) relay.PayloadID {
	return relay.PayloadID{Slot: phase0.Slot(t.Slot), BlockHash: t.BlockHash, Builder: t.BuilderPubkey}
}

// Paid returns the least that a payload pays its proposer, as executions have found; nil if nothing
// is known.
func (s *Slots) Paid(id relay.PayloadID) *uint256.Int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.payments[id].paidWei
}
