// Package slots keeps what relay/submit and relay/deliver share while a slot runs:
//
//	submit, top ─▶ Payloads  which payloads lead, and which proposers asked for ─▶ deliver: Find
//	submit ─────▶ Expect     headers whose payload has to follow ─────────────────▶ deliver: Await
//	submit ─────▶ NotePaid   what blocks were found to pay ───────────────────────▶ deliver: Paid
//	deliver ────▶ MarkDelivered ──────────────────────────────────────────────────▶ submit: Delivered
//
// It decides nothing. It calls neither of the two packages, so each of them can hold its own locks
// while it calls this one.
package slots
