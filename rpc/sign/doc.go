// Package sign tells who signed a request: header X-Flashbots-Signature with
// "<address>:<signature>". It is pure; what the edge does about a refusal is the edge's affair.
//
//	body ─▶ Keccak-256 ─▶ "0x…", 66 characters ─▶ personal message (EIP-191) ─▶ Keccak-256 ─┐
//	                                                                                       ├─▶ recover ─▶ address, equal? ─▶ signer
//	header ─▶ address ":" 0x r(32) s(32) v(1), low s, v 0, 1, 27 or 28 ────────────────────┘
//
// The bytes of the body are signed as they came, after decompression; nothing is parsed or
// normalised. There is neither a nonce nor a time in it: the same request may be sent again, and
// all methods are made so that this does no harm.
package sign
