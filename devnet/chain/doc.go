// Package chain is the devnet's execution node: go-ethereum in this process. The EVM, state roots,
// the transaction pool with blobs, fork activation and the Engine API's own code are real. There is
// no network between nodes, because there is only one. The deposit contract is emulated: it only
// logs.
//
//	beacon node ──Import──▶ newPayload ──┐
//	            ──SetHead─▶ forkchoice ──┼──▶ core.BlockChain ◀── Build (a builder's block, executed and imported nowhere)
//	users ──JSON-RPC──▶ pool ──Pending──▶│
//
// Genesis is after the merge. Consensus forks activate execution forks: bellatrix = paris, capella
// = shanghai, deneb = cancun, electra = prague, fulu = osaka.
//
// Genesis has the market of the devnet (market.go) at fixed addresses, with its storage filled, so
// that trading can begin in block 1: two pools of wrapped ether and a token, a router through which
// users swap, and a contract that closes the price gap between the pools. The Solidity sources are
// in contracts/; scripts/contracts.sh compiles them to the JSON files there.
//
//	user ──buy, sell──▶ Router ──▶ PoolA ──Sync, Swap──▶ logs, which hints show
//	                                 ≠ another price than
//	searcher ──run──▶ Backrun ──▶ PoolA, PoolB ──▶ profit: a part to the block's fee recipient, the rest to the searcher
//
// Builders' blocks are validated on the same chain (validator.go). Each block is executed on its
// parent's state, and the result compared with what the block claims and what it was promised to
// pay. Validation inserts nothing into the chain, and remembers nothing of invalid blocks.
//
//	hash ─ parent ─ header ─ gas limit ─ body ─┬─ state ─ execution ─ results ─ payment ─┬─ verdict
//	                                           └─ blob proofs (beside it, cached) ───────┘
//
// The pools' arithmetic is in Go, too (quote.go), for agents that decide before they sign.
package chain
