// Package devnet is the vocabulary of the laboratory: what one may ask of a run (Config), and what
// agents tell of what they meet (Event). Below it, network is what is there before anybody takes
// part, agent has who takes part, and app runs gavel's services among them, who meet over HTTP as
// strangers would.
//
//	user ──transactions──▶ chain (EVM, in process) ◀──blocks── beacon (beacon-node emulator, its clock runs Speed times faster)
//	                         │ pending                            │ duties, attributes, head
//	                         ▼                                    ▼
//	                      builder ──bids over HTTP──▶ relay ◀──headers, blinded blocks over HTTP── proposer
//	                                                    │
//	                                                    └──published blocks──▶ beacon ──▶ chain
//
//	user ──private transactions──▶ bundle RPC ──▶ event stream ──hints──▶ searcher ──backruns──▶ bundle RPC ──bundles──▶ builder
//
// What happens in each slot is shown by display.
package devnet
