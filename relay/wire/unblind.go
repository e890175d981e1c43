package wire

import (
	"fmt"

	blindbellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	blindcapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Unblind puts the payload in place of its header and encodes the block for POST
// /eth/v2/beacon/blocks: a SignedBeaconBlock before deneb, SignedBlockContents from then on, in
// fulu with all 128 cell proofs of each blob. The block's root and signature stay what they were.
func Unblind(b *relay.BlindedBlock, c *relay.Contents) ([]byte, error) {
	if b.Fork != c.Fork {
		return nil, fmt.Errorf("unblind: a %s block for a %s payload", b.Fork, c.Fork)
	}
	switch signed := b.Contents.(type) {
	case *blindbellatrix.SignedBlindedBeaconBlock:
		return unblindBellatrix(signed, c).MarshalSSZ()
	case *blindcapella.SignedBlindedBeaconBlock:
		return unblindCapella(signed, c).MarshalSSZ()
	case *blinddeneb.SignedBlindedBeaconBlock:
		blobs := bundleOf(c.Blobs)
		return (&blinddeneb.SignedBlockContents{
			SignedBlock: unblindDeneb(signed, c), KZGProofs: blobs.Proofs, Blobs: blobs.Blobs,
		}).MarshalSSZ()
	case *blindelectra.SignedBlindedBeaconBlock:
		block, blobs := unblindElectra(signed, c), bundleOf(c.Blobs)
		if c.Fork >= eth.Fulu {
			return (&apifulu.SignedBlockContents{SignedBlock: block, KZGProofs: blobs.Proofs, Blobs: blobs.Blobs}).MarshalSSZ()
		}
		return (&blindelectra.SignedBlockContents{SignedBlock: block, KZGProofs: blobs.Proofs,
			Blobs: blobs.Blobs}).MarshalSSZ()
	default:
		return nil, fmt.Errorf("unblind: %T is no blinded block", b.Contents)
	}
}

func unblindBellatrix(s *blindbellatrix.SignedBlindedBeaconBlock, c *relay.Contents) *bellatrix.SignedBeaconBlock {
	m, body := s.Message, s.Message.Body
	return &bellatrix.SignedBeaconBlock{Signature: s.Signature, Message: &bellatrix.BeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &bellatrix.BeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayload: payload.ToBellatrix(c.Payload),
		},
	}}
}

func unblindCapella(s *blindcapella.SignedBlindedBeaconBlock, c *relay.Contents) *capella.SignedBeaconBlock {
	m, body := s.Message, s.Message.Body
	return &capella.SignedBeaconBlock{Signature: s.Signature, Message: &capella.BeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &capella.BeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate,
			ExecutionPayload:      payload.ToCapella(c.Payload),
			BLSToExecutionChanges: body.BLSToExecutionChanges,
		},
	}}
}

func unblindDeneb(s *blinddeneb.SignedBlindedBeaconBlock, c *relay.Contents) *deneb.SignedBeaconBlock {
	m, body := s.Message, s.Message.Body
	return &deneb.SignedBeaconBlock{Signature: s.Signature, Message: &deneb.BeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &deneb.BeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate, ExecutionPayload: c.Payload,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: body.BlobKZGCommitments,
		},
	}}
}

func unblindElectra(s *blindelectra.SignedBlindedBeaconBlock, c *relay.Contents) *electra.SignedBeaconBlock {
	m, body := s.Message, s.Message.Body
	return &electra.SignedBeaconBlock{Signature: s.Signature, Message: &electra.BeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &electra.BeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate, ExecutionPayload: c.Payload,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: body.BlobKZGCommitments,
			ExecutionRequests: body.ExecutionRequests,
		},
	}}
}
