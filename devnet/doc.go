// Package devnet defines what a run of the lab is configured with (Config) and what agents report
// (Event). Of the packages below it, network has the chain and the beacon node, agent has the
// participants, and app runs gavel's services together with them. Agents and services meet over
// HTTP only, as strangers would.
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
// Package display shows what happens in each slot.
package devnet
