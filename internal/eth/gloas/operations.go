package gloas

import (
	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// depositProof is how many hashes prove a deposit: DEPOSIT_CONTRACT_TREE_DEPTH and the count.
const depositProof = 33

func eth1DataShape() shape.Shape[phase0.ETH1Data] {
	type d = phase0.ETH1Data
	return shape.Container(
		shape.In("deposit_root", root, func(d *d) *phase0.Root { return &d.DepositRoot }),
		number("deposit_count", func(d *d) *uint64 { return &d.DepositCount }),
		shape.In("block_hash", shape.Slice(32), func(d *d) *[]byte { return &d.BlockHash }),
	)
}

func headerShape() shape.Shape[phase0.BeaconBlockHeader] {
	type h = phase0.BeaconBlockHeader
	return shape.Container(
		number("slot", func(h *h) *phase0.Slot { return &h.Slot }),
		number("proposer_index", func(h *h) *phase0.ValidatorIndex { return &h.ProposerIndex }),
		shape.In("parent_root", root, func(h *h) *phase0.Root { return &h.ParentRoot }),
		shape.In("state_root", root, func(h *h) *phase0.Root { return &h.StateRoot }),
		shape.In("body_root", root, func(h *h) *phase0.Root { return &h.BodyRoot }),
	)
}

func signedHeaderShape() shape.Shape[phase0.SignedBeaconBlockHeader] {
	type signed = phase0.SignedBeaconBlockHeader
	return signedShape(headerShape(), func(s *signed) **phase0.BeaconBlockHeader { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}

func proposerSlashingShape() shape.Shape[phase0.ProposerSlashing] {
	type s = phase0.ProposerSlashing
	return shape.Container(
		shape.In("signed_header_1", shape.Pointer(signedHeaderShape()),
			func(s *s) **phase0.SignedBeaconBlockHeader { return &s.SignedHeader1 }),
		shape.In("signed_header_2", shape.Pointer(signedHeaderShape()),
			func(s *s) **phase0.SignedBeaconBlockHeader { return &s.SignedHeader2 }),
	)
}

func depositDataShape() shape.Shape[phase0.DepositData] {
	type d = phase0.DepositData
	return shape.Container(
		shape.In("pubkey", pubkey, func(d *d) *phase0.BLSPubKey { return &d.PublicKey }),
		shape.In("withdrawal_credentials", shape.Slice(32), func(d *d) *[]byte { return &d.WithdrawalCredentials }),
		number("amount", func(d *d) *phase0.Gwei { return &d.Amount }),
		shape.In("signature", signature, func(d *d) *phase0.BLSSignature { return &d.Signature }),
	)
}

func depositShape() shape.Shape[phase0.Deposit] {
	type d = phase0.Deposit
	return shape.Container(
		shape.In("proof", shape.Vector(shape.Slice(32), depositProof), func(d *d) *[][]byte { return &d.Proof }),
		shape.In("data", shape.Pointer(depositDataShape()), func(d *d) **phase0.DepositData { return &d.Data }),
	)
}

func exitShape() shape.Shape[phase0.VoluntaryExit] {
	type e = phase0.VoluntaryExit
	return shape.Container(
		number("epoch", func(e *e) *phase0.Epoch { return &e.Epoch }),
		number("validator_index", func(e *e) *phase0.ValidatorIndex { return &e.ValidatorIndex }),
	)
}

func signedExitShape() shape.Shape[phase0.SignedVoluntaryExit] {
	type signed = phase0.SignedVoluntaryExit
	return signedShape(exitShape(), func(s *signed) **phase0.VoluntaryExit { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}

func syncAggregateShape(committee int) shape.Shape[altair.SyncAggregate] {
	type a = altair.SyncAggregate
	return shape.Container(
		shape.In("sync_committee_bits", shape.Bits[bitfield.Bitvector512](committee),
			func(a *a) *bitfield.Bitvector512 { return &a.SyncCommitteeBits }),
		shape.In("sync_committee_signature", signature,
			func(a *a) *phase0.BLSSignature { return &a.SyncCommitteeSignature }),
	)
}

func credentialChangeShape() shape.Shape[capella.BLSToExecutionChange] {
	type c = capella.BLSToExecutionChange
	return shape.Container(
		number("validator_index", func(c *c) *phase0.ValidatorIndex { return &c.ValidatorIndex }),
		shape.In("from_bls_pubkey", pubkey, func(c *c) *phase0.BLSPubKey { return &c.FromBLSPubkey }),
		shape.In("to_execution_address", address,
			func(c *c) *bellatrix.ExecutionAddress { return &c.ToExecutionAddress }),
	)
}

func signedCredentialChangeShape() shape.Shape[capella.SignedBLSToExecutionChange] {
	type signed = capella.SignedBLSToExecutionChange
	return signedShape(credentialChangeShape(), func(s *signed) **capella.BLSToExecutionChange { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
