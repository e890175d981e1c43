// Package lease decides who owns the orders of one journal, when several bundle RPCs work on it.
// One of them owns all signers at a time; the others hand requests to it.
//
// The owner is named by a record in the journal's state, which is replaced only if it is still the
// one that was read (compare and swap on its revision). Nobody compares clocks of two machines:
//
//	owner   ── renews at t ──────────────▶ may answer and send until t + Valid; t is from before the renewal was sent
//	others  ──── see that renewal at u ≥ t ──▶ may take from u + Take on, if no other revision came; Take > Valid
//
// So a term is over by its owner's own clock before another one begins, however late messages come
// and however long a process stands still, as long as no clock runs a quarter faster than another.
package lease
