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

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// Unblind puts the payload in place of its header and encodes the block for POST
// /eth/v2/beacon/blocks: a SignedBeaconBlock before deneb, SignedBlockContents from then on, in
// fulu with all 128 cell proofs of each blob. The block's root and signature do not change.
func Unblind(b *relay.BlindedBlock, c *relay.Contents) ([]byte, error) {
	if b.Fork != c.Fork {
		return nil, fmt.Errorf("unblind: a %s block for a %s payload", b.Fork, c.Fork)
	}
	form, err := blindedFormOf(b.Fork)
	if err != nil {
		return nil, err
	}
	block, err := form.unblind(b.Contents, c)
	if err != nil {
		return nil, fmt.Errorf("unblind: %w", err)
	}
	return block.MarshalSSZ()
}

func unblindBellatrix(s *blindbellatrix.SignedBlindedBeaconBlock, c *relay.Contents) published {
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

func unblindCapella(s *blindcapella.SignedBlindedBeaconBlock, c *relay.Contents) published {
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

func unblindDeneb(s *blinddeneb.SignedBlindedBeaconBlock, c *relay.Contents) published {
	m, body, blobs := s.Message, s.Message.Body, bundleOf(c.Blobs)
	block := &deneb.SignedBeaconBlock{Signature: s.Signature, Message: &deneb.BeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &deneb.BeaconBlockBody{
			RANDAOReveal: body.RANDAOReveal, ETH1Data: body.ETH1Data, Graffiti: body.Graffiti,
			ProposerSlashings: body.ProposerSlashings,
			AttesterSlashings: body.AttesterSlashings, Attestations: body.Attestations, Deposits: body.Deposits,
			VoluntaryExits: body.VoluntaryExits, SyncAggregate: body.SyncAggregate, ExecutionPayload: c.Payload,
			BLSToExecutionChanges: body.BLSToExecutionChanges, BlobKZGCommitments: body.BlobKZGCommitments,
		},
	}}
	return &blinddeneb.SignedBlockContents{SignedBlock: block, KZGProofs: blobs.Proofs, Blobs: blobs.Blobs}
}

func unblindElectra(s *blindelectra.SignedBlindedBeaconBlock, c *relay.Contents) published {
	block, blobs := unblindFromElectra(s, c), bundleOf(c.Blobs)
	return &blindelectra.SignedBlockContents{SignedBlock: block, KZGProofs: blobs.Proofs, Blobs: blobs.Blobs}
}

func unblindFulu(s *blindelectra.SignedBlindedBeaconBlock, c *relay.Contents) published {
	block, blobs := unblindFromElectra(s, c), bundleOf(c.Blobs)
	return &apifulu.SignedBlockContents{SignedBlock: block, KZGProofs: blobs.Proofs, Blobs: blobs.Blobs}
}

// unblindFromElectra makes the block of electra and fulu; only what is published with the block
// differs between them.
func unblindFromElectra(s *blindelectra.SignedBlindedBeaconBlock, c *relay.Contents) *electra.SignedBeaconBlock {
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
