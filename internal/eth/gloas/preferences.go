package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// ProposerPreferences are the terms on which a validator takes bids for one of its slots. They have
// taken the place of registrations.
type ProposerPreferences struct {
	// DependentRoot is the block that decided who proposes in the slot.
	DependentRoot  phase0.Root
	ProposalSlot   phase0.Slot
	ValidatorIndex phase0.ValidatorIndex
	FeeRecipient   bellatrix.ExecutionAddress
	TargetGasLimit uint64
}

// SignedProposerPreferences is signed by the validator under DomainProposerPreferences.
type SignedProposerPreferences struct {
	Message   *ProposerPreferences
	Signature phase0.BLSSignature
}

func proposerPreferencesShape() shape.Shape[ProposerPreferences] {
	type p = ProposerPreferences
	return shape.Container(
		shape.In("dependent_root", root, func(p *p) *phase0.Root { return &p.DependentRoot }),
		number("proposal_slot", func(p *p) *phase0.Slot { return &p.ProposalSlot }),
		number("validator_index", func(p *p) *phase0.ValidatorIndex { return &p.ValidatorIndex }),
		shape.In("fee_recipient", address, func(p *p) *bellatrix.ExecutionAddress { return &p.FeeRecipient }),
		number("target_gas_limit", func(p *p) *uint64 { return &p.TargetGasLimit }),
	)
}

func signedProposerPreferencesShape() shape.Shape[SignedProposerPreferences] {
	type signed = SignedProposerPreferences
	return signedShape(proposerPreferencesShape(), func(s *signed) **ProposerPreferences { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
