// Package check holds the rules for what a staked builder sends from gloas on: its bid, and the
// payload that it reveals after the bid was taken. Both are ordered tables of rules, with one file
// for each rule. All rules are pure: a case has what they need to know.
//
//	bid        first ─ highest ─ slot ─ payment ─ block hash ─ blobs ─ parent ─ after parent ─ preferences ─ fee recipient
//	           ─ parent block ─ gas limit ─ head ─ randao ─ builder ─ balance ─ exit ─ signature
//	envelope   signature ─ block ─ parent block ─ builder ─ randao ─ gas limit ─ block hash ─ requests ─ slot ─ parent hash
//	           ─ timestamp ─ withdrawals
//
// A beacon node takes a bid from the network by the first table (consensus-specs,
// specs/gloas/p2p-interface.md, "execution_payload_bid"). The first rule that a bid breaks decides
// whether it is ignored, or rejected, which also counts against who sent it. The second table says
// whether a payload is the one that the bid was for (specs/gloas/beacon-chain.md,
// verify_execution_payload_envelope). Whether that payload has the hash that it names, the blobs of
// the bid, and a right access list is found by executing it.
package check
