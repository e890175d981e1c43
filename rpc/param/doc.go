// Package param reads JSON-RPC parameters the way real clients write them: a number may be a
// number, hex or decimal text, a hash in any letter case, a list absent, null or empty. What it
// takes is a field's type; where it stands is the schema's struct:
//
//	params ─▶ Positional ─┬─▶ struct ─▶ field by its json tag ─▶ Number, Block, Hash, Address, …
//	 [{…}, …]             └─▶ list   ─▶ element                  each reads one JSON value, or says what it wants
//	                                                             │
//	        invalid params: params[0].txs[3]: want …  ◀──────────┘  the path grows on the way back
//
// Names are compared exactly. One that comes twice is refused, and so is one that no struct knows:
// nothing that a request says is left out without a word. What clients send although it has no
// effect is known too, see Tolerant. Nothing is read twice and nothing is allocated by the number
// of elements that somebody claims: a Later is not looked into until its reader has counted it.
//
// The scanner is internal/jsonscan, in its unchecked form: the envelope has checked all of the
// body. The bytes must be one JSON value, as a json.RawMessage from a decoder is. Other bytes give
// an error or nonsense, never a panic.
package param
