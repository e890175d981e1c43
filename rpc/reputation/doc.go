// Package reputation keeps how each signer's orders have done: what they paid, and what simulating
// them cost.
//
//	facts ─▶ Apply ─▶ signer: all time │ hour │ hour │ … │ hour      those of 7 days with any activity
//	                                   └───────────┬───────────┘
//	                        Stats, High ◀── sums of 7 days, of a day
//
// It is a projection of the facts: the same facts give the same reputation. Keys are free, so a new
// key has no reputation, and the memory for keys that have never paid is separate: they can't
// displace the keys that have.
package reputation
