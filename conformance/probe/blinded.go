package probe

import (
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Blinded makes the wire form that a proposer's blinded block has in a fork. It drops attestations
// and attester slashings, whose types differ between forks: blocks of the world have none.
func Blinded(fork eth.Fork, s *apielectra.SignedBlindedBeaconBlock) Document {
	return forks[fork].blinded(s)
}

// BlindedRoot returns the hash tree root of a blinded block, from which the proposer's signing root
// is made.
func BlindedRoot(fork eth.Fork, m *apielectra.BlindedBeaconBlock) (phase0.Root, error) {
	return root(forks[fork].blindedMessage(m))
}

func bellatrixBlinded(m *apielectra.BlindedBeaconBlock) *apibellatrix.BlindedBeaconBlock {
	b := m.Body
	return &apibellatrix.BlindedBeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &apibellatrix.BlindedBeaconBlockBody{
			RANDAOReveal: b.RANDAOReveal, ETH1Data: b.ETH1Data, Graffiti: b.Graffiti, ProposerSlashings: b.ProposerSlashings,
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{}, Deposits: b.Deposits,
			VoluntaryExits: b.VoluntaryExits,
			SyncAggregate:  b.SyncAggregate, ExecutionPayloadHeader: payload.HeaderToBellatrix(b.ExecutionPayloadHeader),
		},
	}
}

func capellaBlinded(m *apielectra.BlindedBeaconBlock) *apicapella.BlindedBeaconBlock {
	b := m.Body
	return &apicapella.BlindedBeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &apicapella.BlindedBeaconBlockBody{
			RANDAOReveal: b.RANDAOReveal, ETH1Data: b.ETH1Data, Graffiti: b.Graffiti, ProposerSlashings: b.ProposerSlashings,
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{}, Deposits: b.Deposits,
			VoluntaryExits: b.VoluntaryExits,
			SyncAggregate:  b.SyncAggregate, ExecutionPayloadHeader: payload.HeaderToCapella(b.ExecutionPayloadHeader),
			BLSToExecutionChanges: b.BLSToExecutionChanges,
		},
	}
}

func denebBlinded(m *apielectra.BlindedBeaconBlock) *apideneb.BlindedBeaconBlock {
	b := m.Body
	return &apideneb.BlindedBeaconBlock{
		Slot: m.Slot, ProposerIndex: m.ProposerIndex, ParentRoot: m.ParentRoot, StateRoot: m.StateRoot,
		Body: &apideneb.BlindedBeaconBlockBody{
			RANDAOReveal: b.RANDAOReveal, ETH1Data: b.ETH1Data, Graffiti: b.Graffiti, ProposerSlashings: b.ProposerSlashings,
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{}, Deposits: b.Deposits,
			VoluntaryExits: b.VoluntaryExits,
			SyncAggregate:  b.SyncAggregate, ExecutionPayloadHeader: b.ExecutionPayloadHeader,
			BLSToExecutionChanges: b.BLSToExecutionChanges,
			BlobKZGCommitments:    b.BlobKZGCommitments,
		},
	}
}
