package gloas

import (
	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Attestation is a vote of several committees, with progressive bits since gloas (EIP-7688). Its
// data's index says which payload status the block had: 0 for empty, 1 for full.
type Attestation struct {
	AggregationBits bitfield.Bitlist        `ssz-index:"0" ssz-type:"progressive-bitlist"`
	Data            *phase0.AttestationData `ssz-index:"1"`
	Signature       phase0.BLSSignature     `ssz-index:"2"`
	CommitteeBits   bitfield.Bitvector64    `ssz-index:"3" ssz-size:"8" ssz-type:"bitvector"`
}

// IndexedAttestation names the voters by their indices.
type IndexedAttestation struct {
	AttestingIndices []phase0.ValidatorIndex `ssz-index:"0" ssz-type:"progressive-list"`
	Data             *phase0.AttestationData `ssz-index:"1"`
	Signature        phase0.BLSSignature     `ssz-index:"2"`
}

// AttesterSlashing has two votes that contradict each other.
type AttesterSlashing struct {
	Attestation1 *IndexedAttestation
	Attestation2 *IndexedAttestation
}

// AggregateAndProof is an aggregator's vote of its committee.
type AggregateAndProof struct {
	AggregatorIndex phase0.ValidatorIndex
	Aggregate       *Attestation
	SelectionProof  phase0.BLSSignature
}

// SignedAggregateAndProof is signed by the aggregator.
type SignedAggregateAndProof struct {
	Message   *AggregateAndProof
	Signature phase0.BLSSignature
}

func checkpointShape() shape.Shape[phase0.Checkpoint] {
	type c = phase0.Checkpoint
	return shape.Container(
		number("epoch", func(c *c) *phase0.Epoch { return &c.Epoch }),
		shape.In("root", root, func(c *c) *phase0.Root { return &c.Root }),
	)
}

func attestationDataShape() shape.Shape[phase0.AttestationData] {
	type d = phase0.AttestationData
	return shape.Container(
		number("slot", func(d *d) *phase0.Slot { return &d.Slot }),
		number("index", func(d *d) *phase0.CommitteeIndex { return &d.Index }),
		shape.In("beacon_block_root", root, func(d *d) *phase0.Root { return &d.BeaconBlockRoot }),
		shape.In("source", shape.Pointer(checkpointShape()), func(d *d) **phase0.Checkpoint { return &d.Source }),
		shape.In("target", shape.Pointer(checkpointShape()), func(d *d) **phase0.Checkpoint { return &d.Target }),
	)
}

func attestationShape(committees int) shape.Shape[Attestation] {
	type a = Attestation
	return shape.ProgressiveContainer(
		shape.In("aggregation_bits", shape.ProgressiveBits[bitfield.Bitlist](),
			func(a *a) *bitfield.Bitlist { return &a.AggregationBits }),
		shape.In("data", shape.Pointer(attestationDataShape()), func(a *a) **phase0.AttestationData { return &a.Data }),
		shape.In("signature", signature, func(a *a) *phase0.BLSSignature { return &a.Signature }),
		shape.In("committee_bits", shape.Bits[bitfield.Bitvector64](committees),
			func(a *a) *bitfield.Bitvector64 { return &a.CommitteeBits }),
	)
}

func indexedAttestationShape() shape.Shape[IndexedAttestation] {
	type a = IndexedAttestation
	return shape.ProgressiveContainer(
		shape.In("attesting_indices", shape.Progressive(shape.Number[phase0.ValidatorIndex]()),
			func(a *a) *[]phase0.ValidatorIndex { return &a.AttestingIndices }),
		shape.In("data", shape.Pointer(attestationDataShape()), func(a *a) **phase0.AttestationData { return &a.Data }),
		shape.In("signature", signature, func(a *a) *phase0.BLSSignature { return &a.Signature }),
	)
}

func attesterSlashingShape() shape.Shape[AttesterSlashing] {
	type s = AttesterSlashing
	return shape.Container(
		shape.In("attestation_1", shape.Pointer(indexedAttestationShape()),
			func(s *s) **IndexedAttestation { return &s.Attestation1 }),
		shape.In("attestation_2", shape.Pointer(indexedAttestationShape()),
			func(s *s) **IndexedAttestation { return &s.Attestation2 }),
	)
}

func aggregateShape(committees int) shape.Shape[AggregateAndProof] {
	type a = AggregateAndProof
	return shape.Container(
		number("aggregator_index", func(a *a) *phase0.ValidatorIndex { return &a.AggregatorIndex }),
		shape.In("aggregate", shape.Pointer(attestationShape(committees)), func(a *a) **Attestation { return &a.Aggregate }),
		shape.In("selection_proof", signature, func(a *a) *phase0.BLSSignature { return &a.SelectionProof }),
	)
}

func signedAggregateShape(committees int) shape.Shape[SignedAggregateAndProof] {
	type signed = SignedAggregateAndProof
	return signedShape(aggregateShape(committees), func(s *signed) **AggregateAndProof { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
