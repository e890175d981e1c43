// Package method has the methods of the bundle JSON-RPC, one file each: a method's name and
// parameters (for OpenRPC and the documentation), and what it does. It knows neither HTTP nor
// signatures: each call has its signer.
//
//	jsonrpc ─▶ Call ─▶ method ─┬─▶ bundle: parse and validate ─▶ Submitter, Canceller, Tracker
//	                           ├─▶ bundle ─▶ Simulator                     eth_callBundle, mev_simBundle, eth_estimateGasBundle
//	                           └─▶ Refunds, Users                          what the ledger and package reputation know
package method
