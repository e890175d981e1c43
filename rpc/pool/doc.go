// Package pool keeps the orders that wait for their block, and for a while those that wait no
// longer, so that somebody can be told what became of them. It is pure: every call takes the time
// and returns facts, and what the pool holds is a function of these facts alone. A new pool that
// Apply tells the facts of an old one, in their order, goes on where the old one stopped.
//
//	Add ──▶ submitted ⇄ simulated ──▶ sent ──┬─ Block: all its transactions are there ────────────▶ landed ──┐
//	            │            │           │   ├─ Block: one of them is there without the others ────▶ failed ──┤ Reverted:
//	            └────────────┴───────────┘   ├─ Block: its last one is over ──▶ expired, or failed            │ alive again
//	                                         ├─ Simulated: it can never be included ───────────────▶ failed    ▼
//	                                         └─ Cancel, or a newer version: Add ───────────────────▶ cancelled
//
// A replacementUuid belongs to its signer. Of one key (signer, replacementUuid) at most one order
// is alive, the one that was accepted last; when that one fails, no older version comes back. What
// is accepted after a cancel is a new generation: it does not count for the block that the
// cancelled version could have been in next. A cancel that came before anything else is remembered,
// since it may have overtaken its bundle.
package pool
