// Package hint decides what leaves the house of an order: it projects what the bundle RPC tells
// (orderflow.Shared) onto what its sender lets searchers see, and writes that as one line of JSON.
// Nothing else of an order is ever streamed or stored. It is pure.
//
//	orderflow.Shared ─▶ Bundle.Hints ─▶ shown: hints and what they imply ─▶ {"hash":…,"logs":…,"txs":[{…}],"mevGasPrice":…,"gasUsed":…}
//	                       │                                                           │      │
//	                       ├─ transaction: its logs and its object ────────────────────┴──────┘
//	                       └─ inner bundle: its own hints, or nothing of it          depth first, one after another
//
// What decides, key by key (interface description, "Event" and "Hints"; where it is silent, what
// clients of today need):
//
//   - hash is the Keccak-256 of the order's hash, so that a searcher can follow an order without
//     knowing it, and find it once it has landed.
//   - logs and txs are always there, null when there are none: clients refuse an event without
//     them, and one with an empty list is lost.
//   - keys within a transaction are there when they are shown, and only then. A contract's creation
//     has no to; blobs' hashes and set-code
//     authorizations are not among them, for the description knows no names for them.
//   - mevGasPrice and gasUsed belong to the operator, not to the sender (Config). They are rounded
//     up, to three and two digits.
package hint
