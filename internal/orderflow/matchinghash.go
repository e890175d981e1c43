package orderflow

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// MatchingHash is the public name of an order: the Keccak-256 of the 32 bytes of its hash
// (docs/spec.md, Matching hash 1). The order's hash can't be computed from it.
func MatchingHash(order common.Hash) common.Hash { return crypto.Keccak256Hash(order[:]) }
