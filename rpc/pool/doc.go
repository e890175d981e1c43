// Package pool keeps the orders that wait for their block, and for some time those that have ended,
// so that their status can be reported. It is pure: every call takes the time and returns facts,
// and what the pool holds is a function of these facts alone. A new pool to which the facts of an
// old one are applied, in their order, continues where the old one stopped.
//
//	Add ──▶ submitted ⇄ simulated ──▶ sent ──┬─ Block: all its transactions are there ────────────▶ landed ──┐
//	            │            │           │   ├─ Block: one of them is there without the others ────▶ failed ──┤ Reverted:
//	            └────────────┴───────────┘   ├─ Block: its last one is over ──▶ expired, or failed            │ alive again
//	                                         ├─ Simulated: it can never be included ───────────────▶ failed    ▼
//	                                         └─ Cancel, or a newer version: Add ───────────────────▶ cancelled
//
// A replacementUuid belongs to its signer. For each key (signer, replacementUuid) at most one order
// is alive: the one that was accepted last. If that one fails, no older version comes back. Orders
// that are accepted after a cancel are a new generation: it does not count for the next block that
// the cancelled version could have been in. A cancel without an order is remembered, since it may
// have overtaken its bundle.
package pool
