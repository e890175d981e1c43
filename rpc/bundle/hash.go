package bundle

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/rpc"
)

// Hash is the hash of an eth_sendBundle: the Keccak-256 of its transactions' hashes, concatenated,
// even for a single one. Clients compute it themselves and ask by it.
func Hash(txs []common.Hash) common.Hash {
	row := make([]byte, 0, len(txs)*common.HashLength)
	for i := range txs {
		row = append(row, txs[i][:]...)
	}
	return crypto.Keccak256Hash(row)
}

// ShareHash is the hash of a mev_sendBundle: that of its only element, or the Keccak-256 of its
// elements' hashes, concatenated. An inner bundle must have its hash already.
func ShareHash(elements []rpc.Element) common.Hash {
	hashes := make([]common.Hash, len(elements))
	for i, e := range elements {
		switch {
		case e.Match != nil:
			hashes[i] = *e.Match
		case e.Tx != nil:
			hashes[i] = e.Tx.Hash
		default:
			hashes[i] = e.Bundle.Hash
		}
	}
	if len(hashes) == 1 {
		return hashes[0]
	}
	return Hash(hashes)
}
