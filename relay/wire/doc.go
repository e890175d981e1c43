// Package wire turns bytes into the relay's values and back: SSZ and JSON, for every fork from bellatrix to fulu. It is pure.
//
//	builder  ─▶ DecodeSubmission ─▶ relay.Submission ─▶ EncodeContents ─▶ escrow ─▶ DecodeContents
//	                                      │                                              │
//	proposer ◀─ SignedBid ◀───────────────┘                                              ▼
//	proposer ─▶ DecodeBlinded ─▶ relay.BlindedBlock ──────────────────────────────▶ Unblind ─▶ beacon nodes
//	proposer ◀─ EncodePayload (v1) ◀─────────────────────────────────────────────────────┘
//
// The encodings themselves are the libraries'. Their JSON readers are lenient, and one panics on hostile input, so a document is first
// walked by our own rules (strict.go): numbers are quoted decimals, bytes are 0x hex, lists are lists, no name comes twice.
//
// Electra and fulu bodies have the same shape, so a fork is never found by trying: it comes from the header or from the slot.
package wire
