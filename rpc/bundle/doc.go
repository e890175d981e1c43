// Package bundle turns the parameters of the methods that carry transactions into orders and
// simulations, and orders into the requests that builders understand. It is pure: the result
// depends only on the request's text and an Intake.
//
//	params ─▶ form ─▶ count, bytes ─▶ blocks, terms ─▶ decode ─▶ refunds' names, ─▶ senders ─▶ *rpc.Order, Call, Simulation
//	          types   nothing is      comparisons     2 µs      signatures' form   50 µs per tx, on all cores;
//	                  decoded yet                     per tx                       for orders: only those that are needed now
//
//	*rpc.Order ─┬─▶ ToExec         what the pool simulates, with the other senders
//	            ├─▶ Outgoing       eth_sendBundle
//	            └─▶ OutgoingShare  mev_sendBundle v0.1
//
//	*rpc.Order + the order that it follows ─▶ JoinMatch ─▶ one bundle (match.go)
//
//	  searcher's order               order with that double hash       the joined order
//	  [ {hash: H}, {tx} ]      and   [ A, … ]                    ──▶   [ {bundle: [A, …]}, {tx} ]
//	  blocks 7 to 9                  blocks 5 to 8                     blocks 7 to 8
//	  no refunds                     wants 90 % back                   90 % of what {tx} earns, for the owners of the inner bundle
//	  hash h, as answered                                              still hash h
//
// docs/spec.md, Matching, has the rules of JoinMatch.
//
// Expensive steps come last, so that a request that is refused costs less than the check of its
// signature. Every refusal is a *rpc.Refused whose message has the path of the field.
package bundle
