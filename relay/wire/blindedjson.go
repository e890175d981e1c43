package wire

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Limits of a block's lists and bit fields (consensus-specs presets). For SSZ the libraries' types
// have them; the JSON reader needs them here.
const (
	maxProposerSlashings = 16
	maxDeposits          = 16
	maxExits             = 16
	maxChanges           = 16
	committeeMembers     = 2048
	depositProof         = 33
	syncCommitteeBytes   = 64
)

// The highest bit of the last byte marks the end of a list of bits.
var errBitsOpen = errors.New("no bits, or a last byte of zero: nothing ends the list")

// blindedJSON is a SignedBlindedBeaconBlock of any fork. It has the fields of all forks.
type blindedJSON struct {
	slot                  phase0.Slot
	proposer              phase0.ValidatorIndex
	parentRoot, stateRoot phase0.Root
	body                  blindedBody
	signature             phase0.BLSSignature
}

// blindedBody is the block's body. Slashings and attestations are in electra's types, which have
// all fields of the earlier ones.
type blindedBody struct {
	randao      phase0.BLSSignature
	eth1        phase0.ETH1Data
	graffiti    [32]byte
	proposers   []*phase0.ProposerSlashing
	attesters   []*electra.AttesterSlashing
	votes       []*electra.Attestation
	deposits    []*phase0.Deposit
	exits       []*phase0.SignedVoluntaryExit
	sync        altair.SyncAggregate
	header      payload.Header
	changes     []*capella.SignedBLSToExecutionChange
	commitments []deneb.KZGCommitment
	requests    electra.ExecutionRequests
}

var blindedShapes = perFork(func(fork eth.Fork) shape[blindedJSON] {
	type block = blindedJSON
	message := shape[block]{
		number("slot", func(b *block) *phase0.Slot { return &b.slot }),
		number("proposer_index", func(b *block) *phase0.ValidatorIndex { return &b.proposer }),
		fixed("parent_root", func(b *block) []byte { return b.parentRoot[:] }),
		fixed("state_root", func(b *block) []byte { return b.stateRoot[:] }),
		within("body", blindedBodyShape(fork), func(b *block) *blindedBody { return &b.body }),
	}
	return shape[block]{
		within("message", message, func(b *block) *block { return b }),
		fixed("signature", func(b *block) []byte { return b.signature[:] }),
	}
})

func blindedBodyShape(fork eth.Fork) shape[blindedBody] {
	type b = blindedBody
	limits := fork.Operations()
	members := committeeMembers * limits.Committees
	s := shape[b]{
		fixed("randao_reveal", func(b *b) []byte { return b.randao[:] }),
		within("eth1_data", eth1Shape, func(b *b) *phase0.ETH1Data { return &b.eth1 }),
		fixed("graffiti", func(b *b) []byte { return b.graffiti[:] }),
		objectList("proposer_slashings", maxProposerSlashings, proposerSlashingShape,
			func(b *b) *[]*phase0.ProposerSlashing { return &b.proposers }),
		objectList("attester_slashings", limits.AttesterSlashings, attesterSlashingShape(members),
			func(b *b) *[]*electra.AttesterSlashing { return &b.attesters }),
		objectList("attestations", limits.Attestations, attestationShape(fork, members), func(b *b) *[]*electra.Attestation {
			return &b.votes
		}),
		objectList("deposits", maxDeposits, depositWithProofShape, func(b *b) *[]*phase0.Deposit { return &b.deposits }),
		objectList("voluntary_exits", maxExits, exitShape, func(b *b) *[]*phase0.SignedVoluntaryExit { return &b.exits }),
		within("sync_aggregate", syncAggregateShape, func(b *b) *altair.SyncAggregate { return &b.sync }),
		within("execution_payload_header", headerShape(fork), func(b *b) *payload.Header { return &b.header }),
	}
	if fork.HasWithdrawals() {
		s = append(s, objectList("bls_to_execution_changes", maxChanges, changeShape,
			func(b *b) *[]*capella.SignedBLSToExecutionChange { return &b.changes }))
	}
	if fork.HasBlobs() {
		s = append(s, fixedList("blob_kzg_commitments", maxCommitments, commitmentBytes,
			func(b *b) *[]deneb.KZGCommitment { return &b.commitments }))
	}
	if fork.HasRequests() {
		s = append(s, within("execution_requests", requestsShape, func(b *b) *electra.ExecutionRequests {
			return &b.requests
		}))
	}
	return s
}

var eth1Shape = shape[phase0.ETH1Data]{
	fixed("deposit_root", func(d *phase0.ETH1Data) []byte { return d.DepositRoot[:] }),
	number("deposit_count", func(d *phase0.ETH1Data) *uint64 { return &d.DepositCount }),
	bytesOf("block_hash", phase0.HashLength, func(d *phase0.ETH1Data) *[]byte { return &d.BlockHash }),
}

var proposerSlashingShape = shape[phase0.ProposerSlashing]{
	made("signed_header_1", signedHeaderShape, func(s *phase0.ProposerSlashing) **phase0.SignedBeaconBlockHeader {
		return &s.SignedHeader1
	}),
	made("signed_header_2", signedHeaderShape, func(s *phase0.ProposerSlashing) **phase0.SignedBeaconBlockHeader {
		return &s.SignedHeader2
	}),
}

var signedHeaderShape = shape[phase0.SignedBeaconBlockHeader]{
	made("message", beaconHeaderShape, func(s *phase0.SignedBeaconBlockHeader) **phase0.BeaconBlockHeader {
		return &s.Message
	}),
	fixed("signature", func(s *phase0.SignedBeaconBlockHeader) []byte { return s.Signature[:] }),
}

var beaconHeaderShape = shape[phase0.BeaconBlockHeader]{
	number("slot", func(h *phase0.BeaconBlockHeader) *phase0.Slot { return &h.Slot }),
	number("proposer_index", func(h *phase0.BeaconBlockHeader) *phase0.ValidatorIndex { return &h.ProposerIndex }),
	fixed("parent_root", func(h *phase0.BeaconBlockHeader) []byte { return h.ParentRoot[:] }),
	fixed("state_root", func(h *phase0.BeaconBlockHeader) []byte { return h.StateRoot[:] }),
	fixed("body_root", func(h *phase0.BeaconBlockHeader) []byte { return h.BodyRoot[:] }),
}

func attesterSlashingShape(members int) shape[electra.AttesterSlashing] {
	type slashing = electra.AttesterSlashing
	indexed := shape[electra.IndexedAttestation]{
		{"attesting_indices", func(c *cursor, a *electra.IndexedAttestation) error {
			a.AttestingIndices = []uint64{}
			return c.list(decimals, members, func() error {
				index, err := c.uint64()
				a.AttestingIndices = append(a.AttestingIndices, index)
				return err
			})
		}},
		made("data", attestationDataShape, func(a *electra.IndexedAttestation) **phase0.AttestationData { return &a.Data }),
		fixed("signature", func(a *electra.IndexedAttestation) []byte { return a.Signature[:] }),
	}
	return shape[slashing]{
		made("attestation_1", indexed, func(s *slashing) **electra.IndexedAttestation { return &s.Attestation1 }),
		made("attestation_2", indexed, func(s *slashing) **electra.IndexedAttestation { return &s.Attestation2 }),
	}
}

func attestationShape(fork eth.Fork, members int) shape[electra.Attestation] {
	type vote = electra.Attestation
	s := shape[vote]{
		{"aggregation_bits", func(c *cursor, v *vote) (err error) {
			if v.AggregationBits, err = c.bytes(members/8 + 1); err != nil {
				return err
			}
			if n := len(v.AggregationBits); n == 0 || v.AggregationBits[n-1] == 0 {
				return errBitsOpen
			}
			return nil
		}},
		made("data", attestationDataShape, func(v *vote) **phase0.AttestationData { return &v.Data }),
		fixed("signature", func(v *vote) []byte { return v.Signature[:] }),
	}
	if fork.HasCommitteeBits() {
		s = append(s, bytesOf("committee_bits", fork.Operations().Committees/8, func(v *vote) *[]byte {
			return (*[]byte)(&v.CommitteeBits)
		}))
	}
	return s
}

var attestationDataShape = shape[phase0.AttestationData]{
	number("slot", func(d *phase0.AttestationData) *phase0.Slot { return &d.Slot }),
	number("index", func(d *phase0.AttestationData) *phase0.CommitteeIndex { return &d.Index }),
	fixed("beacon_block_root", func(d *phase0.AttestationData) []byte { return d.BeaconBlockRoot[:] }),
	made("source", checkpointShape, func(d *phase0.AttestationData) **phase0.Checkpoint { return &d.Source }),
	made("target", checkpointShape, func(d *phase0.AttestationData) **phase0.Checkpoint { return &d.Target }),
}

var checkpointShape = shape[phase0.Checkpoint]{
	number("epoch", func(p *phase0.Checkpoint) *phase0.Epoch { return &p.Epoch }),
	fixed("root", func(p *phase0.Checkpoint) []byte { return p.Root[:] }),
}

var depositWithProofShape = shape[phase0.Deposit]{
	{"proof", func(c *cursor, d *phase0.Deposit) error {
		d.Proof = make([][]byte, 0, depositProof)
		err := c.list(hexList, depositProof, func() error {
			root := make([]byte, phase0.HashLength)
			d.Proof = append(d.Proof, root)
			return c.fixed(root)
		})
		if err == nil && len(d.Proof) != depositProof {
			return fmt.Errorf("%d roots: want %d", len(d.Proof), depositProof)
		}
		return err
	}},
	made("data", depositDataShape, func(d *phase0.Deposit) **phase0.DepositData { return &d.Data }),
}

var depositDataShape = shape[phase0.DepositData]{
	fixed("pubkey", func(d *phase0.DepositData) []byte { return d.PublicKey[:] }),
	bytesOf("withdrawal_credentials", phase0.HashLength, func(d *phase0.DepositData) *[]byte {
		return &d.WithdrawalCredentials
	}),
	number("amount", func(d *phase0.DepositData) *phase0.Gwei { return &d.Amount }),
	fixed("signature", func(d *phase0.DepositData) []byte { return d.Signature[:] }),
}

var exitShape = shape[phase0.SignedVoluntaryExit]{
	made("message", shape[phase0.VoluntaryExit]{
		number("epoch", func(e *phase0.VoluntaryExit) *phase0.Epoch { return &e.Epoch }),
		number("validator_index", func(e *phase0.VoluntaryExit) *phase0.ValidatorIndex { return &e.ValidatorIndex }),
	}, func(e *phase0.SignedVoluntaryExit) **phase0.VoluntaryExit { return &e.Message }),
	fixed("signature", func(e *phase0.SignedVoluntaryExit) []byte { return e.Signature[:] }),
}

var syncAggregateShape = shape[altair.SyncAggregate]{
	bytesOf("sync_committee_bits", syncCommitteeBytes, func(a *altair.SyncAggregate) *[]byte {
		return (*[]byte)(&a.SyncCommitteeBits)
	}),
	fixed("sync_committee_signature", func(a *altair.SyncAggregate) []byte { return a.SyncCommitteeSignature[:] }),
}

var changeShape = shape[capella.SignedBLSToExecutionChange]{
	made("message", shape[capella.BLSToExecutionChange]{
		number("validator_index", func(c *capella.BLSToExecutionChange) *phase0.ValidatorIndex { return &c.ValidatorIndex }),
		fixed("from_bls_pubkey", func(c *capella.BLSToExecutionChange) []byte { return c.FromBLSPubkey[:] }),
		fixed("to_execution_address", func(c *capella.BLSToExecutionChange) []byte { return c.ToExecutionAddress[:] }),
	}, func(s *capella.SignedBLSToExecutionChange) **capella.BLSToExecutionChange { return &s.Message }),
	fixed("signature", func(s *capella.SignedBLSToExecutionChange) []byte { return s.Signature[:] }),
}
