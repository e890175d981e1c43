package searcher

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/contract"
	"github.com/gavel-relay/gavel/stream/client"
)

// stake is how much ether a backrun may use. What it does not use comes back.
var stake = new(uint256.Int).Mul(uint256.NewInt(300), uint256.NewInt(params.Ether))

// blocksAhead is for how many blocks a backrun is valid: for more than the next one, because its
// target may land later.
const blocksAhead = 3

// follow sends a backrun, if a hint is worth it.
func (s *Searcher) follow(ctx context.Context, hint client.Event) error {
	found, worth, err := s.opportunity(ctx, hint)
	if err != nil || !worth {
		return err
	}
	head, baseFee, err := s.head(ctx)
	if err != nil {
		return err
	}
	costWei := new(uint256.Int).Mul(baseFee, uint256.NewInt(contract.BackrunGas))
	if found.known && !percentOf(found.profitWei, 100-s.percent(hint.Hash)).Gt(costWei) {
		return nil // the searcher's part of the profit would not pay for the gas
	}
	tx, err := s.backrun(ctx, baseFee, s.percent(hint.Hash))
	if err != nil {
		return err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return fmt.Errorf("encode a backrun: %w", err)
	}
	var taken struct {
		BundleHash common.Hash `json:"bundleHash"`
	}
	if err := s.OrderFlow.CallContext(ctx, &taken, "mev_sendBundle", map[string]any{
		"version": "v0.1", "inclusion": map[string]any{"block": hexutil.Uint64(head + 1),
			"maxBlock": hexutil.Uint64(head + blocksAhead)},
		"body": []any{map[string]any{"hash": hint.Hash}, map[string]any{"tx": hexutil.Bytes(raw), "canRevert": false}},
	}); err != nil {
		return fmt.Errorf("mev_sendBundle: %w", err)
	}
	s.sent.add(taken.BundleHash)
	return nil
}

// backrun signs a transaction that closes the price gap in either direction, with the next wallet.
// It has no tip: it pays the block by a part of its profit.
func (s *Searcher) backrun(ctx context.Context, baseFeeWei *uint256.Int, percent uint64) (*types.Transaction, error) {
	wallet := s.Wallets[s.turn%len(s.Wallets)]
	s.turn++
	var nonce hexutil.Uint64
	if err := s.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", crypto.PubkeyToAddress(wallet.PublicKey),
		"latest"); err != nil {
		return nil, fmt.Errorf("read a nonce: %w", err)
	}
	tx, err := types.SignNewTx(wallet, s.signer, &types.DynamicFeeTx{
		ChainID: s.signer.ChainID(), Nonce: uint64(nonce), GasTipCap: new(big.Int),
		GasFeeCap: new(big.Int).Lsh(baseFeeWei.ToBig(), 1),
		Gas:       contract.BackrunGas, To: &contract.BackrunAt, Value: stake.ToBig(),
		Data: contract.RunCall(contract.PoolA, contract.PoolB, percent),
	})
	if err != nil {
		return nil, fmt.Errorf("sign a backrun: %w", err)
	}
	return tx, nil
}

// percent returns the share of its profit that a searcher pays to the block's fee recipient, which
// refunds a part of that to the user. It is from 50 to 94 and differs for each hint and searcher,
// so that the searchers win in turn.
func (s *Searcher) percent(hint common.Hash) uint64 {
	return 50 + uint64(crypto.Keccak256([]byte(s.Name), hint[:])[0])%45
}

// head returns the newest block's number and base fee.
func (s *Searcher) head(ctx context.Context) (uint64, *uint256.Int, error) {
	var block struct {
		Number  hexutil.Uint64 `json:"number"`
		BaseFee *hexutil.U256  `json:"baseFeePerGas"`
	}
	if err := s.Node.CallContext(ctx, &block, "eth_getBlockByNumber", "latest", false); err != nil {
		return 0, nil, fmt.Errorf("read the head: %w", err)
	}
	if block.BaseFee == nil {
		return 0, nil, fmt.Errorf("read the head: block %d has no base fee", block.Number)
	}
	return uint64(block.Number), (*uint256.Int)(block.BaseFee), nil
}

func percentOf(amount *uint256.Int, percent uint64) *uint256.Int {
	part := new(uint256.Int).Mul(amount, uint256.NewInt(percent))
	return part.Div(part, uint256.NewInt(100))
}
