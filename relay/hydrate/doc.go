// Package hydrate makes whole submissions from dehydrated ones (wire.Dehydrate). They exist because
// builders send block after block in a slot, and nine tenths of each are transactions and blobs
// that they have sent a moment before.
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
// Each builder has a cache of its own: in a shared one, a builder could find out whether another
// one has a transaction. The API key says which builder it is. A public key in the message would be
// only a claim, since it is not verified yet when Fill is called.
//
// What comes from the cache is trusted no more than what comes from the network: a filled
// submission must pass all checks.
package hydrate
