// Package api has the relay's HTTP handlers: they read requests, call their ports and write
// answers, with a file for each operation. They decide only whether a request has the right form.
//
// Proposer API (builder-specs), proposer.go:
//
//	GET  /eth/v1/builder/status                                status.go
//	POST /eth/v1/builder/validators                            register.go
//	GET  /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}  header.go
//	POST /eth/v1/builder/blinded_blocks                        blindedblock.go   answers with the payload
//	POST /eth/v2/builder/blinded_blocks                        blindedblock.go   answers 202
//
// From gloas on (builder-specs, gloas):
//
//	POST /eth/v1/builder/execution_payload_bid/{slot}/{parent_hash}/{parent_root}/{pubkey}  payloadbid.go
//	POST /eth/v1/builder/builder_preferences/{pubkey}                                       payloadbid.go
//	POST /eth/v1/builder/beacon_blocks                                                      beaconblock.go
//
// Builder API (relay-specs), builder.go. X-Api-Key says who the builder is (identify.go). Header
// submissions and dehydrated blocks need it; the top bids need it if the operator says so; a whole
// block does not.
//
//	GET  /relay/v1/builder/validators   validators.go
//	POST /relay/v1/builder/blocks       submitblock.go     the block, whole or dehydrated (hydrate.go)
//	POST /relay/v1/builder/headers      submitheader.go    the header; the block follows
//	GET  /relay/v1/builder/top_bid      topbid.go          a WebSocket: the top bids
//	POST /relay/v1/builder/bids         stakedbid.go       a bid that a staked builder has signed (gloas)
//	POST /relay/v1/builder/envelopes    stakedbid.go       its signature of the payload's envelope
//
// Data API (relay-specs), data.go. The archive holds only published payloads and bids that counted,
// so nothing else is listed. Each operation answers in JSON or, if Accept asks for it, in CSV or
// with a line of JSON for each item (format.go).
//
//	GET /relay/v1/data/bidtraces/proposer_payload_delivered   delivered.go
//	GET /relay/v1/data/bidtraces/builder_blocks_received      received.go
//	GET /relay/v1/data/validator_registration                 registration.go
//
// Operator's API, admin.go: how builders are treated, what they were demoted for, and the kill
// switch. It is mounted on a listener of its own, never on the public one, and every path needs the
// token.
//
//	GET    /admin/v1/status                               adminstatus.go
//	GET    /admin/v1/builders                             builders.go
//	GET    /admin/v1/builders/{name}                      builders.go
//	PUT    /admin/v1/builders/{name}                      builders.go    the whole record, and why
//	DELETE /admin/v1/builders/{name}                      builders.go    back to the configuration
//	POST   /admin/v1/builders/{name}/promote | suspend    trust.go
//	GET    /admin/v1/demotions                            demotions.go
//	GET    /admin/v1/demotions/{block_hash}/submission    demotions.go   SSZ, as the builder sent it
//	GET    /admin/v1/kill-switch                          killswitch.go
//	PUT    /admin/v1/kill-switch                          killswitch.go
//
// All four share how requests are read (request.go: media, body, fork), and with which status each
// refusal is answered (refusal.go).
package api
