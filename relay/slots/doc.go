// Package slots keeps, while a slot runs, what the way of a submission and the delivery of a
// payload both need to know:
//
//	submit, top ─▶ Payloads  which payloads lead, and which proposers asked for ─▶ deliver: Find
//	submit ─────▶ Expect     headers whose payload has to follow ─────────────────▶ deliver: Await
//	submit ─────▶ NotePaid   what blocks were found to pay ───────────────────────▶ deliver: Paid
//	deliver ────▶ MarkDelivered ──────────────────────────────────────────────────▶ submit: Delivered
//
// It decides nothing. It calls neither of the two, so both can hold their own locks while they ask.
package slots
