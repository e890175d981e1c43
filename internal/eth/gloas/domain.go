package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Domain types of gloas (consensus-specs, specs/gloas/beacon-chain.md, "Domain types"; the last one
// of builder-specs, specs/gloas/builder.md).
var (
	DomainBeaconBuilder       = phase0.DomainType{0x0B, 0x00, 0x00, 0x00}
	DomainPTCAttester         = phase0.DomainType{0x0C, 0x00, 0x00, 0x00}
	DomainProposerPreferences = phase0.DomainType{0x0D, 0x00, 0x00, 0x00}
	DomainBuilderDeposit      = phase0.DomainType{0x0E, 0x00, 0x00, 0x00}
	DomainBuilderRequestAuth  = phase0.DomainType{0x0B, 0x00, 0x00, 0x01}
)

// BuilderDomain returns the domain of a slot's bids and envelopes.
func BuilderDomain(s *eth.Spec, slot phase0.Slot) phase0.Domain {
	return slotDomain(s, DomainBeaconBuilder, slot)
}

// CommitteeDomain returns the domain of the payload timeliness committee's votes on a slot.
func CommitteeDomain(s *eth.Spec, slot phase0.Slot) phase0.Domain {
	return slotDomain(s, DomainPTCAttester, slot)
}

// PreferencesDomain returns the domain of a proposer's preferences for a slot.
func PreferencesDomain(s *eth.Spec, slot phase0.Slot) phase0.Domain {
	return slotDomain(s, DomainProposerPreferences, slot)
}

func slotDomain(s *eth.Spec, domainType phase0.DomainType, slot phase0.Slot) phase0.Domain {
	return eth.ComputeDomain(domainType, s.ForkPointAt(s.EpochOf(slot)).Version, s.GenesisValidatorsRoot)
}

// RequestAuthDomain returns the domain of a proposer's requests to builders. In every fork it has
// the genesis fork version and a zero root.
func RequestAuthDomain(s *eth.Spec) phase0.Domain {
	return eth.ComputeDomain(DomainBuilderRequestAuth, s.GenesisForkVersion, phase0.Root{})
}

// DepositDomain returns the domain of a builder's deposit, which has the genesis fork version and a
// zero root, too.
func DepositDomain(s *eth.Spec) phase0.Domain {
	return eth.ComputeDomain(DomainBuilderDeposit, s.GenesisForkVersion, phase0.Root{})
}
