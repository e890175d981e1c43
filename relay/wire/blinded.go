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
	if media == JSON {
		signed, err := decodeBlindedJSON(fork, body)
		if err != nil {
			return nil, err
		}
		block := &relay.BlindedBlock{Fork: fork, Contents: signed}
		return block, view(block)
	}
	var signed codec
	switch fork {
	case eth.Bellatrix:
		signed = new(bellatrix.SignedBlindedBeaconBlock)
	case eth.Capella:
		signed = new(capella.SignedBlindedBeaconBlock)
	case eth.Deneb:
		signed = new(deneb.SignedBlindedBeaconBlock)
	case eth.Electra, eth.Fulu:
		signed = new(electra.SignedBlindedBeaconBlock)
	default:
		return nil, fmt.Errorf("no blinded blocks in %s", fork)
	}
	if err := decodeSSZ(body, signed); err != nil {
		return nil, err
	}
	block := &relay.BlindedBlock{Fork: fork, Contents: signed}
	return block, view(block)
}

// view fills in what the relay compares.
func view(b *relay.BlindedBlock) (err error) {
	var message interface{ HashTreeRoot() ([32]byte, error) }
	switch s := b.Contents.(type) {
	case *bellatrix.SignedBlindedBeaconBlock:
		if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
			return errIncomplete
		}
		b.Slot, b.ProposerIndex, b.Signature, message = s.Message.Slot, s.Message.ProposerIndex, s.Signature, s.Message
		b.Header = payload.HeaderFromBellatrix(s.Message.Body.ExecutionPayloadHeader)
	case *capella.SignedBlindedBeaconBlock:
		if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
			return errIncomplete
		}
		b.Slot, b.ProposerIndex, b.Signature, message = s.Message.Slot, s.Message.ProposerIndex, s.Signature, s.Message
		b.Header = payload.HeaderFromCapella(s.Message.Body.ExecutionPayloadHeader)
	case *deneb.SignedBlindedBeaconBlock:
		if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil {
			return errIncomplete
		}
		b.Slot, b.ProposerIndex, b.Signature, message = s.Message.Slot, s.Message.ProposerIndex, s.Signature, s.Message
		b.Header, b.Commitments = s.Message.Body.ExecutionPayloadHeader, s.Message.Body.BlobKZGCommitments
	case *electra.SignedBlindedBeaconBlock:
		if s.Message == nil || s.Message.Body == nil || s.Message.Body.ExecutionPayloadHeader == nil ||
			s.Message.Body.ExecutionRequests == nil {
			return errIncomplete
		}
		b.Slot, b.ProposerIndex, b.Signature, message = s.Message.Slot, s.Message.ProposerIndex, s.Signature, s.Message
		b.Header, b.Commitments = s.Message.Body.ExecutionPayloadHeader, s.Message.Body.BlobKZGCommitments
		b.Requests = s.Message.Body.ExecutionRequests
	}
	b.Root, err = message.HashTreeRoot()
	if err != nil {
		return fmt.Errorf("hash block: %w", err)
	}
	return nil
}
