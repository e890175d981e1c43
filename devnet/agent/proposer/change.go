package proposer

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/api"
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// beaconBlock is what a change may touch.
type beaconBlock struct {
	stateRoot *phase0.Root
	graffiti  *[32]byte
}

// changed is a copy of a block that somebody has changed, signed anew by its proposer: what a
// validator must never do.
func (g *Games) changed(block *api.VersionedSignedBlindedBeaconBlock,
	change func(*beaconBlock)) (*api.VersionedSignedBlindedBeaconBlock, error) {
	other := &api.VersionedSignedBlindedBeaconBlock{Version: block.Version}
	var message interface{ HashTreeRoot() ([32]byte, error) }
	var signature *phase0.BLSSignature
	switch block.Version {
	case spec.DataVersionBellatrix:
		m, b := *block.Bellatrix.Message, *block.Bellatrix.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		other.Bellatrix = &apibellatrix.SignedBlindedBeaconBlock{Message: &m}
		message, signature = &m, &other.Bellatrix.Signature
	case spec.DataVersionCapella:
		m, b := *block.Capella.Message, *block.Capella.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		other.Capella = &apicapella.SignedBlindedBeaconBlock{Message: &m}
		message, signature = &m, &other.Capella.Signature
	case spec.DataVersionDeneb:
		m, b := *block.Deneb.Message, *block.Deneb.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		other.Deneb = &apideneb.SignedBlindedBeaconBlock{Message: &m}
		message, signature = &m, &other.Deneb.Signature
	case spec.DataVersionElectra, spec.DataVersionFulu:
		from := block.Electra
		if block.Version == spec.DataVersionFulu {
			from = block.Fulu
		}
		m, b := *from.Message, *from.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		signed := &apielectra.SignedBlindedBeaconBlock{Message: &m}
		if block.Version == spec.DataVersionFulu {
			other.Fulu = signed
		} else {
			other.Electra = signed
		}
		message, signature = &m, &signed.Signature
	default:
		return nil, fmt.Errorf("no blinded blocks in %s", block.Version)
	}
	return other, g.signAnew(other, message, signature)
}

func (g *Games) signAnew(
	block *api.VersionedSignedBlindedBeaconBlock, message interface{ HashTreeRoot() ([32]byte, error) },
	into *phase0.BLSSignature,
) error {
	root, err := message.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash changed block: %w", err)
	}
	slot, err := block.Slot()
	if err != nil {
		return fmt.Errorf("read changed block: %w", err)
	}
	index, err := block.ProposerIndex()
	if err != nil {
		return fmt.Errorf("read changed block: %w", err)
	}
	key := g.Keys[index]
	if key == nil {
		return fmt.Errorf("validator %d is not ours", index)
	}
	*into = key.Sign(eth.SigningRoot(root, g.Spec.ProposerDomain(slot)))
	return nil
}
