// Package bid decides what the relay bids from gloas on, where a bid is the relay's own under the
// key of its staked builder, and what it reveals after a proposer has taken the bid. It is pure.
//
//	blocks of builders, best first ─▶ Make ─▶ a bid to sign, or the reason why there is none
//	the own bid, and those that staked builders have signed ─▶ Choose ─▶ the one that is served
//	blocks of the proposer ─▶ Sale ─▶ the one envelope that may be revealed, or the reason why not
//
// The proposer is paid within the payload (execution_payment). The bid's value, which the relay
// pays from its stake, is 0 unless the operator gives a share (Stake). docs/gloas.md tells the
// rules of the specifications.
package bid
