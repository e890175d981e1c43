package orders

import (
	"crypto/ecdsa"

	"github.com/ethereum/go-ethereum/core/types"
)

// Intake takes orders and puts them into blocks. It is safe for concurrent use.
type Intake struct {
	// wallet is the coinbase of the blocks, and pays refunds.
	wallet *ecdsa.PrivateKey
	// signer recovers the senders of transactions.
	signer types.Signer
	queue  queue
	// TakesUnsigned has Handler take requests without a signature, as builders do inside their own
	// network. All of them have the same signer, which is nobody. It is set before Handler is called.
	TakesUnsigned bool
}

// New returns an intake without orders. The wallet must be the coinbase of all drafts that the
// intake fills, because it pays refunds there. The signer must be that of the chain.
func New(wallet *ecdsa.PrivateKey, signer types.Signer) *Intake {
	return &Intake{wallet: wallet, signer: signer}
}
