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

// localBlock is an unsigned block of any fork: block is the beacon block and root its hash tree
// root, proofs and blobs come with it from deneb on.
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

// decodeLocal reads the SSZ of a produced block: a BeaconBlock before deneb, BlockContents from
// deneb on.
func decodeLocal(fork eth.Fork, value *uint256.Int, raw []byte) (*localBlock, error) {
	l := &localBlock{fork: fork, valueWei: value}
	var err error
	switch fork {
	case eth.Bellatrix:
		block := new(bellatrix.BeaconBlock)
		if err = block.UnmarshalSSZ(raw); err == nil {
			l.block, l.parentHash = block, block.Body.ExecutionPayload.ParentHash
		}
	case eth.Capella:
		block := new(capella.BeaconBlock)
		if err = block.UnmarshalSSZ(raw); err == nil {
			l.block, l.parentHash = block, block.Body.ExecutionPayload.ParentHash
		}
	case eth.Deneb:
		c := new(apideneb.BlockContents)
		if err = c.UnmarshalSSZ(raw); err == nil {
			l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
		}
	case eth.Electra:
		c := new(apielectra.BlockContents)
		if err = c.UnmarshalSSZ(raw); err == nil {
			l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
		}
	case eth.Fulu:
		c := new(apifulu.BlockContents)
		if err = c.UnmarshalSSZ(raw); err == nil {
			l.block, l.proofs, l.blobs, l.parentHash = c.Block, c.KZGProofs, c.Blobs, c.Block.Body.ExecutionPayload.ParentHash
		}
	default:
		err = fmt.Errorf("no blocks in %s", fork)
	}
	if err != nil {
		return nil, fmt.Errorf("decode local block: %w", err)
	}
	if l.root, err = l.block.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash local block: %w", err)
	}
	return l, nil
}

// signed is the block with its signature, and with its blobs from deneb on, in SSZ.
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
		if l.fork == eth.Electra {
			return (&apielectra.SignedBlockContents{SignedBlock: signed, KZGProofs: l.proofs, Blobs: l.blobs}).MarshalSSZ()
		}
		return (&apifulu.SignedBlockContents{SignedBlock: signed, KZGProofs: l.proofs, Blobs: l.blobs}).MarshalSSZ()
	default:
		return nil, fmt.Errorf("%T is no block", l.block)
	}
}
