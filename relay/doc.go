// Package relay is the vocabulary of the block relay: its values, its facts and its refusals. It
// imports none of the packages below it; all of them may import it.
//
//	builder ──POST blocks──▶ api ─────────▶ submit ─┬─▶ check      (ordered rules, cheap before dear)
//	                                               ├─▶ exec       (the block is executed on its parent's state)
//	                                               ├─▶ auction    (pure: who leads?)
//	                                               └─▶ escrow ─▶ top (signed, encoded, immutable)
//	proposer ─GET header──▶ api ──────────▶ top
//	proposer ─POST blinded▶ api ──────────▶ deliver ─▶ guard ─▶ escrow ─▶ beacon nodes ─▶ reveal
//	analyst ──GET data────▶ api ──────▶ archive ◀── journal ◀── facts of all of the above
package relay
