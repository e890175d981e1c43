// Package backtest plays the auctions of archives again in the relay's own pure auction code, and
// explains where the outcome differs from what the archive says was delivered. It is pure: rows of
// a data set go in, results come out.
//
//	rows of a slot ─group─▶ one auction for each relay ─infer─▶ offers ─play─▶ auction.Book ─▶ who leads when asked
//	                                                                                               │
//	                                              delivered payload of the archive ─explain────────┴─▶ Result, with a reason
//
// What an archive does not say is inferred by rules that have names (Rules) and choices. The file
// infer.go has a function for each of them.
package backtest
