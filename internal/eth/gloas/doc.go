// Package gloas has the containers of the gloas fork (EIP-7732: the builder's bid is in the block,
// and the payload follows in an envelope): their SSZ, hash tree roots, JSON, and the domains that
// they are signed under. It is pure.
//
//	proposer ─▶ SignedProposerPreferences ─▶ builder
//	proposer ─▶ SignedBuilderRequestAuth ──▶ builder ─▶ SignedExecutionPayloadBid ─▶ proposer
//	proposer ─▶ SignedBeaconBlock (with the bid) ─▶ builder ─▶ SignedExecutionPayloadEnvelope
//	committee ─▶ PayloadAttestationMessage: was the payload there in time?
//
// The containers are those of consensus-specs v1.7.0-beta.2 (specs/gloas, with the progressive
// types of EIP-7688), of the Builder API (builder-specs, specs/gloas) and of the Beacon API. A
// container that a fork before gloas has in the same form keeps the type of go-eth2-client.
// docs/gloas.md says what may still change.
//
// Most lists have no limit in their type: what a block may carry is checked by CheckLimits.
//
// The ssz tags are for another implementation, which tests compare with this one. Forms is what
// counts.
package gloas
