// Package wire decodes and encodes the relay's values: SSZ and JSON, for every fork from bellatrix
// to fulu. It is pure.
//
//	builder  ─▶ DecodeSubmission ─▶ relay.Submission ─▶ EncodeContents ─▶ escrow ─▶ DecodeContents
//	                                      │                                              │
//	proposer ◀─ SignedBid ◀───────────────┘                                              ▼
//	proposer ─▶ DecodeBlinded ─▶ relay.BlindedBlock ──────────────────────────────▶ Unblind ─▶ beacon nodes
//	proposer ◀─ EncodePayload (v1) ◀─────────────────────────────────────────────────────┘
//
// Most of SSZ is left to the libraries. Their JSON readers are not used: they are lenient, one
// panics on hostile input, and they read a block several times. So one cursor (over
// internal/jsonscan) reads all JSON in one pass, by the rules of this package (shape.go,
// strict.go): names are exact and occur once, numbers are quoted decimals, bytes are 0x hex of the
// right length, lists have the limits of SSZ, and nothing follows the document. The memory that is
// allocated is bounded by the length of the body. Tests compare the readers with those of the
// libraries.
//
// The fork of a body comes from the header or from the slot. It cannot be found by trying decoders,
// because electra and fulu bodies have the same shape.
package wire
