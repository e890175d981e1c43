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
//
// Who signed a request is found from header X-Flashbots-Signature, "<address>:<signature>", by
// SignatureScheme:
//
//	body ─▶ Keccak-256 ─▶ "0x…", 66 characters ─▶ personal message (EIP-191) ─▶ Keccak-256 ─┐
//	                                                                                       ├─▶ recover ─▶ address, equal? ─▶ signer
//	header ─▶ address ":" 0x r(32) s(32) v(1), low s, v 0, 1, 27 or 28 ────────────────────┘
//
// The signature is of the bytes of the body as they came, after decompression; nothing is parsed or
// normalised. It covers neither a nonce nor a time, so a request can be replayed; all methods are
// made so that a replay does no harm.
package jsonrpc
