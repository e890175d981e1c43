// Package jsonrpc is the envelope of the bundle RPC: JSON-RPC 2.0 over HTTP, with signed bodies,
// rate limits and two dialects of errors. It knows no method; those are given to it as functions.
//
//	POST ─▶ body ─▶ parse ─▶ for each entry, in order: client's tokens ─▶ method ─▶ signature ─▶ signer's tokens ─▶ call ─▶ answer
//	        gzip    no maps                            429              unknown?   once for all  429               │
//	        413     -32700                                                         403                             └─▶ Observe
//
// The status of an answer is 200 whatever became of the request, unless its refusal has another one
// (403, 413, 429 …). A batch is answered with 200 and each of its entries for itself; only what is
// wrong with the whole of it, as too many entries, is said as one error. A notification gets no
// answer: 204 without a body, unless the refusal has a status of its own.
package jsonrpc
