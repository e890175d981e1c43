// Package epbs has the rules of gloas' consensus that the devnet's beacon node needs beside those
// of the forks before (EIP-7732, enshrined proposer-builder separation; consensus-specs,
// specs/gloas/beacon-chain.md and fork-choice.md): what builders own and owe, whose payloads a
// block builds on, what withdrawals a payload must have, and which bid a proposer takes. It is
// pure.
//
//	block ─▶ Block ─┬─ parent FULL: its requests and its payment count      (parent.go, requests.go)
//	                ├─ parent FULL: the withdrawals of the next payload      (withdrawals.go)
//	                ├─ the bid: covered, signed, on the newest payload       (bid.go)
//	                └─ votes of the same slot; slashings void a payment      (votes.go)
//	blocks, payloads, votes ─▶ Tree: the head, FULL or EMPTY                 (tree.go)
//	epoch ends ─▶ Advance: payments with enough votes are owed, others void  (epoch.go)
package epbs
