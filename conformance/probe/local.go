package probe

import (
	"fmt"

	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Local is a block that a beacon node made for its proposer, with its blobs from deneb on.
type Local struct {
	contents Document
	block    rooted
}

// ReadLocal reads a local block in SSZ, as GET /eth/v3/validator/blocks answers it.
func ReadLocal(fork eth.Fork, ssz []byte) (Local, error) {
	contents := forks[fork].local()
	if err := contents.UnmarshalSSZ(ssz); err != nil {
		return Local{}, fmt.Errorf("read a local block of %s: %w", fork, err)
	}
	l := Local{contents: contents}
	switch c := contents.(type) {
	case *bellatrix.BeaconBlock:
		l.block = c
	case *capella.BeaconBlock:
		l.block = c
	case *apideneb.BlockContents:
		l.block = c.Block
	case *apielectra.BlockContents:
		l.block = c.Block
	case *apifulu.BlockContents:
		l.block = c.Block
	}
	return l, nil
}

// Root returns the hash tree root of the block, from which the proposer's signing root is made.
func (l Local) Root() (phase0.Root, error) { return root(l.block) }

// Signed encodes the block with its signature and its blobs in SSZ, as it is published.
func (l Local) Signed(signature phase0.BLSSignature) ([]byte, error) {
	switch c := l.contents.(type) {
	case *bellatrix.BeaconBlock:
		return (&bellatrix.SignedBeaconBlock{Message: c, Signature: signature}).MarshalSSZ()
	case *capella.BeaconBlock:
		return (&capella.SignedBeaconBlock{Message: c, Signature: signature}).MarshalSSZ()
	case *apideneb.BlockContents:
		block := &deneb.SignedBeaconBlock{Message: c.Block, Signature: signature}
		return (&apideneb.SignedBlockContents{SignedBlock: block, KZGProofs: c.KZGProofs, Blobs: c.Blobs}).MarshalSSZ()
	case *apielectra.BlockContents:
		block := &electra.SignedBeaconBlock{Message: c.Block, Signature: signature}
		return (&apielectra.SignedBlockContents{SignedBlock: block, KZGProofs: c.KZGProofs, Blobs: c.Blobs}).MarshalSSZ()
	default:
		f := l.contents.(*apifulu.BlockContents) // the only one left
		block := &electra.SignedBeaconBlock{Message: f.Block, Signature: signature}
		return (&apifulu.SignedBlockContents{SignedBlock: block, KZGProofs: f.KZGProofs, Blobs: f.Blobs}).MarshalSSZ()
	}
}

// Blinded makes a blinded block of the local one. The caller fills in the header, the commitments
// and the execution requests of a bid.
func (l Local) Blinded() *apielectra.BlindedBeaconBlock {
	switch c := l.contents.(type) {
	case *bellatrix.BeaconBlock:
		return blinded(c.Slot, c.ProposerIndex, c.ParentRoot, c.StateRoot, c.Body.RANDAOReveal, c.Body.ETH1Data,
			c.Body.Graffiti, c.Body.SyncAggregate)
	case *capella.BeaconBlock:
		return blinded(c.Slot, c.ProposerIndex, c.ParentRoot, c.StateRoot, c.Body.RANDAOReveal, c.Body.ETH1Data,
			c.Body.Graffiti, c.Body.SyncAggregate)
	case *apideneb.BlockContents:
		b := c.Block
		return blinded(b.Slot, b.ProposerIndex, b.ParentRoot, b.StateRoot, b.Body.RANDAOReveal, b.Body.ETH1Data,
			b.Body.Graffiti, b.Body.SyncAggregate)
	case *apielectra.BlockContents:
		b := c.Block
		return blinded(b.Slot, b.ProposerIndex, b.ParentRoot, b.StateRoot, b.Body.RANDAOReveal, b.Body.ETH1Data,
			b.Body.Graffiti, b.Body.SyncAggregate)
	default:
		b := l.contents.(*apifulu.BlockContents).Block // the only one left
		return blinded(b.Slot, b.ProposerIndex, b.ParentRoot, b.StateRoot, b.Body.RANDAOReveal, b.Body.ETH1Data,
			b.Body.Graffiti, b.Body.SyncAggregate)
	}
}

// blinded makes a blinded block without operations (slashings, attestations, deposits, exits),
// because the world has none.
func blinded(
	slot phase0.Slot, proposer phase0.ValidatorIndex, parent, state phase0.Root, reveal phase0.BLSSignature,
	eth1 *phase0.ETH1Data, graffiti [32]byte,
	sync *altair.SyncAggregate,
) *apielectra.BlindedBeaconBlock {
	return &apielectra.BlindedBeaconBlock{
		Slot: slot, ProposerIndex: proposer, ParentRoot: parent, StateRoot: state,
		Body: &apielectra.BlindedBeaconBlockBody{
			RANDAOReveal: reveal, ETH1Data: eth1, Graffiti: graffiti, SyncAggregate: sync,
			ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*electra.AttesterSlashing{}, Attestations: []*electra.Attestation{},
			Deposits:       []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
		},
	}
}
