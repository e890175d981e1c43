// Package match puts somebody's pending order in the place of its double hash: it makes a bundle
// that can be simulated and included of one whose signer knows nothing of the other but what it
// shares. It is pure: who has the orders looks them up.
//
//	searcher's order                 order with that double hash          what goes on
//	[ {hash: H}, {tx} ]       and    [ A, … ]                     ──▶     [ {bundle: [A, …]}, {tx} ]
//	blocks 7 to 9                    blocks 5 to 8                        blocks 7 to 8
//	no refunds                       wants 90 % back                      90 % of what {tx} earns for those whose bundle it is
//	named h, as answered                                                  still named h
//
// The rules are those of docs/spec.md, Matching and Bundle checks.
package match
