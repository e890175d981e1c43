// Package sign finds out who signed a request: header X-Flashbots-Signature with
// "<address>:<signature>". It is pure; the HTTP handler decides how a refusal is answered.
//
//	body ─▶ Keccak-256 ─▶ "0x…", 66 characters ─▶ personal message (EIP-191) ─▶ Keccak-256 ─┐
//	                                                                                       ├─▶ recover ─▶ address, equal? ─▶ signer
//	header ─▶ address ":" 0x r(32) s(32) v(1), low s, v 0, 1, 27 or 28 ────────────────────┘
//
// The signature is of the bytes of the body as they came, after decompression; nothing is parsed or
// normalised. It covers neither a nonce nor a time, so a request can be replayed; all methods are
// made so that a replay does no harm.
package sign
