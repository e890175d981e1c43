// Package stream is the vocabulary of the event stream, which shows searchers what senders share of
// pending orders, and decides what of an order is published (ProjectHints). The packages below it
// use these types and do not import each other; app connects them. The package is pure.
//
//	journal ──orderflow.Shared──▶ ProjectHints ──▶ history (SQL, first) ──Event──▶ broadcast ─▶ api: GET / (server-sent events)
//	         what its sender allows                   └──▶ api: GET /api/v1/history                 each listener has a bounded queue
//
// From the bundle RPC's fact (orderflow.Shared) ProjectHints takes what the sender lets searchers
// see, and writes that as one line of JSON. Nothing else of an order is ever streamed or stored.
//
//	orderflow.Shared ─▶ Bundle.Hints ─▶ shown: hints and what they imply ─▶ {"hash":…,"logs":…,"txs":[{…}],"mevGasPrice":…,"gasUsed":…}
//	                       │                                                           │      │
//	                       ├─ transaction: its logs and its object ────────────────────┴──────┘
//	                       └─ inner bundle: its own hints, or nothing of it          depth first, one after another
//
// The rules, key by key (interface description, "Event" and "Hints"; where it says nothing, what
// today's clients need):
//
//   - hash is the Keccak-256 of the order's hash. With it a searcher can refer to an order whose
//     hash it does not know, and recognise the order once it has landed.
//   - logs and txs are always present, and null if there are none: some clients refuse an event
//     without them, and ignore one with an empty list.
//   - keys within a transaction are present if and only if they are shown. The creation of a
//     contract has no to. Blob hashes and set-code authorizations are never shown, because the
//     description has no names for them.
//   - the operator, not the sender, decides whether mevGasPrice and gasUsed are shown (HintConfig).
//     They are rounded up, to three and two digits.
package stream
