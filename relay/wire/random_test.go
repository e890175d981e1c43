package wire

import (
	"math/rand/v2"
	"testing"
	"time"

	bitfield "github.com/OffchainLabs/go-bitfield"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	blindbellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	blindcapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	blinddeneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	blindelectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// source makes random values; the same seed makes the same ones.
type source struct{ *rand.Rand }

func newSource(seed uint64) source { return source{rand.New(rand.NewPCG(seed, 7))} }

func (s source) fill(b []byte) []byte {
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return b
}

func (s source) wei() *uint256.Int {
	return new(uint256.Int).SetBytes(s.fill(make([]byte, s.IntN(33))))
}

func (s source) payload(fork eth.Fork) *payload.Payload {
	p := &payload.Payload{
		BlockNumber: s.Uint64(), GasLimit: s.Uint64(), GasUsed: s.Uint64(), Timestamp: s.Uint64(),
		ExtraData: s.fill(make([]byte, s.IntN(33))), BaseFeePerGas: s.wei(), Transactions: []bellatrix.Transaction{},
	}
	for _, field := range [][]byte{
		p.ParentHash[:], p.FeeRecipient[:], p.StateRoot[:], p.ReceiptsRoot[:], p.LogsBloom[:], p.PrevRandao[:],
		p.BlockHash[:],
	} {
		s.fill(field)
	}
	for range s.IntN(4) {
		p.Transactions = append(p.Transactions, s.fill(make([]byte, 1+s.IntN(99))))
	}
	if fork >= eth.Capella {
		p.Withdrawals = []*capella.Withdrawal{}
		for range s.IntN(4) {
			w := &capella.Withdrawal{Index: capella.WithdrawalIndex(s.Uint64()),
				ValidatorIndex: phase0.ValidatorIndex(s.Uint64()), Amount: 5}
			s.fill(w.Address[:])
			p.Withdrawals = append(p.Withdrawals, w)
		}
	}
	if fork >= eth.Deneb {
		p.BlobGasUsed, p.ExcessBlobGas = s.Uint64(), s.Uint64()
	}
	return p
}

func (s source) blobs(fork eth.Fork) *payload.Blobs {
	if fork < eth.Deneb {
		return nil
	}
	n, proofs := s.IntN(2), 1
	if fork >= eth.Fulu {
		proofs = eth.CellsPerBlob
	}
	b := &payload.Blobs{
		Commitments: make([]deneb.KZGCommitment, n), Proofs: make([]deneb.KZGProof, n*proofs), Blobs: make([]deneb.Blob, n),
	}
	for i := range n {
		s.fill(b.Commitments[i][:])
		s.fill(b.Blobs[i][:])
	}
	for i := range b.Proofs {
		s.fill(b.Proofs[i][:])
	}
	return b
}

func (s source) requests(fork eth.Fork) *electra.ExecutionRequests {
	if fork < eth.Electra {
		return nil
	}
	r := payload.EmptyRequests()
	for range s.IntN(3) {
		d := &electra.DepositRequest{Amount: phase0.Gwei(s.Uint64()), Index: s.Uint64(),
			WithdrawalCredentials: s.fill(make([]byte, 32))}
		s.fill(d.Pubkey[:])
		s.fill(d.Signature[:])
		r.Deposits = append(r.Deposits, d)
	}
	for range s.IntN(3) {
		w := &electra.WithdrawalRequest{Amount: phase0.Gwei(s.Uint64())}
		s.fill(w.SourceAddress[:])
		s.fill(w.ValidatorPubkey[:])
		r.Withdrawals = append(r.Withdrawals, w)
	}
	for range s.IntN(3) {
		c := &electra.ConsolidationRequest{}
		s.fill(c.SourceAddress[:])
		s.fill(c.SourcePubkey[:])
		s.fill(c.TargetPubkey[:])
		r.Consolidations = append(r.Consolidations, c)
	}
	return r
}

func (s source) contents(fork eth.Fork) *relay.Contents {
	trace := &relay.BidTrace{Slot: s.Uint64(), GasLimit: s.Uint64(), GasUsed: s.Uint64(), Value: s.wei()}
	for _, field := range [][]byte{
		trace.ParentHash[:], trace.BlockHash[:], trace.BuilderPubkey[:], trace.ProposerPubkey[:],
		trace.ProposerFeeRecipient[:],
	} {
		s.fill(field)
	}
	return &relay.Contents{Fork: fork, Trace: trace, Payload: s.payload(fork), Blobs: s.blobs(fork),
		Requests: s.requests(fork)}
}

func (s source) registration() *relay.SignedRegistration {
	r := &relay.SignedRegistration{Message: &builderv1.ValidatorRegistration{
		GasLimit: s.Uint64(), Timestamp: time.Unix(int64(s.Uint32()), 0),
	}}
	s.fill(r.Message.FeeRecipient[:])
	s.fill(r.Message.Pubkey[:])
	s.fill(r.Signature[:])
	return r
}

// blinded is a signed blinded block about contents, in the fork's library type.
func (s source) blinded(t testing.TB, c *relay.Contents) codec {
	t.Helper()
	header, err := payload.HeaderOf(c.Fork, c.Payload)
	if err != nil {
		t.Fatal(err)
	}
	slot, index := phase0.Slot(s.Uint64()), phase0.ValidatorIndex(s.Uint64())
	var randao, signature phase0.BLSSignature
	var graffiti [32]byte
	var parent, state phase0.Root
	for _, field := range [][]byte{randao[:], signature[:], graffiti[:], parent[:], state[:]} {
		s.fill(field)
	}
	eth1 := &phase0.ETH1Data{BlockHash: s.fill(make([]byte, 32)), DepositCount: 9}
	sync := &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()}
	s.fill(sync.SyncCommitteeBits)
	proposals, slashings, votes, deposits, exits, changes := s.operations(signature)
	electraSlashings, electraVotes := s.electraOperations(slashings, votes)
	switch c.Fork {
	case eth.Bellatrix:
		return &blindbellatrix.SignedBlindedBeaconBlock{Signature: signature, Message: &blindbellatrix.BlindedBeaconBlock{
			Slot: slot, ProposerIndex: index, ParentRoot: parent, StateRoot: state,
			Body: &blindbellatrix.BlindedBeaconBlockBody{
				RANDAOReveal: randao, ETH1Data: eth1, Graffiti: graffiti, ProposerSlashings: proposals,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits,
				VoluntaryExits: exits, SyncAggregate: sync, ExecutionPayloadHeader: payload.HeaderToBellatrix(header),
			},
		}}
	case eth.Capella:
		return &blindcapella.SignedBlindedBeaconBlock{Signature: signature, Message: &blindcapella.BlindedBeaconBlock{
			Slot: slot, ProposerIndex: index, ParentRoot: parent, StateRoot: state,
			Body: &blindcapella.BlindedBeaconBlockBody{
				RANDAOReveal: randao, ETH1Data: eth1, Graffiti: graffiti, ProposerSlashings: proposals,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits,
				VoluntaryExits: exits, SyncAggregate: sync, ExecutionPayloadHeader: payload.HeaderToCapella(header),
				BLSToExecutionChanges: changes,
			},
		}}
	case eth.Deneb:
		return &blinddeneb.SignedBlindedBeaconBlock{Signature: signature, Message: &blinddeneb.BlindedBeaconBlock{
			Slot: slot, ProposerIndex: index, ParentRoot: parent, StateRoot: state,
			Body: &blinddeneb.BlindedBeaconBlockBody{
				RANDAOReveal: randao, ETH1Data: eth1, Graffiti: graffiti, ProposerSlashings: proposals,
				AttesterSlashings: slashings, Attestations: votes, Deposits: deposits,
				VoluntaryExits: exits, SyncAggregate: sync, ExecutionPayloadHeader: header, BLSToExecutionChanges: changes,
				BlobKZGCommitments: c.Blobs.Commitments,
			},
		}}
	default:
		return &blindelectra.SignedBlindedBeaconBlock{Signature: signature, Message: &blindelectra.BlindedBeaconBlock{
			Slot: slot, ProposerIndex: index, ParentRoot: parent, StateRoot: state,
			Body: &blindelectra.BlindedBeaconBlockBody{
				RANDAOReveal: randao, ETH1Data: eth1, Graffiti: graffiti, ProposerSlashings: proposals,
				AttesterSlashings: electraSlashings, Attestations: electraVotes, Deposits: deposits,
				VoluntaryExits: exits, SyncAggregate: sync, ExecutionPayloadHeader: header, BLSToExecutionChanges: changes,
				BlobKZGCommitments: c.Blobs.Commitments, ExecutionRequests: c.Requests,
			},
		}}
	}
}

// operations are one of each thing that a block body can carry, so that a codec that stumbles over
// any of them is found.
func (s source) operations(signature phase0.BLSSignature) (
	[]*phase0.ProposerSlashing, []*phase0.AttesterSlashing, []*phase0.Attestation, []*phase0.Deposit,
	[]*phase0.SignedVoluntaryExit,
	[]*capella.SignedBLSToExecutionChange,
) {
	header := func() *phase0.SignedBeaconBlockHeader {
		return &phase0.SignedBeaconBlockHeader{Message: &phase0.BeaconBlockHeader{Slot: phase0.Slot(s.Uint64())},
			Signature: signature}
	}
	data := &phase0.AttestationData{
		Slot: phase0.Slot(s.Uint64()), Index: 1, Source: &phase0.Checkpoint{Epoch: 2}, Target: &phase0.Checkpoint{Epoch: 3},
	}
	bits := bitfield.NewBitlist(uint64(1 + s.IntN(99)))
	bits.SetBitAt(0, true)
	indexed := &phase0.IndexedAttestation{AttestingIndices: []uint64{3, s.Uint64()}, Data: data, Signature: signature}
	proof := make([][]byte, 33)
	for i := range proof {
		proof[i] = s.fill(make([]byte, 32))
	}
	change := &capella.BLSToExecutionChange{ValidatorIndex: phase0.ValidatorIndex(s.Uint64())}
	s.fill(change.FromBLSPubkey[:])
	s.fill(change.ToExecutionAddress[:])
	return []*phase0.ProposerSlashing{{SignedHeader1: header(), SignedHeader2: header()}},
		[]*phase0.AttesterSlashing{{Attestation1: indexed, Attestation2: indexed}},
		[]*phase0.Attestation{{AggregationBits: bits, Data: data, Signature: signature}},
		[]*phase0.Deposit{{Proof: proof, Data: &phase0.DepositData{WithdrawalCredentials: s.fill(make([]byte, 32)),
			Signature: signature}}},
		[]*phase0.SignedVoluntaryExit{{Message: &phase0.VoluntaryExit{Epoch: 3, ValidatorIndex: 4}, Signature: signature}},
		[]*capella.SignedBLSToExecutionChange{{Message: change, Signature: signature}}
}

// electraOperations are the same two lists in electra's types.
func (s source) electraOperations(
	slashings []*phase0.AttesterSlashing, votes []*phase0.Attestation,
) ([]*electra.AttesterSlashing, []*electra.Attestation) {
	var a []*electra.AttesterSlashing
	for _, x := range slashings {
		first, second := electra.IndexedAttestation(*x.Attestation1), electra.IndexedAttestation(*x.Attestation2)
		a = append(a, &electra.AttesterSlashing{Attestation1: &first, Attestation2: &second})
	}
	var b []*electra.Attestation
	for _, x := range votes {
		committees := bitfield.NewBitvector64()
		committees.SetBitAt(uint64(s.IntN(64)), true)
		b = append(b, &electra.Attestation{
			AggregationBits: x.AggregationBits, Data: x.Data, Signature: x.Signature, CommitteeBits: committees,
		})
	}
	return a, b
}
