// Package method has the methods of the bundle JSON-RPC, one file each: what a method is called and
// takes (for OpenRPC and the docs), and what it does. It knows neither HTTP nor signatures: a call
// comes with its signer.
//
//	jsonrpc ─▶ Call ─▶ method ─┬─▶ bundle: parse and validate ─▶ Orders (take, cancel, status)
//	                           ├─▶ bundle ─▶ Simulator                     eth_callBundle, mev_simBundle, eth_estimateGasBundle
//	                           └─▶ Refunds, Stats                          what the ledger knows
package method
