// Package param reads JSON-RPC parameters the way real clients write them: a number may be a
// number, hex or decimal text, a hash in any letter case, a list absent, null or empty. The type of
// a field says which forms it accepts; the schema's struct says where it stands:
//
//	params ─▶ Positional ─┬─▶ struct ─▶ field by its json tag ─▶ Number, Block, Hash, Address, …
//	 [{…}, …]             └─▶ list   ─▶ element                  each reads one JSON value, or says what it wants
//	                                                             │
//	        invalid params: params[0].txs[3]: want …  ◀──────────┘  the path grows on the way back
//
// Names are compared exactly. A name that comes twice is refused, and so is one that the struct
// does not know: no part of a request is ignored silently. Members that clients send although they
// have no effect are listed too, see Tolerant. No memory is allocated by the number of elements
// that a request claims: a LaterList is counted first, and read only when its caller has accepted
// the count.
//
// The scanner is internal/jsonscan, in its unchecked form: the envelope has checked all of the
// body. The bytes must be one JSON value, as a json.RawMessage from a decoder is. Other bytes give
// an error or nonsense, never a panic.
package param
