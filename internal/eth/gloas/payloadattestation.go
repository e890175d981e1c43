package gloas

import (
	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// PayloadAttestationData is what a member of the payload timeliness committee says about a slot.
type PayloadAttestationData struct {
	BeaconBlockRoot   phase0.Root
	Slot              phase0.Slot
	PayloadPresent    bool
	BlobDataAvailable bool
}

// PayloadAttestationMessage is the vote of one member, signed under DomainPTCAttester.
type PayloadAttestationMessage struct {
	ValidatorIndex phase0.ValidatorIndex
	Data           *PayloadAttestationData
	Signature      phase0.BLSSignature
}

// PayloadAttestation is the votes of all members that say the same. AggregationBits has a bit for
// each member of the committee (PTC_SIZE).
type PayloadAttestation struct {
	AggregationBits bitfield.Bitvector512   `ssz-index:"0" ssz-size:"64" ssz-type:"bitvector"`
	Data            *PayloadAttestationData `ssz-index:"1"`
	Signature       phase0.BLSSignature     `ssz-index:"2"`
}

// IndexedPayloadAttestation names the members by their indices, which are sorted and may occur more
// than once.
type IndexedPayloadAttestation struct {
	AttestingIndices []phase0.ValidatorIndex `ssz-index:"0" ssz-max:"512"`
	Data             *PayloadAttestationData `ssz-index:"1"`
	Signature        phase0.BLSSignature     `ssz-index:"2"`
}

func payloadAttestationDataShape() shape.Shape[PayloadAttestationData] {
	type d = PayloadAttestationData
	return shape.Container(
		shape.In("beacon_block_root", root, func(d *d) *phase0.Root { return &d.BeaconBlockRoot }),
		number("slot", func(d *d) *phase0.Slot { return &d.Slot }),
		shape.In("payload_present", shape.Flag(), func(d *d) *bool { return &d.PayloadPresent }),
		shape.In("blob_data_available", shape.Flag(), func(d *d) *bool { return &d.BlobDataAvailable }),
	)
}

func payloadAttestationMessageShape() shape.Shape[PayloadAttestationMessage] {
	type m = PayloadAttestationMessage
	return shape.Container(
		number("validator_index", func(m *m) *phase0.ValidatorIndex { return &m.ValidatorIndex }),
		shape.In("data", shape.Pointer(payloadAttestationDataShape()),
			func(m *m) **PayloadAttestationData { return &m.Data }),
		shape.In("signature", signature, func(m *m) *phase0.BLSSignature { return &m.Signature }),
	)
}

func payloadAttestationShape(committee int) shape.Shape[PayloadAttestation] {
	type a = PayloadAttestation
	return shape.ProgressiveContainer(
		shape.In("aggregation_bits", shape.Bits[bitfield.Bitvector512](committee),
			func(a *a) *bitfield.Bitvector512 { return &a.AggregationBits }),
		shape.In("data", shape.Pointer(payloadAttestationDataShape()),
			func(a *a) **PayloadAttestationData { return &a.Data }),
		shape.In("signature", signature, func(a *a) *phase0.BLSSignature { return &a.Signature }),
	)
}

func indexedPayloadAttestationShape(committee int) shape.Shape[IndexedPayloadAttestation] {
	type a = IndexedPayloadAttestation
	return shape.ProgressiveContainer(
		shape.In("attesting_indices", shape.List(shape.Number[phase0.ValidatorIndex](), committee),
			func(a *a) *[]phase0.ValidatorIndex { return &a.AttestingIndices }),
		shape.In("data", shape.Pointer(payloadAttestationDataShape()),
			func(a *a) **PayloadAttestationData { return &a.Data }),
		shape.In("signature", signature, func(a *a) *phase0.BLSSignature { return &a.Signature }),
	)
}
