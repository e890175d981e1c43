package epbs

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// builderFlag marks a builder's index in the place of a validator's (BUILDER_INDEX_FLAG).
const builderFlag = 1 << 40

// maxSweep is how many builders are looked at for one payload (MAX_BUILDERS_PER_WITHDRAWALS_SWEEP).
const maxSweep = 16384

// withdraw computes what the next payload must have and takes it from the builders' balances
// (consensus-specs, process_withdrawals): what builders owe first, then what is left to builders
// who have gone, then what validators get, who always have room for one.
func (s *State) withdraw(r *Rules) {
	list := make([]*capella.Withdrawal, 0, gloas.MaxWithdrawals)
	add := func(builder int, to bellatrix.ExecutionAddress, amount phase0.Gwei) {
		list = append(list, &capella.Withdrawal{
			Index:          capella.WithdrawalIndex(s.NextWithdrawal + uint64(len(list))),
			ValidatorIndex: phase0.ValidatorIndex(builderFlag | uint64(builder)), Address: to, Amount: amount,
		})
		s.Builders[builder].Balance -= amount
	}
	paid := min(len(s.PendingWithdrawals), gloas.MaxWithdrawals-1)
	for _, w := range s.PendingWithdrawals[:paid] {
		add(int(w.BuilderIndex), w.FeeRecipient, w.Amount)
	}
	s.PendingWithdrawals = slices.Clone(s.PendingWithdrawals[paid:])
	for range min(len(s.Builders), maxSweep) {
		if len(list) == gloas.MaxWithdrawals-1 {
			break
		}
		b := s.Builders[s.NextBuilder]
		if b.WithdrawableEpoch <= r.Spec.EpochOf(s.Slot) && b.Balance > 0 {
			add(s.NextBuilder, b.ExecutionAddress, b.Balance)
		}
		s.NextBuilder = (s.NextBuilder + 1) % len(s.Builders)
	}
	validators := r.ValidatorWithdrawals(s.NextWithdrawal + uint64(len(list)))
	list = append(list, validators[:min(len(validators), gloas.MaxWithdrawals-len(list))]...)
	s.ExpectedWithdrawals = list
	s.NextWithdrawal += uint64(len(list))
}

// InPayload is what the payload of the newest block must withdraw from builders' balances to pay
// for bids.
func (s *State) InPayload() (sum phase0.Gwei) {
	for _, w := range s.ExpectedWithdrawals {
		if index, ok := BuilderOf(w); ok && s.Builders[index].WithdrawableEpoch == gloas.FarFuture {
			sum += w.Amount
		}
	}
	return sum
}

// BuilderOf returns the builder from whose balance a withdrawal is; false for a validator's.
func BuilderOf(w *capella.Withdrawal) (gloas.BuilderIndex, bool) {
	index := uint64(w.ValidatorIndex)
	return gloas.BuilderIndex(index &^ builderFlag), index&builderFlag != 0
}

// Withdrawals returns what a payload for a slot must have, on the FULL or on the EMPTY parent, and
// the requests of the parent's payload. The state is that after the parent's block.
func (s *State) Withdrawals(r *Rules, slot phase0.Slot, full bool,
	requests *gloas.ExecutionRequests) []*capella.Withdrawal {
	if !full {
		return s.ExpectedWithdrawals
	}
	next := s.Advance(r, slot)
	next.requests(r, requests)
	next.settle(r)
	next.withdraw(r)
	return next.ExpectedWithdrawals
}
