package proposer

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/api"
	blindbellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	blindcapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	builderspec "github.com/attestantio/go-builder-client/spec"

	"github.com/gavel-relay/gavel/internal/eth"
)

// blindedBlock is an unsigned blinded block: the local block with a bid's header in place of its
// payload. Its root is that of the block with the header's payload, hence the signature under one
// is the signature under the other.
type blindedBlock struct {
	fork  eth.Fork
	block hashable
	root  phase0.Root
}

var errBidShape = errors.New("the bid is not in the fork of the slot")

// blind puts a bid's header, blob commitments and execution requests in place of the local block's
// payload and what belongs to it.
func blind(local *localBlock, bid *Bid) (*blindedBlock, error) {
	b := &blindedBlock{fork: local.fork}
	v := bid.Versioned
	if eth.ForkOf(v.Version) != local.fork || v.IsEmpty() {
		return nil, errBidShape
	}
	switch block := local.block.(type) {
	case *bellatrix.BeaconBlock:
		b.block = blindBellatrix(block, v)
	case *capella.BeaconBlock:
		b.block = blindCapella(block, v)
	case *deneb.BeaconBlock:
		b.block = blindDeneb(block, v)
	case *electra.BeaconBlock:
		b.block = blindElectra(block, v)
	default:
		return nil, fmt.Errorf("%T is no block", local.block)
	}
	var err error
	if b.root, err = b.block.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash blinded block: %w", err)
	}
	return b, nil
}

func blindBellatrix(block *bellatrix.BeaconBlock,
	v *builderspec.VersionedSignedBuilderBid) *blindbellatrix.BlindedBeaconBlock {
	body := block.Body
	return &blindbellatrix.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &blindbellatrix.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayloadHeader: v.Bellatrix.Message.Header,
		},
	}
}

func blindCapella(block *capella.BeaconBlock,
	v *builderspec.VersionedSignedBuilderBid) *blindcapella.BlindedBeaconBlock {
	body := block.Body
	return &blindcapella.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &blindcapella.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayloadHeader: v.Capella.Message.Header,
			BLSToExecutionChanges:  body.BLSToExecutionChanges,
		},
	}
}

func blindDeneb(block *deneb.BeaconBlock, v *builderspec.VersionedSignedBuilderBid) *blinddeneb.BlindedBeaconBlock {
	body := block.Body
	return &blinddeneb.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &blinddeneb.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayloadHeader: v.Deneb.Message.Header,
			BLSToExecutionChanges:  body.BLSToExecutionChanges, BlobKZGCommitments: v.Deneb.Message.BlobKZGCommitments,
		},
	}
}

// blindElectra makes a blinded block of electra or of fulu, which have the same shape.
func blindElectra(block *electra.BeaconBlock,
	v *builderspec.VersionedSignedBuilderBid) *blindelectra.BlindedBeaconBlock {
	body, signed := block.Body, v.Electra
	if eth.ForkOf(v.Version) == eth.Fulu {
		signed = v.Fulu
	}
	return &blindelectra.BlindedBeaconBlock{
		Slot: block.Slot, ProposerIndex: block.ProposerIndex, ParentRoot: block.ParentRoot, StateRoot: block.StateRoot,
		Body: &blindelectra.BlindedBeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayloadHeader: signed.Message.Header,
			BLSToExecutionChanges:  body.BLSToExecutionChanges, BlobKZGCommitments: signed.Message.BlobKZGCommitments,
			ExecutionRequests: signed.Message.ExecutionRequests,
		},
	}
}

// signed is the blinded block with its signature.
func (b *blindedBlock) signed(signature phase0.BLSSignature) *api.VersionedSignedBlindedBeaconBlock {
	signed := &api.VersionedSignedBlindedBeaconBlock{Version: b.fork.DataVersion()}
	switch block := b.block.(type) {
	case *blindbellatrix.BlindedBeaconBlock:
		signed.Bellatrix = &blindbellatrix.SignedBlindedBeaconBlock{Message: block, Signature: signature}
	case *blindcapella.BlindedBeaconBlock:
		signed.Capella = &blindcapella.SignedBlindedBeaconBlock{Message: block, Signature: signature}
	case *blinddeneb.BlindedBeaconBlock:
		signed.Deneb = &blinddeneb.SignedBlindedBeaconBlock{Message: block, Signature: signature}
	case *blindelectra.BlindedBeaconBlock:
		if b.fork == eth.Electra {
			signed.Electra = &blindelectra.SignedBlindedBeaconBlock{Message: block, Signature: signature}
		} else {
			signed.Fulu = &blindelectra.SignedBlindedBeaconBlock{Message: block, Signature: signature}
		}
	}
	return signed
}
