// Package devnet is the vocabulary of the laboratory's network: what one may ask of a run (Config).
// The rooms below it are the network's parts; app wires them to the services over HTTP, as
// strangers would meet.
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
