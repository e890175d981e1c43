package eth

import (
	"crypto/sha256"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Domain types that builders and proposers sign under (consensus-specs "Domain types",
// builder-specs "Domain types").
var (
	DomainBeaconProposer     = phase0.DomainType{0x00, 0x00, 0x00, 0x00}
	DomainRandao             = phase0.DomainType{0x02, 0x00, 0x00, 0x00}
	DomainApplicationBuilder = phase0.DomainType{0x00, 0x00, 0x00, 0x01}
)

// ComputeDomain combines a domain type with the fork data (consensus-specs compute_domain).
func ComputeDomain(domainType phase0.DomainType, version phase0.Version,
	genesisValidatorsRoot phase0.Root) phase0.Domain {
	// hash_tree_root(ForkData) is the hash of two 32-byte chunks: the padded version and the root.
	var chunks [64]byte
	copy(chunks[:4], version[:])
	copy(chunks[32:], genesisValidatorsRoot[:])
	root := sha256.Sum256(chunks[:])

	var domain phase0.Domain
	copy(domain[:4], domainType[:])
	copy(domain[4:], root[:28])
	return domain
}

// SigningRoot returns the root that is signed: the object's root under a domain (consensus-specs
// compute_signing_root).
func SigningRoot(object phase0.Root, domain phase0.Domain) phase0.Root {
	var chunks [64]byte
	copy(chunks[:32], object[:])
	copy(chunks[32:], domain[:])
	return sha256.Sum256(chunks[:])
}

// BuilderDomain returns the domain of registrations, bids and bid traces. In every fork it has the
// genesis fork version and a zero root (builder-specs "Signing").
func (s *Spec) BuilderDomain() phase0.Domain {
	return ComputeDomain(DomainApplicationBuilder, s.GenesisForkVersion, phase0.Root{})
}

// ProposerDomain returns the domain of a beacon block's signature, blinded or not.
func (s *Spec) ProposerDomain(slot phase0.Slot) phase0.Domain {
	return ComputeDomain(DomainBeaconProposer, s.ForkPointAt(s.EpochOf(slot)).Version, s.GenesisValidatorsRoot)
}

// RandaoDomain returns the domain under which a proposer signs its epoch to reveal randomness.
func (s *Spec) RandaoDomain(epoch phase0.Epoch) phase0.Domain {
	return ComputeDomain(DomainRandao, s.ForkPointAt(epoch).Version, s.GenesisValidatorsRoot)
}
