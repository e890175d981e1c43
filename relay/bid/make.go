package bid

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Terms are what a slot's proposer and the chain ask of a bid.
type Terms struct {
	Slot phase0.Slot
	// Parent is what the proposer builds on: a beacon block, and its payload or the one before.
	ParentRoot phase0.Root
	ParentHash phase0.Hash32
	PrevRandao phase0.Root
	// Preferences are those of the proposer for the slot, one of each dependent root.
	Preferences []*gloas.ProposerPreferences
	// Cap is the highest payment within the payload that the proposer counts; nil if it has not said.
	Cap *phase0.Gwei
	// Builder is the relay's own index, and Active whether it may bid: its deposit is final, and it
	// does not leave.
	Builder gloas.BuilderIndex
	Active  bool
	// Stake is what it pays of the bid from its stake.
	Stake    Stake
	MaxBlobs uint64
}

// Offer is a builder's block that has passed the relay's checks.
type Offer struct {
	ParentRoot phase0.Root
	ParentHash phase0.Hash32
	BlockHash  phase0.Hash32
	PrevRandao phase0.Root
	GasLimit   uint64
	// TargetGasLimit is the proposer's target for which executing the block has found its gas limit
	// right. Only the execution knows the parent's gas limit, which no beacon node announces.
	TargetGasLimit uint64
	// Builder is who sent the block.
	Builder phase0.BLSPubKey
	// PaidWei is what the block pays to FeeRecipient.
	PaidWei      *uint256.Int
	FeeRecipient bellatrix.ExecutionAddress
	Commitments  []deneb.KZGCommitment
	RequestsRoot phase0.Root
}

// Reason says why there is no bid. It is empty if there is one.
type Reason string

// Why there is no bid. Those from NoOffer on are about the offers: the reason is that of the best
// one.
const (
	Inactive      Reason = "builder-inactive"  // the relay's builder is not staked yet, or leaves
	NoPreferences Reason = "no-preferences"    // the proposer has not said where it wants to be paid
	Contradiction Reason = "two-preferences"   // it has said two things, on two branches of the chain
	NoOffer       Reason = "no-block"          // nobody has built on this parent
	OtherTerms    Reason = "other-terms"       // another fee recipient, gas limit or RANDAO mix than asked for
	TooManyBlobs  Reason = "too-many-blobs"    // more than the slot allows
	AboveCap      Reason = "above-cap"         // all pay more within the payload than the proposer counts
	NoPayment     Reason = "less-than-a-gwei"  // it would bid nothing
	OwnParent     Reason = "hash-is-parent"    // the block is its own parent
	Immense       Reason = "more-than-64-bits" // the payment in Gwei is no number of the bid's type
)

// Make returns the bid for the best offer that keeps the terms, unsigned, and the offer; nil and
// the reason if there is none. The offers are ordered, best first.
func Make(t *Terms, offers []*Offer) (*gloas.ExecutionPayloadBid, *Offer, Reason) {
	preferences, why := t.findAgreed()
	if why != "" {
		return nil, nil, why
	}
	best := NoOffer
	for _, o := range offers {
		if o.ParentRoot != t.ParentRoot || o.ParentHash != t.ParentHash {
			continue // it is for the same beacon block with its payload or without, or for another one
		}
		value, payment, why := t.split(o, preferences)
		if why == "" {
			return &gloas.ExecutionPayloadBid{
				ParentBlockHash: t.ParentHash, ParentBlockRoot: t.ParentRoot, BlockHash: o.BlockHash, PrevRandao: t.PrevRandao,
				FeeRecipient: preferences.FeeRecipient, GasLimit: o.GasLimit, BuilderIndex: t.Builder, Slot: t.Slot,
				Value: value, ExecutionPayment: payment, BlobKZGCommitments: o.Commitments, ExecutionRequestsRoot: o.RequestsRoot,
			}, o, ""
		}
		if best == NoOffer {
			best = why
		}
	}
	return nil, nil, best
}

// findAgreed returns the proposer's preferences, if the relay's builder may bid, and those of all
// branches say the same.
func (t *Terms) findAgreed() (*gloas.ProposerPreferences, Reason) {
	if !t.Active || t.Builder == gloas.SelfBuild {
		return nil, Inactive
	}
	return Agreed(t.Preferences)
}

// split returns what an offer pays, in whole Gwei, as what the stake pays of it and what is paid
// within its payload, if it keeps the terms.
func (t *Terms) split(o *Offer, p *gloas.ProposerPreferences) (value, payment phase0.Gwei, why Reason) {
	total, fits := eth.WholeGwei(o.PaidWei) // what is less stays with the payment transaction
	switch {
	case o.FeeRecipient != p.FeeRecipient || o.TargetGasLimit != p.TargetGasLimit || o.PrevRandao != t.PrevRandao:
		return 0, 0, OtherTerms
	case o.BlockHash == t.ParentHash:
		return 0, 0, OwnParent
	case uint64(len(o.Commitments)) > t.MaxBlobs:
		return 0, 0, TooManyBlobs
	case !fits:
		return 0, 0, Immense
	case total == 0:
		return 0, 0, NoPayment
	}
	value = t.Stake.value(total)
	if t.Cap != nil && total-value > *t.Cap {
		return 0, 0, AboveCap
	}
	return value, total - value, ""
}
