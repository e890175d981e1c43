package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// Preset is what differs between the presets of consensus-specs in the containers of this package:
// lengths of bitvectors.
type Preset struct {
	PayloadCommittee  int // PTC_SIZE
	SyncCommittee     int // SYNC_COMMITTEE_SIZE
	CommitteesPerSlot int // MAX_COMMITTEES_PER_SLOT
}

// Forms has the shape of each container in a preset.
type Forms struct {
	// Of forks before, as they are in blocks of gloas.
	Checkpoint                 shape.Shape[phase0.Checkpoint]
	AttestationData            shape.Shape[phase0.AttestationData]
	ETH1Data                   shape.Shape[phase0.ETH1Data]
	BeaconBlockHeader          shape.Shape[phase0.BeaconBlockHeader]
	SignedBeaconBlockHeader    shape.Shape[phase0.SignedBeaconBlockHeader]
	ProposerSlashing           shape.Shape[phase0.ProposerSlashing]
	DepositData                shape.Shape[phase0.DepositData]
	Deposit                    shape.Shape[phase0.Deposit]
	VoluntaryExit              shape.Shape[phase0.VoluntaryExit]
	SignedVoluntaryExit        shape.Shape[phase0.SignedVoluntaryExit]
	SyncAggregate              shape.Shape[altair.SyncAggregate]
	BLSToExecutionChange       shape.Shape[capella.BLSToExecutionChange]
	SignedBLSToExecutionChange shape.Shape[capella.SignedBLSToExecutionChange]
	Withdrawals                shape.Shape[[]*capella.Withdrawal]
	DepositRequest             shape.Shape[electra.DepositRequest]
	WithdrawalRequest          shape.Shape[electra.WithdrawalRequest]
	ConsolidationRequest       shape.Shape[electra.ConsolidationRequest]

	// Votes, in the form that they have since gloas.
	Attestation               shape.Shape[Attestation]
	IndexedAttestation        shape.Shape[IndexedAttestation]
	AttesterSlashing          shape.Shape[AttesterSlashing]
	AggregateAndProof         shape.Shape[AggregateAndProof]
	SignedAggregateAndProof   shape.Shape[SignedAggregateAndProof]
	PayloadAttestationData    shape.Shape[PayloadAttestationData]
	PayloadAttestationMessage shape.Shape[PayloadAttestationMessage]
	PayloadAttestation        shape.Shape[PayloadAttestation]
	IndexedPayloadAttestation shape.Shape[IndexedPayloadAttestation]

	// Builders, bids, payloads and blocks.
	Builder                        shape.Shape[Builder]
	BuilderPendingWithdrawal       shape.Shape[BuilderPendingWithdrawal]
	BuilderPendingPayment          shape.Shape[BuilderPendingPayment]
	BuilderDepositRequest          shape.Shape[BuilderDepositRequest]
	BuilderExitRequest             shape.Shape[BuilderExitRequest]
	ExecutionRequests              shape.Shape[ExecutionRequests]
	ExecutionPayload               shape.Shape[ExecutionPayload]
	ExecutionPayloadBid            shape.Shape[ExecutionPayloadBid]
	SignedExecutionPayloadBid      shape.Shape[SignedExecutionPayloadBid]
	ExecutionPayloadEnvelope       shape.Shape[ExecutionPayloadEnvelope]
	SignedExecutionPayloadEnvelope shape.Shape[SignedExecutionPayloadEnvelope]
	BeaconBlockBody                shape.Shape[BeaconBlockBody]
	BeaconBlock                    shape.Shape[BeaconBlock]
	SignedBeaconBlock              shape.Shape[SignedBeaconBlock]
	ProposerPreferences            shape.Shape[ProposerPreferences]
	SignedProposerPreferences      shape.Shape[SignedProposerPreferences]

	// Requests of the Builder API and the Beacon API, and what builders send to relays.
	BuilderRequestAuth        shape.Shape[BuilderRequestAuth]
	SignedBuilderRequestAuth  shape.Shape[SignedBuilderRequestAuth]
	BuilderPreferences        shape.Shape[BuilderPreferences]
	BuilderPreferencesRequest shape.Shape[BuilderPreferencesRequest]
	BuilderEntry              shape.Shape[BuilderEntry]
	BuilderConfig             shape.Shape[BuilderConfig]
	BuilderPreferencesEntry   shape.Shape[BuilderPreferencesEntry]
	EnvelopeContents          shape.Shape[SignedExecutionPayloadEnvelopeContents]
	SignedBidSubmissionV6     shape.Shape[SignedBidSubmissionV6]

	// Of staked builders, on a wire of our own.
	BidContents           shape.Shape[BidContents]
	SignedBuilderBid      shape.Shape[SignedBuilderBid]
	BlindedEnvelope       shape.Shape[BlindedExecutionPayloadEnvelope]
	SignedBlindedEnvelope shape.Shape[SignedBlindedExecutionPayloadEnvelope]
}

// Mainnet has the forms of the mainnet preset, which public networks use.
var Mainnet = FormsOf(Preset{PayloadCommittee: 512, SyncCommittee: 512, CommitteesPerSlot: 64})

// FormsOf makes the forms of a preset.
func FormsOf(p Preset) *Forms {
	forms := &Forms{
		Checkpoint:                 checkpointShape(),
		AttestationData:            attestationDataShape(),
		ETH1Data:                   eth1DataShape(),
		BeaconBlockHeader:          headerShape(),
		SignedBeaconBlockHeader:    signedHeaderShape(),
		ProposerSlashing:           proposerSlashingShape(),
		DepositData:                depositDataShape(),
		Deposit:                    depositShape(),
		VoluntaryExit:              exitShape(),
		SignedVoluntaryExit:        signedExitShape(),
		SyncAggregate:              syncAggregateShape(p.SyncCommittee),
		BLSToExecutionChange:       credentialChangeShape(),
		SignedBLSToExecutionChange: signedCredentialChangeShape(),
		Withdrawals:                withdrawalsShape(),
		DepositRequest:             depositRequestShape(),
		WithdrawalRequest:          withdrawalRequestShape(),
		ConsolidationRequest:       consolidationRequestShape(),

		Attestation:               attestationShape(p.CommitteesPerSlot),
		IndexedAttestation:        indexedAttestationShape(),
		AttesterSlashing:          attesterSlashingShape(),
		AggregateAndProof:         aggregateShape(p.CommitteesPerSlot),
		SignedAggregateAndProof:   signedAggregateShape(p.CommitteesPerSlot),
		PayloadAttestationData:    payloadAttestationDataShape(),
		PayloadAttestationMessage: payloadAttestationMessageShape(),
		PayloadAttestation:        payloadAttestationShape(p.PayloadCommittee),
		IndexedPayloadAttestation: indexedPayloadAttestationShape(p.PayloadCommittee),

		Builder:                        builderShape(),
		BuilderPendingWithdrawal:       pendingWithdrawalShape(),
		BuilderPendingPayment:          pendingPaymentShape(),
		BuilderDepositRequest:          builderDepositShape(),
		BuilderExitRequest:             builderExitShape(),
		ExecutionRequests:              requestsShape(),
		ExecutionPayload:               payloadShape(),
		ExecutionPayloadBid:            bidShape(),
		SignedExecutionPayloadBid:      signedBidShape(),
		ExecutionPayloadEnvelope:       envelopeShape(),
		SignedExecutionPayloadEnvelope: signedEnvelopeShape(),
		BeaconBlockBody:                bodyShape(p),
		BeaconBlock:                    blockShape(p),
		SignedBeaconBlock:              signedBlockShape(p),
		ProposerPreferences:            proposerPreferencesShape(),
		SignedProposerPreferences:      signedProposerPreferencesShape(),

		BuilderRequestAuth:        requestAuthShape(),
		SignedBuilderRequestAuth:  signedRequestAuthShape(),
		BuilderPreferences:        builderPreferencesShape(),
		BuilderPreferencesRequest: builderPreferencesRequestShape(),
		BuilderEntry:              builderEntryShape(),
		BuilderConfig:             builderConfigShape(),
		BuilderPreferencesEntry:   builderPreferencesEntryShape(),
		EnvelopeContents:          envelopeContentsShape(),
		SignedBidSubmissionV6:     submissionShape(),
	}
	forms.addOwnWire()
	return forms
}

// addOwnWire makes the forms that are the same in all presets and in no specification.
func (f *Forms) addOwnWire() {
	f.BidContents, f.SignedBuilderBid = bidContentsShape(), builderBidShape()
	f.BlindedEnvelope, f.SignedBlindedEnvelope = blindedEnvelopeShape(), signedBlindedEnvelopeShape()
}
