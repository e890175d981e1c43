// Package wire turns bytes into the relay's values and back: SSZ and JSON, for every fork from
// bellatrix to fulu. It is pure.
//
//	builder  ─▶ DecodeSubmission ─▶ relay.Submission ─▶ EncodeContents ─▶ escrow ─▶ DecodeContents
//	                                      │                                              │
//	proposer ◀─ SignedBid ◀───────────────┘                                              ▼
//	proposer ─▶ DecodeBlinded ─▶ relay.BlindedBlock ──────────────────────────────▶ Unblind ─▶ beacon nodes
//	proposer ◀─ EncodePayload (v1) ◀─────────────────────────────────────────────────────┘
//
// SSZ is the libraries'. Their JSON readers are lenient, one panics on hostile input, and they read
// a block several times over. So all JSON is read by one cursor (over internal/jsonscan) in one
// pass under our own rules (shape.go, strict.go): names are exact and come once, numbers are quoted
// decimals, bytes are 0x hex of their length, lists are lists and have the limits of SSZ, and
// nothing follows the document. What is allocated is bounded by the length of the body. In the
// tests the libraries' readers are the oracles for ours.
//
// Electra and fulu bodies have the same shape, so a fork is never found by trying: it comes from
// the header or from the slot.
package wire
