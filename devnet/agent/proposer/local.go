package proposer

import (
	"fmt"

	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
)

// localBlock is an unsigned block of any fork. block is the beacon block and root its hash tree
// root; from deneb on it has proofs and blobs.
type localBlock struct {
	fork       eth.Fork
	valueWei   *uint256.Int
	parentHash phase0.Hash32
	block      hashable
	root       phase0.Root
	proofs     []deneb.KZGProof
	blobs      []deneb.Blob
}

type hashable interface{ HashTreeRoot() ([32]byte, error) }

// localForms decode a produced block of each fork from SSZ.
var localForms = eth.Column[func(*localBlock, []byte) error]{
	eth.Bellatrix: readLocal(func(l *localBlock, block *bellatrix.BeaconBlock) {
		l.block, l.parentHash = block, block.Body.ExecutionPayload.ParentHash
	}),
	eth.Capella: readLocal(func(l *localBlock, block *capella.BeaconBlock) {
		l.block, l.parentHash = block, block.Body.ExecutionPayload.ParentHash
	}),
	eth.Deneb: readLocal(func(l *localBlock, c *apideneb.BlockContents) {
		l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
	}),
	eth.Electra: readLocal(func(l *localBlock, c *apielectra.BlockContents) {
		l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
	}),
	eth.Fulu: readLocal(func(l *localBlock, c *apifulu.BlockContents) {
		l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
	}),
}

// readLocal returns a decoder for one of the library's types, which fills in the local block.
func readLocal[T any, P interface {
	*T
	UnmarshalSSZ([]byte) error
}](fill func(*localBlock, P)) func(*localBlock, []byte) error {
	return func(l *localBlock, raw []byte) error {
		block := P(new(T))
		if err := block.UnmarshalSSZ(raw); err != nil {
			return err
		}
		fill(l, block)
		return nil
	}
}

// decodeLocal decodes a produced block from SSZ: a BeaconBlock before deneb, BlockContents from
// deneb on.
func decodeLocal(fork eth.Fork, value *uint256.Int, raw []byte) (*localBlock, error) {
	l := &localBlock{fork: fork, valueWei: value}
	read, err := localForms.Of(fork, "blocks")
	if err == nil {
		err = read(l, raw)
	}
	if err != nil {
		return nil, fmt.Errorf("decode local block: %w", err)
	}
	if l.root, err = l.block.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash local block: %w", err)
	}
	return l, nil
}

// signed returns the block with its signature, and from deneb on with its blobs, in SSZ.
func (l *localBlock) signed(signature phase0.BLSSignature) ([]byte, error) {
	switch block := l.block.(type) {
	case *bellatrix.BeaconBlock:
		return (&bellatrix.SignedBeaconBlock{Message: block, Signature: signature}).MarshalSSZ()
	case *capella.BeaconBlock:
		return (&capella.SignedBeaconBlock{Message: block, Signature: signature}).MarshalSSZ()
	case *deneb.BeaconBlock:
		return (&apideneb.SignedBlockContents{
			SignedBlock: &deneb.SignedBeaconBlock{Message: block, Signature: signature}, KZGProofs: l.proofs, Blobs: l.blobs,
		}).MarshalSSZ()
	case *electra.BeaconBlock:
		signed := &electra.SignedBeaconBlock{Message: block, Signature: signature}
		if !l.fork.HasCellProofs() {
			return (&apielectra.SignedBlockContents{SignedBlock: signed, KZGProofs: l.proofs, Blobs: l.blobs}).MarshalSSZ()
		}
		return (&apifulu.SignedBlockContents{SignedBlock: signed, KZGProofs: l.proofs, Blobs: l.blobs}).MarshalSSZ()
	default:
		return nil, fmt.Errorf("%T is no block", l.block)
	}
}
