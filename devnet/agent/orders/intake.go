package orders

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
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

// ErrMethod says that an intake does not take orders by a method.
var ErrMethod = errors.New("no method that takes orders")

// Take takes an order in the words of Handler's methods: params[0] of eth_sendBundle or
// mev_sendBundle, of which nobody is the signer. It is for callers in the same process.
func (in *Intake) Take(method string, param json.RawMessage) error {
	var err error
	switch methods := (*methods)(in); method {
	case "eth_sendBundle":
		var form bundleForm
		if err = json.Unmarshal(param, &form); err == nil {
			_, err = (*ethMethods)(methods).SendBundle(context.Background(), form)
		}
	case "mev_sendBundle":
		var form shareForm
		if err = json.Unmarshal(param, &form); err == nil {
			_, err = (*mevMethods)(methods).SendBundle(context.Background(), form)
		}
	default:
		err = ErrMethod
	}
	if err != nil {
		return fmt.Errorf("take an order by %s: %w", method, err)
	}
	return nil
}

// Cancel forgets an order that came by Take, and says whether there was one.
func (in *Intake) Cancel(replacement uuid.UUID) bool {
	return in.queue.cancel(common.Address{}, replacement)
}
