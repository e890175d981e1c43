// Package shape describes the types of the consensus layer, each once: the description of a type is
// its SSZ (consensus-specs, ssz/simple-serialize.md), its hash tree root and its JSON. It has the
// progressive types of EIP-7916 and EIP-7495, which the libraries of this module lack. It is pure.
//
//	Number, Bytes, Bits … ─▶ List, Progressive ─▶ Container ─▶ Shape ─┬─ Encode, Decode      SSZ
//	                                                                  ├─ Root                hash tree root
//	                                                                  └─ ToJSON, FromJSON    JSON
//
// There is one SSZ form of a value, and Decode refuses all others: each offset is where it must be,
// nothing is left over, no bit outside of a bitvector is set. What Decode returns shares the bytes
// that it was given: lists of bytes are parts of them.
//
// JSON is read by the rules of the relay's other bodies: names are exact and occur once, known
// names in other letters are refused, values of unknown names must be JSON and are ignored, numbers
// are quoted decimals, bytes are 0x and digits of the right length, and nothing follows the
// document. A list may be null, which means empty, because Go's libraries write a nil list as null.
//
// The memory that a decoder allocates is bounded by a multiple of the length of what it reads.
package shape
