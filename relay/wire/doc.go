// Package wire turns bytes into the relay's values and back: SSZ and JSON, for every fork from bellatrix to fulu. It is pure.
//
//	builder  ─▶ DecodeSubmission ─▶ relay.Submission ─▶ EncodeContents ─▶ escrow ─▶ DecodeContents
//	                                      │                                              │
//	proposer ◀─ SignedBid ◀───────────────┘                                              ▼
//	proposer ─▶ DecodeBlinded ─▶ relay.BlindedBlock ──────────────────────────────▶ Unblind ─▶ beacon nodes
//	proposer ◀─ EncodePayload (v1) ◀─────────────────────────────────────────────────────┘
//
// SSZ is the libraries'. Their JSON readers are lenient, one panics on hostile input, and they read a block several times over. So all JSON
// is read by one cursor (cursor.go) under our own rules (strict.go): numbers are quoted decimals, bytes are 0x hex, lists are lists, no name
// comes twice. Submissions, which are large, are decoded on the way, in one pass (shape.go, submissionjson.go); of the small bodies it only
// walks over the text, and the libraries decode them. In the tests the libraries' reader is the oracle for ours.
//
// Electra and fulu bodies have the same shape, so a fork is never found by trying: it comes from the header or from the slot.
package wire
