// Package jsonrpc is the envelope of the bundle RPC: JSON-RPC 2.0 over HTTP, with signed bodies,
// rate limits and two dialects of errors. It knows no methods itself; they are passed in as
// functions.
//
//	POST ─▶ body ─▶ parse ─▶ for each entry, in order: client's tokens ─▶ method ─▶ signature ─▶ signer's tokens ─▶ call ─▶ answer
//	        gzip    no maps                            429              unknown?   once for all  429               │
//	        413     -32700                                                         403                             └─▶ Observe
//
// The status of an answer is 200 whatever became of the request, unless its refusal has another
// status (403, 413, 429 …). A batch is answered with 200, and each entry has its own result or
// error; only an error of the batch as a whole, such as too many entries, is answered as a single
// error. A notification gets no answer: 204 without a body, unless the refusal has a status of its
// own.
package jsonrpc
