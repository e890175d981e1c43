// Package auction decides who leads one auction: the bids of one slot on one parent for one
// proposer. It is pure: bids carry the time at which they were received, and the same bids in the
// same order give the same top. So a recorded day can be replayed.
//
// There are three kinds of bids, which differ in what may replace them:
//
//	final        neither ?cancellations=1 nor x-sequence: stands until the slot is over. The best final bid is the floor.
//	cancellable  ?cancellations=1: the builder's newest received one replaces its earlier cancellable ones, also downwards.
//	sequenced    x-sequence: the builder's highest number replaces its other cancellable and sequenced ones, whatever the order of
//	             arrival.
//
//	builder A   final 5   cancellable 9 ──▶ cancellable 7        (9 is gone, 5 stands)
//	builder B   final 6                                           floor = 6 (B), top = 7 (A); if A goes below 6, top = 6 (B)
//
// Strictly greater wins; at equal value the bid that entered the book first stays. No bid is
// forgotten while the slot runs, so after a cancellation the next best bid leads (decisions 2, 3
// and 4).
//
// Book is one auction at one relay. Board is all auctions of a slot at several instances, made of a
// log of entries that all of them apply in one order (decision 19). Boards are those of all open
// slots, read from one stream, and the faults of logs that were not read as a whole.
package auction
