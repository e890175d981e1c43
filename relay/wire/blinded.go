package wire

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	"github.com/attestantio/go-eth2-client/api/v1/capella"
	"github.com/attestantio/go-eth2-client/api/v1/deneb"
	"github.com/attestantio/go-eth2-client/api/v1/electra"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

var errIncomplete = errors.New("message, body or header is missing")

// DecodeBlinded reads a SignedBlindedBeaconBlock of a fork (builder-specs, submitBlindedBlock).
func DecodeBlinded(fork eth.Fork, media Media, body []byte) (*relay.BlindedBlock, error) {
	form, err := blindedFormOf(fork)
	if err != nil {
		return nil, err
	}
	block := &relay.BlindedBlock{Fork: fork}
	if media == JSON {
		document := new(blindedJSON)
		if err := decodeJSON(body, blindedShapes[fork], document); err != nil {
			return nil, err
		}
		block.Contents = form.fromJSON(document)
	} else if block.Contents, err = form.fromSSZ(body); err != nil {
		return nil, err
	}
	message := form.see(block.Contents, block)
	if message == nil {
		return nil, errIncomplete
	}
	if block.Root, err = message.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash block: %w", err)
	}
	return block, nil
}

func blindedFormOf(fork eth.Fork) (*blindedForm, error) {
	form, err := forms.Of(fork, "blinded blocks")
	if err == nil && form.blinded == nil {
		err = fmt.Errorf("no blinded blocks in %s: %w", fork, eth.ErrFork)
	}
	return form.blinded, err
}

// blindedForm reads a fork's SignedBlindedBeaconBlock, and makes it a whole block again.
type blindedForm struct {
	fromSSZ  func(ssz []byte) (any, error)
	fromJSON func(*blindedJSON) any
	// see fills in the fields that the relay compares, and returns the message; nil if something is
	// missing.
	see func(signed any, into *relay.BlindedBlock) hashed
	// unblind puts the payload in place of its header.
	unblind func(signed any, c *relay.Contents) (published, error)
}

// published is what beacon nodes accept: a SignedBeaconBlock, from deneb on SignedBlockContents.
type published interface{ MarshalSSZ() ([]byte, error) }

var (
	blindedBellatrix = blindedAs((*blindedJSON).bellatrix, seeBellatrix, unblindBellatrix)
	blindedCapella   = blindedAs((*blindedJSON).capella, seeCapella, unblindCapella)
	blindedDeneb     = blindedAs((*blindedJSON).deneb, seeDeneb, unblindDeneb)
	blindedElectra   = blindedAs((*blindedJSON).electra, seeElectra, unblindElectra)
	blindedFulu      = blindedAs((*blindedJSON).electra, seeElectra, unblindFulu)
)

// blindedAs makes the form for one of the libraries' types.
func blindedAs[T any, P interface {
	*T
	codec
}](
	fromJSON func(*blindedJSON) P, see func(P, *relay.BlindedBlock) hashed, unblind func(P, *relay.Contents) published,
) *blindedForm {
	return &blindedForm{
		fromSSZ: func(ssz []byte) (any, error) {
			signed := P(new(T))
			return signed, decodeSSZ(ssz, signed)
		},
		fromJSON: func(document *blindedJSON) any { return fromJSON(document) },
		see:      func(signed any, into *relay.BlindedBlock) hashed { return see(signed.(P), into) },
		unblind: func(signed any, c *relay.Contents) (published, error) {
			block, is := signed.(P)
			if !is {
				return nil, fmt.Errorf("%T is no blinded block of %s", signed, c.Fork)
			}
			return unblind(block, c), nil
		},
	}
}

func seeBellatrix(s *bellatrix.SignedBlindedBeaconBlock, b *relay.BlindedBlock) hashed {
	if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
		return nil
	}
	b.Slot, b.ProposerIndex, b.Signature = s.Message.Slot, s.Message.ProposerIndex, s.Signature
	b.Header = payload.HeaderFromBellatrix(s.Message.Body.ExecutionPayloadHeader)
	return s.Message
}

func seeCapella(s *capella.SignedBlindedBeaconBlock, b *relay.BlindedBlock) hashed {
	if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
		return nil
	}
	b.Slot, b.ProposerIndex, b.Signature = s.Message.Slot, s.Message.ProposerIndex, s.Signature
	b.Header = payload.HeaderFromCapella(s.Message.Body.ExecutionPayloadHeader)
	return s.Message
}

func seeDeneb(s *deneb.SignedBlindedBeaconBlock, b *relay.BlindedBlock) hashed {
	if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
		return nil
	}
	b.Slot, b.ProposerIndex, b.Signature = s.Message.Slot, s.Message.ProposerIndex, s.Signature
	b.Header, b.Commitments = s.Message.Body.ExecutionPayloadHeader, s.Message.Body.BlobKZGCommitments
	return s.Message
}

func seeElectra(s *electra.SignedBlindedBeaconBlock, b *relay.BlindedBlock) hashed {
	if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil ||
		s.Message.Body.ExecutionRequests == nil {
		return nil
	}
	b.Slot, b.ProposerIndex, b.Signature = s.Message.Slot, s.Message.ProposerIndex, s.Signature
	b.Header, b.Commitments = s.Message.Body.ExecutionPayloadHeader, s.Message.Body.BlobKZGCommitments
	b.Requests = s.Message.Body.ExecutionRequests
	return s.Message
}
