package wire

import (
	"github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	"github.com/attestantio/go-eth2-client/api/v1/capella"
	"github.com/attestantio/go-eth2-client/api/v1/deneb"
	"github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

func (b *blindedJSON) bellatrix() *bellatrix.SignedBlindedBeaconBlock {
	return &bellatrix.SignedBlindedBeaconBlock{Signature: b.signature, Message: &bellatrix.BlindedBeaconBlock{
		Slot: b.slot, ProposerIndex: b.proposer, ParentRoot: b.parentRoot, StateRoot: b.stateRoot,
		Body: &bellatrix.BlindedBeaconBlockBody{
			RANDAOReveal: b.body.randao, ETH1Data: &b.body.eth1, Graffiti: b.body.graffiti, ProposerSlashings: b.body.proposers,
			AttesterSlashings: b.body.firstSlashings(), Attestations: b.body.firstVotes(), Deposits: b.body.deposits,
			VoluntaryExits: b.body.exits, SyncAggregate: &b.body.sync,
			ExecutionPayloadHeader: payload.HeaderToBellatrix(&b.body.header),
		},
	}}
}

func (b *blindedJSON) capella() *capella.SignedBlindedBeaconBlock {
	return &capella.SignedBlindedBeaconBlock{Signature: b.signature, Message: &capella.BlindedBeaconBlock{
		Slot: b.slot, ProposerIndex: b.proposer, ParentRoot: b.parentRoot, StateRoot: b.stateRoot,
		Body: &capella.BlindedBeaconBlockBody{
			RANDAOReveal: b.body.randao, ETH1Data: &b.body.eth1, Graffiti: b.body.graffiti, ProposerSlashings: b.body.proposers,
			AttesterSlashings: b.body.firstSlashings(), Attestations: b.body.firstVotes(), Deposits: b.body.deposits,
			VoluntaryExits: b.body.exits, SyncAggregate: &b.body.sync,
			ExecutionPayloadHeader: payload.HeaderToCapella(&b.body.header),
			BLSToExecutionChanges:  b.body.changes,
		},
	}}
}

func (b *blindedJSON) deneb() *deneb.SignedBlindedBeaconBlock {
	return &deneb.SignedBlindedBeaconBlock{Signature: b.signature, Message: &deneb.BlindedBeaconBlock{
		Slot: b.slot, ProposerIndex: b.proposer, ParentRoot: b.parentRoot, StateRoot: b.stateRoot,
		Body: &deneb.BlindedBeaconBlockBody{
			RANDAOReveal: b.body.randao, ETH1Data: &b.body.eth1, Graffiti: b.body.graffiti, ProposerSlashings: b.body.proposers,
			AttesterSlashings: b.body.firstSlashings(), Attestations: b.body.firstVotes(), Deposits: b.body.deposits,
			VoluntaryExits: b.body.exits, SyncAggregate: &b.body.sync, ExecutionPayloadHeader: &b.body.header,
			BLSToExecutionChanges: b.body.changes, BlobKZGCommitments: b.body.commitments,
		},
	}}
}

func (b *blindedJSON) electra() *electra.SignedBlindedBeaconBlock {
	return &electra.SignedBlindedBeaconBlock{Signature: b.signature, Message: &electra.BlindedBeaconBlock{
		Slot: b.slot, ProposerIndex: b.proposer, ParentRoot: b.parentRoot, StateRoot: b.stateRoot,
		Body: &electra.BlindedBeaconBlockBody{
			RANDAOReveal: b.body.randao, ETH1Data: &b.body.eth1, Graffiti: b.body.graffiti, ProposerSlashings: b.body.proposers,
			AttesterSlashings: b.body.attesters, Attestations: b.body.votes, Deposits: b.body.deposits,
			VoluntaryExits: b.body.exits, SyncAggregate: &b.body.sync, ExecutionPayloadHeader: &b.body.header,
			BLSToExecutionChanges: b.body.changes, BlobKZGCommitments: b.body.commitments, ExecutionRequests: &b.body.requests,
		},
	}}
}

// firstSlashings returns the slashings in the type that they have before electra.
func (b *blindedBody) firstSlashings() []*phase0.AttesterSlashing {
	list := make([]*phase0.AttesterSlashing, len(b.attesters))
	for i, slashing := range b.attesters {
		list[i] = &phase0.AttesterSlashing{
			Attestation1: (*phase0.IndexedAttestation)(slashing.Attestation1),
			Attestation2: (*phase0.IndexedAttestation)(slashing.Attestation2),
		}
	}
	return list
}

// firstVotes returns the attestations in the type that they have before electra.
func (b *blindedBody) firstVotes() []*phase0.Attestation {
	list := make([]*phase0.Attestation, len(b.votes))
	for i, vote := range b.votes {
		list[i] = &phase0.Attestation{AggregationBits: vote.AggregationBits, Data: vote.Data, Signature: vote.Signature}
	}
	return list
}
