// Package rpc is the vocabulary of the bundle JSON-RPC: orders, what becomes of them, and every way
// of saying no. The rooms below it know these words and not each other; app/ puts them together.
//
//	wallet, searcher ─POST─▶ jsonrpc ─▶ sign ─▶ method ─┬─▶ bundle (parse, hash) ─▶ lifecycle ─▶ pool ─▶ facts ─▶ ledger
//	                        envelope   who?             └─▶ exec (eth_callBundle, mev_simBundle)
//
//	head of the chain ─▶ lifecycle ─▶ pool: landed, expired, what is ready ─▶ exec (does it still work?) ─▶ send ─▶ builders
//	                             └─▶ inclusion: what did it pay, was the refund paid? ─▶ facts
//
// An order is what a signer wants in a block: a bundle, or a private transaction. A signer is
// whoever holds the key that signed the request.
package rpc
