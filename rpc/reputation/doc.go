// Package reputation knows how each signer's orders have done: what they paid, and what simulating
// them cost.
//
//	facts ─▶ Apply ─▶ signer: all time │ hour │ hour │ … │ hour      those of 7 days in which something was
//	                                   └───────────┬───────────┘
//	                        Stats, High ◀── sums of 7 days, of a day
//
// It is a projection of the facts: the same facts give the same reputation. Any key may be used at
// any time; a new one has no reputation, and keys that have paid nothing cannot push out of the
// memory those that have.
package reputation
