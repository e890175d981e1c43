package epbs

import (
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Rules are what is the same for all states of a network.
type Rules struct {
	Spec *eth.Spec
	// SlotStake is the stake of one slot's committees: an epoch's effective balance divided by its
	// slots.
	SlotStake phase0.Gwei
	// ValidatorWithdrawals returns what validators withdraw in one payload, with indices from next on.
	ValidatorWithdrawals func(next uint64) []*capella.Withdrawal
}

// State is what gloas adds to the state after a block. It is immutable: Advance and Block return
// another one.
type State struct {
	Slot     phase0.Slot
	Builders []gloas.Builder
	// PendingPayments are what bids of two epochs have promised, by slot: the epoch before first, then
	// the present one. Payments without a withdrawal are empty.
	PendingPayments []gloas.BuilderPendingPayment
	// PendingWithdrawals are owed, and go into the next payloads.
	PendingWithdrawals []gloas.BuilderPendingWithdrawal
	// LatestBid is the bid of the newest block, whether its payload was revealed or not.
	LatestBid gloas.ExecutionPayloadBid
	// LatestBlockHash is the newest payload that a block has built on.
	LatestBlockHash phase0.Hash32
	// ExpectedWithdrawals are what the payload of the newest block must have. They stay until a
	// payload is revealed.
	ExpectedWithdrawals []*capella.Withdrawal
	// NextWithdrawal is the index of the next withdrawal.
	NextWithdrawal uint64
	// Unvoted is what bids have promised whose blocks got too few votes; nobody is paid for that.
	Unvoted phase0.Gwei
	// NextBuilder is where the sweep over builders who have left goes on.
	NextBuilder int
}

// First returns the state at the fork: the newest payload of the fork before counts as revealed by
// its proposer. Builders may be there from the beginning.
func First(r *Rules, slot phase0.Slot, newest phase0.Hash32, nextWithdrawal uint64, builders []gloas.Builder) (*State,
	error) {
	root, err := gloas.Mainnet.ExecutionRequests.Root(new(gloas.ExecutionRequests))
	if err != nil {
		return nil, fmt.Errorf("hash empty requests: %w", err)
	}
	return &State{
		Slot: slot, Builders: slices.Clone(builders),
		PendingPayments: make([]gloas.BuilderPendingPayment, 2*r.Spec.SlotsPerEpoch),
		LatestBid: gloas.ExecutionPayloadBid{
			BlockHash: newest, BuilderIndex: gloas.SelfBuild, Slot: slot, ExecutionRequestsRoot: root,
		},
		LatestBlockHash: newest, NextWithdrawal: nextWithdrawal,
	}, nil
}

func (s *State) clone() *State {
	other := *s
	other.Builders = slices.Clone(s.Builders)
	other.PendingPayments = slices.Clone(s.PendingPayments)
	other.PendingWithdrawals = slices.Clone(s.PendingWithdrawals)
	return &other
}

// Block is what a beacon block means for builders and payloads. Its proposer and signature have
// been verified.
type Block struct {
	Slot       phase0.Slot
	Proposer   phase0.ValidatorIndex
	ParentRoot phase0.Root
	PrevRandao phase0.Root
	Bid        *gloas.SignedExecutionPayloadBid
	// ParentRequests are those of the parent's payload, if the block builds on it.
	ParentRequests *gloas.ExecutionRequests
	// Votes are of committees for the block of their own slot; Slashed are slots whose proposers this
	// block slashes.
	Votes   []Vote
	Slashed []phase0.Slot
	// FinalEpoch is the newest final epoch.
	FinalEpoch phase0.Epoch
}

// BrokenError says which rule a block breaks, and how.
type BrokenError struct{ Rule, Detail string }

func (e *BrokenError) Error() string { return fmt.Sprintf("%s: %s", e.Rule, e.Detail) }

func broken(rule, format string, args ...any) error {
	return &BrokenError{rule, fmt.Sprintf(format, args...)}
}

// Block applies a block to the state after its parent. An error wraps a BrokenError if the block
// breaks a rule.
func (s *State) Block(r *Rules, b *Block) (*State, error) {
	if b.Slot <= s.Slot {
		return nil, broken("slot", "slot %d is not after its parent's %d", b.Slot, s.Slot)
	}
	next := s.Advance(r, b.Slot)
	if err := next.parentPayload(r, b); err != nil {
		return nil, err
	}
	if next.parentIsFull() {
		next.withdraw(r)
	}
	if err := next.bid(r, b); err != nil {
		return nil, err
	}
	for _, slot := range b.Slashed {
		next.slash(r, slot)
	}
	for _, vote := range b.Votes {
		next.count(r, vote)
	}
	return next, nil
}

// Full says whether a bid builds on the payload of the state's newest block (FULL), or leaves it
// out (EMPTY).
func (s *State) Full(bid *gloas.ExecutionPayloadBid) bool {
	return bid.ParentBlockHash == s.LatestBid.BlockHash
}

// parentIsFull is Full once the parent's payload has been applied.
func (s *State) parentIsFull() bool { return s.LatestBlockHash == s.LatestBid.BlockHash }
