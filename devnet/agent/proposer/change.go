package proposer

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/api"
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// beaconBlock has the fields that a change may modify.
type beaconBlock struct {
	stateRoot *phase0.Root
	graffiti  *[32]byte
}

// changed returns a modified copy of a block, signed by its proposer. A validator must never sign
// such a second block.
func (g *Games) changed(block *api.VersionedSignedBlindedBeaconBlock,
	change func(*beaconBlock)) (*api.VersionedSignedBlindedBeaconBlock, error) {
	from, err := payload.Member[any](block)
	if err != nil {
		return nil, fmt.Errorf("change block: %w", err)
	}
	var signed, message interface{ HashTreeRoot() ([32]byte, error) }
	var signature *phase0.BLSSignature
	switch from := from.(type) {
	case *apibellatrix.SignedBlindedBeaconBlock:
		m, b := *from.Message, *from.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		to := &apibellatrix.SignedBlindedBeaconBlock{Message: &m}
		signed, message, signature = to, &m, &to.Signature
	case *apicapella.SignedBlindedBeaconBlock:
		m, b := *from.Message, *from.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		to := &apicapella.SignedBlindedBeaconBlock{Message: &m}
		signed, message, signature = to, &m, &to.Signature
	case *apideneb.SignedBlindedBeaconBlock:
		m, b := *from.Message, *from.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		to := &apideneb.SignedBlindedBeaconBlock{Message: &m}
		signed, message, signature = to, &m, &to.Signature
	case *apielectra.SignedBlindedBeaconBlock:
		m, b := *from.Message, *from.Message.Body
		m.Body = &b
		change(&beaconBlock{&m.StateRoot, &b.Graffiti})
		to := &apielectra.SignedBlindedBeaconBlock{Message: &m}
		signed, message, signature = to, &m, &to.Signature
	default:
		return nil, fmt.Errorf("no blinded blocks in %s", block.Version)
	}
	other := new(api.VersionedSignedBlindedBeaconBlock)
	if err := payload.SetMember(other, payload.ForkOf(block), signed); err != nil {
		return nil, fmt.Errorf("change block: %w", err)
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
