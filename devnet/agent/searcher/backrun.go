package searcher

import (
	"cmp"
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/stream/client"
)

// stake is how much ether a backrun may use. What it does not use comes back.
var stake = new(uint256.Int).Mul(uint256.NewInt(300), uint256.NewInt(params.Ether))

// follow sends a backrun, if it decides to.
func (s *Searcher) follow(ctx context.Context, hint client.Event) error {
	if !read(hint).moved {
		return nil // so the market need not be read
	}
	at := situation{name: s.Name, hint: hint}
	var err error
	if at.head, at.baseFeeWei, err = s.head(ctx); err != nil {
		return err
	}
	if at.reserves, err = s.reserves(ctx); err != nil {
		return err
	}
	d := decide(at)
	if !d.follows {
		return nil
	}
	tx, err := s.backrun(ctx, at.baseFeeWei, d.percent)
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
		"version": "v0.1",
		"inclusion": map[string]any{
			"block": hexutil.Uint64(d.firstBlock), "maxBlock": hexutil.Uint64(d.lastBlock),
		},
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
		Gas:       chain.CallGas(s.Spec.ForkAt(s.Spec.SlotAt(s.Clock.Now())+1), chain.BackrunGas),
		To:        &chain.BackrunAt, Value: stake.ToBig(),
		Data: chain.RunCall(chain.PoolA, chain.PoolB, percent),
	})
	if err != nil {
		return nil, fmt.Errorf("sign a backrun: %w", err)
	}
	return tx, nil
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

// reserves returns the pools' reserves at the head of the chain.
func (s *Searcher) reserves(ctx context.Context) (map[common.Address]chain.Reserves, error) {
	etherCall, tokenCall := chain.ReserveCalls()
	var batch []rpc.BatchElem
	for _, pool := range chain.Pools {
		for _, data := range [][]byte{etherCall, tokenCall} {
			call := map[string]any{"to": pool, "input": hexutil.Bytes(data)}
			batch = append(batch, rpc.BatchElem{Method: "eth_call", Args: []any{call, "latest"}, Result: new(hexutil.Bytes)})
		}
	}
	if err := s.Node.BatchCallContext(ctx, batch); err != nil {
		return nil, fmt.Errorf("read the pools: %w", err)
	}
	out := map[common.Address]chain.Reserves{}
	for i, pool := range chain.Pools {
		word := func(n int) (*uint256.Int, error) {
			answer := *batch[n].Result.(*hexutil.Bytes)
			if batch[n].Error != nil || len(answer) != 32 {
				return nil, fmt.Errorf("read pool %s: %w", pool, cmp.Or(batch[n].Error, ethereum.NotFound))
			}
			return new(uint256.Int).SetBytes(answer), nil
		}
		etherWei, err := word(2 * i)
		if err != nil {
			return nil, err
		}
		tokens, err := word(2*i + 1)
		if err != nil {
			return nil, err
		}
		out[pool] = chain.Reserves{EtherWei: etherWei, Tokens: tokens}
	}
	return out, nil
}
