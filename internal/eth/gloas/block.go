package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// BeaconBlock has a bid instead of a payload.
type BeaconBlock struct {
	Slot          phase0.Slot
	ProposerIndex phase0.ValidatorIndex
	ParentRoot    phase0.Root
	StateRoot     phase0.Root
	Body          *BeaconBlockBody
}

// SignedBeaconBlock is signed by the proposer under DomainBeaconProposer.
type SignedBeaconBlock struct {
	Message   *BeaconBlock
	Signature phase0.BLSSignature
}

// BeaconBlockBody has the votes on the payload of the block before, and the requests of that
// payload.
type BeaconBlockBody struct {
	RANDAOReveal              phase0.BLSSignature                   `ssz-index:"0"`
	ETH1Data                  *phase0.ETH1Data                      `ssz-index:"1"`
	Graffiti                  [32]byte                              `ssz-index:"2"`
	ProposerSlashings         []*phase0.ProposerSlashing            `ssz-index:"3" ssz-type:"progressive-list"`
	AttesterSlashings         []*AttesterSlashing                   `ssz-index:"4" ssz-type:"progressive-list"`
	Attestations              []*Attestation                        `ssz-index:"5" ssz-type:"progressive-list"`
	Deposits                  []*phase0.Deposit                     `ssz-index:"6" ssz-type:"progressive-list"`
	VoluntaryExits            []*phase0.SignedVoluntaryExit         `ssz-index:"7" ssz-type:"progressive-list"`
	SyncAggregate             *altair.SyncAggregate                 `ssz-index:"8"`
	BLSToExecutionChanges     []*capella.SignedBLSToExecutionChange `ssz-index:"9" ssz-type:"progressive-list"`
	SignedExecutionPayloadBid *SignedExecutionPayloadBid            `ssz-index:"10"`
	PayloadAttestations       []*PayloadAttestation                 `ssz-index:"11" ssz-type:"progressive-list"`
	ParentExecutionRequests   *ExecutionRequests                    `ssz-index:"12"`
}

func bodyShape(p Preset) shape.Shape[BeaconBlockBody] {
	type b = BeaconBlockBody
	return shape.ProgressiveContainer(
		shape.In("randao_reveal", signature, func(b *b) *phase0.BLSSignature { return &b.RANDAOReveal }),
		shape.In("eth1_data", shape.Pointer(eth1DataShape()), func(b *b) **phase0.ETH1Data { return &b.ETH1Data }),
		shape.In("graffiti", bytes32, func(b *b) *[32]byte { return &b.Graffiti }),
		shape.In("proposer_slashings", shape.Progressive(shape.Pointer(proposerSlashingShape())),
			func(b *b) *[]*phase0.ProposerSlashing { return &b.ProposerSlashings }),
		shape.In("attester_slashings", shape.Progressive(shape.Pointer(attesterSlashingShape())),
			func(b *b) *[]*AttesterSlashing { return &b.AttesterSlashings }),
		shape.In("attestations", shape.Progressive(shape.Pointer(attestationShape(p.CommitteesPerSlot))),
			func(b *b) *[]*Attestation { return &b.Attestations }),
		shape.In("deposits", shape.Progressive(shape.Pointer(depositShape())),
			func(b *b) *[]*phase0.Deposit { return &b.Deposits }),
		shape.In("voluntary_exits", shape.Progressive(shape.Pointer(signedExitShape())),
			func(b *b) *[]*phase0.SignedVoluntaryExit { return &b.VoluntaryExits }),
		shape.In("sync_aggregate", shape.Pointer(syncAggregateShape(p.SyncCommittee)),
			func(b *b) **altair.SyncAggregate { return &b.SyncAggregate }),
		shape.In("bls_to_execution_changes", shape.Progressive(shape.Pointer(signedCredentialChangeShape())),
			func(b *b) *[]*capella.SignedBLSToExecutionChange { return &b.BLSToExecutionChanges }),
		shape.In("signed_execution_payload_bid", shape.Pointer(signedBidShape()),
			func(b *b) **SignedExecutionPayloadBid { return &b.SignedExecutionPayloadBid }),
		shape.In("payload_attestations", shape.Progressive(shape.Pointer(payloadAttestationShape(p.PayloadCommittee))),
			func(b *b) *[]*PayloadAttestation { return &b.PayloadAttestations }),
		shape.In("parent_execution_requests", shape.Pointer(requestsShape()),
			func(b *b) **ExecutionRequests { return &b.ParentExecutionRequests }),
	)
}

func blockShape(p Preset) shape.Shape[BeaconBlock] {
	type b = BeaconBlock
	return shape.Container(
		number("slot", func(b *b) *phase0.Slot { return &b.Slot }),
		number("proposer_index", func(b *b) *phase0.ValidatorIndex { return &b.ProposerIndex }),
		shape.In("parent_root", root, func(b *b) *phase0.Root { return &b.ParentRoot }),
		shape.In("state_root", root, func(b *b) *phase0.Root { return &b.StateRoot }),
		shape.In("body", shape.Pointer(bodyShape(p)), func(b *b) **BeaconBlockBody { return &b.Body }),
	)
}

func signedBlockShape(p Preset) shape.Shape[SignedBeaconBlock] {
	type signed = SignedBeaconBlock
	return signedShape(blockShape(p), func(s *signed) **BeaconBlock { return &s.Message },
		func(s *signed) *phase0.BLSSignature { return &s.Signature })
}
