package orderflow

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
)

// MatchingHash is what strangers know an order by: the Keccak-256 of the 32 bytes of its hash
// (docs/spec.md, Matching hash 1). It tells nobody the hash who does not know it.
func MatchingHash(order common.Hash) common.Hash { return crypto.Keccak256Hash(order[:]) }
