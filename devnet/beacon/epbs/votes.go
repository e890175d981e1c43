package epbs

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Vote is the stake of validators that have attested, in a slot, to the block of that slot. A
// validator counts once.
type Vote struct {
	Slot   phase0.Slot
	Weight phase0.Gwei
}

// count adds a vote to what its slot's payment has.
func (s *State) count(r *Rules, v Vote) {
	if at, ok := s.paymentOf(r, v.Slot); ok && s.PendingPayments[at].Withdrawal != nil {
		s.PendingPayments[at].Weight += v.Weight
	}
}

// slash voids the payment of a slot whose proposer has equivocated (consensus-specs,
// process_proposer_slashing).
func (s *State) slash(r *Rules, slot phase0.Slot) {
	if at, ok := s.paymentOf(r, slot); ok {
		s.PendingPayments[at] = gloas.BuilderPendingPayment{}
	}
}

// paymentOf returns the place of a slot's payment; false if the slot is of an epoch that is over.
func (s *State) paymentOf(r *Rules, slot phase0.Slot) (int, bool) {
	epochSlots := r.Spec.SlotsPerEpoch
	place := int(uint64(slot) % epochSlots)
	switch now, of := r.Spec.EpochOf(s.Slot), r.Spec.EpochOf(slot); of {
	case now:
		return int(epochSlots) + place, true
	case now - 1:
		return place, now > 0
	default:
		return 0, false
	}
}
