package beacon

import (
	"fmt"

	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// codec is implemented by every generated type of the library.
type codec interface {
	MarshalSSZ() ([]byte, error)
	UnmarshalSSZ([]byte) error
	MarshalJSON() ([]byte, error)
	UnmarshalJSON([]byte) error
}

// signedBlock is a published block of any fork, with the fields that importing needs.
type signedBlock struct {
	fork        eth.Fork
	slot        phase0.Slot
	proposer    phase0.ValidatorIndex
	parentRoot  phase0.Root
	stateRoot   phase0.Root
	bodyRoot    phase0.Root
	root        phase0.Root
	reveal      phase0.BLSSignature
	signature   phase0.BLSSignature
	payload     *payload.Payload
	commitments []deneb.KZGCommitment
	requests    *electra.ExecutionRequests
	blobs       *payload.Blobs           // nil before deneb
	block       codec                    // the SignedBeaconBlock
	gloas       *gloas.SignedBeaconBlock // nil before gloas, whose blocks have no payload
}

// decodeBlock reads the body of POST /eth/v2/beacon/blocks: a signed block before deneb, a signed
// block with its blobs from deneb on.
func decodeBlock(fork eth.Fork, json bool, body []byte) (s *signedBlock, err error) {
	defer func() { // the library can panic on malformed input
		if r := recover(); r != nil {
			s, err = nil, fmt.Errorf("malformed input: %v", r)
		}
	}()
	if isGloas(fork) {
		return decodeGloas(json, body)
	}
	read := func(into codec) error {
		if json {
			return into.UnmarshalJSON(body)
		}
		return into.UnmarshalSSZ(body)
	}
	form, err := forms.Of(fork, "blocks")
	if err != nil {
		return nil, err
	}
	return form.read(fork, read)
}

// viewSigned reads the fields of a signed block without its blobs.
func viewSigned(fork eth.Fork, block codec) (*signedBlock, error) {
	switch block := block.(type) {
	case *bellatrix.SignedBeaconBlock:
		return viewBellatrix(block)
	case *capella.SignedBeaconBlock:
		return viewCapella(block)
	case *deneb.SignedBeaconBlock:
		return viewDeneb(&apideneb.SignedBlockContents{SignedBlock: block})
	case *electra.SignedBeaconBlock:
		return viewElectra(fork, block, nil, nil)
	case gloasBlock:
		return viewGloas(block.SignedBeaconBlock)
	default:
		return nil, fmt.Errorf("a %T is no signed block", block)
	}
}

func viewBellatrix(b *bellatrix.SignedBeaconBlock) (*signedBlock, error) {
	s := &signedBlock{fork: eth.Bellatrix, block: b, signature: b.Signature}
	m := b.Message
	s.slot, s.proposer, s.parentRoot, s.stateRoot, s.reveal = m.Slot, m.ProposerIndex, m.ParentRoot, m.StateRoot,
		m.Body.RANDAOReveal
	s.payload = payload.FromBellatrix(m.Body.ExecutionPayload)
	return s, s.hash(m, m.Body)
}

func viewCapella(b *capella.SignedBeaconBlock) (*signedBlock, error) {
	s := &signedBlock{fork: eth.Capella, block: b, signature: b.Signature}
	m := b.Message
	s.slot, s.proposer, s.parentRoot, s.stateRoot, s.reveal = m.Slot, m.ProposerIndex, m.ParentRoot, m.StateRoot,
		m.Body.RANDAOReveal
	s.payload = payload.FromCapella(m.Body.ExecutionPayload)
	return s, s.hash(m, m.Body)
}

func viewDeneb(c *apideneb.SignedBlockContents) (*signedBlock, error) {
	b := c.SignedBlock
	s := &signedBlock{fork: eth.Deneb, block: b, signature: b.Signature}
	m := b.Message
	s.slot, s.proposer, s.parentRoot, s.stateRoot, s.reveal = m.Slot, m.ProposerIndex, m.ParentRoot, m.StateRoot,
		m.Body.RANDAOReveal
	s.payload, s.commitments = m.Body.ExecutionPayload, m.Body.BlobKZGCommitments
	s.blobs = &payload.Blobs{Commitments: s.commitments, Proofs: c.KZGProofs, Blobs: c.Blobs}
	return s, s.hash(m, m.Body)
}

func viewElectra(fork eth.Fork, b *electra.SignedBeaconBlock, proofs []deneb.KZGProof,
	blobs []deneb.Blob) (*signedBlock, error) {
	s := &signedBlock{fork: fork, block: b, signature: b.Signature}
	m := b.Message
	s.slot, s.proposer, s.parentRoot, s.stateRoot, s.reveal = m.Slot, m.ProposerIndex, m.ParentRoot, m.StateRoot,
		m.Body.RANDAOReveal
	s.payload, s.commitments, s.requests = m.Body.ExecutionPayload, m.Body.BlobKZGCommitments, m.Body.ExecutionRequests
	s.blobs = &payload.Blobs{Commitments: s.commitments, Proofs: proofs, Blobs: blobs}
	return s, s.hash(m, m.Body)
}

// hash fills in the roots of the message and of its body.
func (s *signedBlock) hash(message, body hasher) error {
	root, err := message.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash block: %w", err)
	}
	bodyRoot, err := body.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash block body: %w", err)
	}
	s.root, s.bodyRoot = root, bodyRoot
	return nil
}

// header returns the block's header, as /eth/v1/beacon/headers shows it.
func (s *signedBlock) header() *phase0.SignedBeaconBlockHeader {
	return &phase0.SignedBeaconBlockHeader{Signature: s.signature, Message: &phase0.BeaconBlockHeader{
		Slot: s.slot, ProposerIndex: s.proposer, ParentRoot: s.parentRoot, StateRoot: s.stateRoot, BodyRoot: s.bodyRoot,
	}}
}
