package payload_test

import (
	"testing"

	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

var (
	eth1 = &phase0.ETH1Data{BlockHash: make([]byte, 32), DepositCount: 3}
	sync = &altair.SyncAggregate{SyncCommitteeBits: make([]byte, 64), SyncCommitteeSignature: phase0.BLSSignature{4}}
	vote = &phase0.AttestationData{Slot: 6, Source: &phase0.Checkpoint{Epoch: 1},
		Target: &phase0.Checkpoint{Epoch: 2}}
	exits    = []*phase0.SignedVoluntaryExit{{Message: &phase0.VoluntaryExit{Epoch: 1, ValidatorIndex: 2}}}
	deposits = []*phase0.Deposit{
		{Proof: proof(), Data: &phase0.DepositData{WithdrawalCredentials: make([]byte, 32), Amount: 9}}}
	changes   = []*capella.SignedBLSToExecutionChange{{Message: &capella.BLSToExecutionChange{ValidatorIndex: 5}}}
	proposers = []*phase0.ProposerSlashing{{
		SignedHeader1: &phase0.SignedBeaconBlockHeader{Message: &phase0.BeaconBlockHeader{Slot: 1}},
		SignedHeader2: &phase0.SignedBeaconBlockHeader{Message: &phase0.BeaconBlockHeader{Slot: 2}},
	}}
	votes     = []*phase0.Attestation{{AggregationBits: []byte{3}, Data: vote}}
	slashings = []*phase0.AttesterSlashing{{
		Attestation1: &phase0.IndexedAttestation{AttestingIndices: []uint64{1}, Data: vote},
		Attestation2: &phase0.IndexedAttestation{AttestingIndices: []uint64{2}, Data: vote},
	}}
	commitments = []deneb.KZGCommitment{{1}, {2}}
	inside      = &payload.Payload{
		BlockNumber: 7, BaseFeePerGas: uint256.NewInt(1<<40 + 7), ExtraData: []byte("x"),
		Transactions: []bellatrix.Transaction{{1, 2, 3}}, Withdrawals: []*capella.Withdrawal{{Index: 1, Amount: 2}},
		BlobGasUsed: 131072, ExcessBlobGas: 1,
	}
)

func proof() [][]byte {
	proof := make([][]byte, 33)
	for i := range proof {
		proof[i] = make([]byte, 32)
	}
	return proof
}

// whole is a block of a fork in which no list is empty.
func whole(fork eth.Fork) interface{ HashTreeRoot() ([32]byte, error) } {
	const slot, proposer = 7, 8
	parent, state := phase0.Root{1}, phase0.Root{2}
	switch fork {
	case eth.Bellatrix:
		return &bellatrix.BeaconBlock{
			Slot: slot, ProposerIndex: proposer, ParentRoot: parent, StateRoot: state,
			Body: &bellatrix.BeaconBlockBody{
				RANDAOReveal: phase0.BLSSignature{3}, ETH1Data: eth1, Graffiti: [32]byte{5}, ProposerSlashings: proposers,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits, VoluntaryExits: exits,
				SyncAggregate: sync, ExecutionPayload: payload.ToBellatrix(inside),
			},
		}
	case eth.Capella:
		return &capella.BeaconBlock{
			Slot: slot, ProposerIndex: proposer, ParentRoot: parent, StateRoot: state,
			Body: &capella.BeaconBlockBody{
				RANDAOReveal: phase0.BLSSignature{3}, ETH1Data: eth1, Graffiti: [32]byte{5}, ProposerSlashings: proposers,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits, VoluntaryExits: exits,
				SyncAggregate: sync, ExecutionPayload: payload.ToCapella(inside), BLSToExecutionChanges: changes,
			},
		}
	case eth.Deneb:
		return &deneb.BeaconBlock{
			Slot: slot, ProposerIndex: proposer, ParentRoot: parent, StateRoot: state,
			Body: &deneb.BeaconBlockBody{
				RANDAOReveal: phase0.BLSSignature{3}, ETH1Data: eth1, Graffiti: [32]byte{5}, ProposerSlashings: proposers,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits, VoluntaryExits: exits,
				SyncAggregate: sync, ExecutionPayload: inside, BLSToExecutionChanges: changes,
				BlobKZGCommitments: commitments,
			},
		}
	default:
		return &electra.BeaconBlock{
			Slot: slot, ProposerIndex: proposer, ParentRoot: parent, StateRoot: state,
			Body: &electra.BeaconBlockBody{
				RANDAOReveal: phase0.BLSSignature{3}, ETH1Data: eth1, Graffiti: [32]byte{5}, ProposerSlashings: proposers,
				AttesterSlashings: []*electra.AttesterSlashing{{
					Attestation1: &electra.IndexedAttestation{AttestingIndices: []uint64{1}, Data: vote},
					Attestation2: &electra.IndexedAttestation{AttestingIndices: []uint64{2}, Data: vote},
				}},
				Attestations: []*electra.Attestation{{AggregationBits: []byte{3}, Data: vote, CommitteeBits: make([]byte, 8)}},
				Deposits:     deposits, VoluntaryExits: exits, SyncAggregate: sync, ExecutionPayload: inside,
				BLSToExecutionChanges: changes, BlobKZGCommitments: commitments, ExecutionRequests: requests(),
			},
		}
	}
}

func requests() *electra.ExecutionRequests {
	list := payload.EmptyRequests()
	list.Withdrawals = []*electra.WithdrawalRequest{{Amount: 3}}
	return list
}

// A blinded block has the root of the whole one, so that a signature under one is under the other.
func TestBlindedBlockHasTheRootOfTheWholeOne(t *testing.T) {
	for _, fork := range eth.Forks() {
		header, err := payload.HeaderOf(fork, inside)
		if err != nil {
			t.Fatal(err)
		}
		block := whole(fork)
		blinded, err := payload.Blind(block, payload.Offer{Header: header, Commitments: commitments, Requests: requests()})
		if err != nil {
			t.Fatalf("%s: %v", fork, err)
		}
		want, err := block.HashTreeRoot()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := blinded.HashTreeRoot(); err != nil || got != want {
			t.Errorf("%s: root %x, the whole one's is %x: %v", fork, got, want, err)
		}
		signed, err := payload.SignBlinded(blinded, phase0.BLSSignature{9})
		if err != nil {
			t.Fatalf("%s: %v", fork, err)
		}
		if raw, err := signed.MarshalSSZ(); err != nil || raw[4] != 9 { // an offset, then the signature
			t.Errorf("%s: the signature is not there: %v", fork, err)
		}
	}
}

func TestWhatIsNoBlock(t *testing.T) {
	if _, err := payload.Blind(eth1, payload.Offer{}); err == nil {
		t.Error("something else was blinded")
	}
	if _, err := payload.SignBlinded(new(apielectra.SignedBlindedBeaconBlock), phase0.BLSSignature{}); err == nil {
		t.Error("a signed block was signed again")
	}
}
