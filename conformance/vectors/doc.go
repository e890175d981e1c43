// Package vectors makes test vectors for implementations in any language: requests to a relay, a
// bundle RPC and an event stream, each with what must come of it. docs/vectors.md describes the
// files.
//
//	seed ─▶ keys, chain of each fork, blocks ─▶ cases of each suite ─▶ files, schemas, manifest
//
// Chains, blocks, signatures and KZG proofs are real. What must come of a case is written in the
// tables of this package and is not asked of gavel's services. Tests show that the services agree.
//
// The same seed and version make the same bytes.
package vectors
