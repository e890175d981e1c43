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
// Parameters are read the way real clients write them: a number may be a number, hex or decimal
// text, a hash in any letter case, a list absent, null or empty. The type of a field says which
// forms it accepts; the schema's struct says where it stands:
//
//	params ─▶ ReadPositional ─┬─▶ struct ─▶ field by its json tag ─▶ Number, Block, HashParam, Address, …
//	 [{…}, …]                 └─▶ list   ─▶ element                  each reads one JSON value, or says what it wants
//	                                                                 │
//	            invalid params: params[0].txs[3]: want …  ◀──────────┘  the path grows on the way back
//
// Names are compared exactly. A name that comes twice is refused, and so is one that the struct
// does not know: no part of a request is ignored silently. Members that clients send although they
// have no effect are listed too, see Tolerant. No memory is allocated by the number of elements
// that a request claims: a RawList is counted first, and read only when its caller has accepted
// the count. The scanner is internal/jsonscan, in its unchecked form, since the envelope has
// checked all of the body. The bytes must be one JSON value, as a json.RawMessage from a decoder
// is. Other bytes give an error or nonsense, never a panic.
//
// Expensive steps come last, so that a request that is refused costs less than the check of its
// signature. Every refusal is a *rpc.Refused whose message has the path of the field.
package bundle
