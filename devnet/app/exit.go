package app

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/devnet/network"
)

const (
	// exitGas is enough for a request of exit, which fills places of a queue (EIP-8282).
	exitGas = 2_000_000
	// exitFeeWei is above what a request costs while the queue is nearly empty.
	exitFeeWei = 1_000_000
)

// exit returns how the builder of a number asks to leave: by a transaction of the account that its
// balance goes back to, to the public pool.
func (c *Cast) exit(builder int) func(context.Context) error {
	return func(ctx context.Context) error {
		n := c.Network
		node, wallet, key := ethclient.NewClient(n.Chain.Attach()), n.Builders[builder], n.BuilderKey(builder).PublicKey()
		defer node.Close()
		nonce, err := node.PendingNonceAt(ctx, network.Address(wallet))
		if err != nil {
			return fmt.Errorf("ask for a nonce: %w", err)
		}
		to := params.BuilderExitAddress
		tx, err := types.SignNewTx(wallet, types.LatestSigner(n.Chain.Chain().Config()), &types.DynamicFeeTx{
			ChainID: big.NewInt(network.ChainID), Nonce: nonce, GasTipCap: big.NewInt(10 * params.GWei),
			GasFeeCap: big.NewInt(100 * params.GWei), Gas: exitGas, To: &to, Value: big.NewInt(exitFeeWei), Data: key[:],
		})
		if err != nil {
			return fmt.Errorf("sign exit: %w", err)
		}
		if err := node.SendTransaction(ctx, tx); err != nil {
			return fmt.Errorf("send exit: %w", err)
		}
		return nil
	}
}
