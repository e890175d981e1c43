package epbs

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Advance returns the state when a slot begins, without a block. At the end of an epoch the
// payments of the epoch before it are owed if their blocks have got enough votes, and void
// otherwise (consensus-specs, process_builder_pending_payments).
func (s *State) Advance(r *Rules, to phase0.Slot) *State {
	next := s.clone()
	epochSlots := r.Spec.SlotsPerEpoch
	ended := uint64(r.Spec.EpochOf(to) - r.Spec.EpochOf(s.Slot))
	for range min(ended, 2) { // after two epochs nothing is pending any more
		for _, payment := range next.PendingPayments[:epochSlots] {
			switch {
			case payment.Withdrawal == nil:
			case payment.Weight >= r.quorum():
				next.PendingWithdrawals = append(next.PendingWithdrawals, *payment.Withdrawal)
			default:
				next.Unvoted += payment.Withdrawal.Amount
			}
		}
		payments := make([]gloas.BuilderPendingPayment, 2*epochSlots)
		copy(payments, next.PendingPayments[epochSlots:])
		next.PendingPayments = payments
	}
	next.Slot = to
	return next
}

// Parts of a slot's stake that a block needs, so that its builder pays for a payload that nobody
// has seen (BUILDER_PAYMENT_THRESHOLD_NUMERATOR and DENOMINATOR).
const (
	quorumNumerator   = 6
	quorumDenominator = 10
)

func (r *Rules) quorum() phase0.Gwei { return r.SlotStake * quorumNumerator / quorumDenominator }
