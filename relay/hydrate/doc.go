// Package hydrate makes whole submissions of dehydrated ones (wire.Dehydrate): builders send block
// after block in a slot, and nine tenths of each are transactions and blobs that they have sent a
// moment before.
//
//	builder ─▶ whole block ─▶ wire.DecodeSubmission ─────────────▶ submit  ─▶ accepted ─▶ Remember
//	                                                                                        │
//	                                                                        Cache, by builder and hash
//	                                                                                        │
//	builder ─▶ dehydrated  ─▶ wire.DecodeSubmission ─▶ Fill ◀───────────────────────────────┘
//	           + X-Blobs-Sent                           │ ╲
//	                                                    ▼  ▶ *Missing: send the whole block
//	                                              whole block, as if it had come so
//
// What one builder has sent is of no use to another: a cache that all share would answer the
// question whether somebody else has a transaction. A builder is whoever its API key says it is; a
// public key in the message would be a claim, not yet verified when Fill is called.
//
// Nothing that comes out of the cache is trusted more than what comes from the network: a filled
// submission passes all checks.
package hydrate
