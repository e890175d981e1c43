// Package beacon is the devnet's beacon node: the standard Beacon API over HTTP, in front of a
// small consensus that needs no peers.
//
//	                 ┌── clock: slot starts, attestation deadlines
//	                 ▼
//	publish v2 ──▶ import ──▶ Execution (newPayload, forkchoiceUpdated)
//	                 │
//	                 ├──▶ fork choice ──▶ head event ──▶ payload_attributes for the next slot
//	proposers ◀── duties, local blocks
//
// Real: slots, epochs and fork boundaries; proposer signatures, RANDAO reveals and their mixes;
// block, header and body roots by SSZ; execution payloads, their hashes, blobs and KZG proofs; the
// order of withdrawals; proposer boost, late and orphaned blocks, equivocations; every byte of the
// HTTP interface.
//
// Emulated: the beacon state. Its root is a hash of the parent's root and the slot, so that a
// blinded and a full block agree without a state transition; whoever asks for a whole state gets
// one in the standard's form, with what is known of it. Each slot's committee is one voter that
// attests, at the deadline, to the head that this node sees; who attests, aggregates or sits in the
// sync committee is told, and what they send is taken and not needed. There are no deposits, exits
// or slashings: what is sent to the pools is kept and shown. Balances stay at 32 ether, withdrawals
// are small gifts in turn, finality trails by two epochs without being voted for, and there is no
// data availability sampling: a block's blobs come with it or it is refused.
package beacon
