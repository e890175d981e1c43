// Package beacon is the devnet's beacon node: the standard Beacon API over HTTP, with a small
// consensus behind it that needs no peers.
//
//	                 ┌── clock: slot starts, attestation deadlines
//	                 ▼
//	publish v2 ──▶ import ──▶ Execution (newPayload, forkchoiceUpdated)
//	                 │
//	                 ├──▶ fork choice ──▶ head event ──▶ payload_attributes for the next slot
//	proposers ◀── duties, local blocks
//
// These are real: slots, epochs and fork boundaries; proposer signatures, RANDAO reveals and their
// mixes; block, header and body roots by SSZ; execution payloads, their hashes, blobs and KZG
// proofs; the order of withdrawals; proposer boost, late and orphaned blocks, equivocations; every
// byte of the HTTP interface.
//
// The beacon state is emulated. Its root is a hash of the parent's root and the slot, so that a
// blinded and a full block agree without a state transition. A client that asks for a whole state
// gets one in the standard's form, filled with what the emulation knows. Each slot's committee is
// one voter that attests, at the deadline, to the head that this node sees. Duties to attest, to
// aggregate and in the sync committee are listed, but what validators send for them is accepted and
// ignored. There are no deposits, exits or slashings of validators: the pools keep and show what is
// sent to them.
//
// From gloas on, blocks have bids, and payloads come in envelopes:
//
//	builders ◀─ask─ produce v4 ──▶ block with a bid ──▶ import (epbs.State) ──▶ fork choice (epbs.Tree): EMPTY
//	               own payload ──▶ envelope ──▶ import (newPayload) ──────────▶ FULL, or not if the committee was not shown it in time
//
// Builders' balances, payments and withdrawals are real there; the payload timeliness committee
// says what this node has seen at the deadlines of the specification, unless members send messages
// of their own. Finality is never below epoch 1, so that builders of genesis may bid at once, and a
// proposer of two blocks counts as slashed by the next one.
//
// Balances of validators stay at 32 ether, withdrawals are small gifts that validators get in
// turn, finality follows two epochs behind without votes, and there is no data availability
// sampling: a block without its blobs is refused.
package beacon
