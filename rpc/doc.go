// Package rpc is the vocabulary of the bundle JSON-RPC: orders, the facts of their lives, and every
// refusal. The packages below it share these types; app/ wires them together.
//
//	wallet, searcher ─POST─▶ jsonrpc ─▶ sign ─▶ method ─┬─▶ bundle (parse, hash) ─▶ lifecycle ─▶ pool ─▶ facts ─▶ ledger
//	                        envelope   who?             └─▶ exec (eth_callBundle, mev_simBundle)
//
//	head of the chain ─▶ lifecycle ─▶ pool: landed, expired, what is ready ─▶ exec (does it still work?) ─▶ send ─▶ builders
//	                             └─▶ inclusion: what did it pay, was the refund paid? ─▶ facts
//
// An order is what a signer wants in a block: a bundle, or a private transaction. The signer is the
// address whose key signed the request.
package rpc
