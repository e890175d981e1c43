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
package chain
