package orders

import (
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/core/types"
)

// Intake takes orders and puts them into blocks. It is safe for concurrent use.
type Intake struct {
	// wallet is the coinbase of the blocks, and pays refunds.
	wallet *ecdsa.PrivateKey
	// signer tells who sent a transaction.
	signer types.Signer
	queue  queue
}

// New is an intake without orders. The wallet must be the coinbase of all drafts that it is to
// fill, and pays refunds there; the signer is the chain's.
func New(wallet *ecdsa.PrivateKey, signer types.Signer) *Intake {
	return &Intake{wallet: wallet, signer: signer}
}
