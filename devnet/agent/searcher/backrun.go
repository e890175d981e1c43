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
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/stream/client"
)

// stake is how much ether a backrun may use. What it does not use comes back.
var stake = new(uint256.Int).Mul(uint256.NewInt(300), uint256.NewInt(params.Ether))

// Market is what a searcher reads of the chain when it has heard a hint.
type Market struct {
	// Head is the newest block, with its base fee and the pools' reserves after it.
	Head       uint64
	BaseFeeWei *uint256.Int
	Reserves   map[common.Address]chain.Reserves
	// Fork is that of the next slot.
	Fork eth.Fork
}

// follow sends a backrun, if it decides to.
func (s *Searcher) follow(ctx context.Context, hint client.Event) error {
	if !read(hint).moved {
		return nil // so the market need not be read
	}
	market := Market{Fork: s.Spec.ForkAt(s.Spec.SlotAt(s.Clock.Now()) + 1)}
	var err error
	if market.Head, market.BaseFeeWei, err = s.head(ctx); err != nil {
		return err
	}
	if market.Reserves, err = s.reserves(ctx); err != nil {
		return err
	}
	bundle, err := s.Answer(hint, market, func(wallet common.Address) (uint64, error) { return s.nonce(ctx, wallet) })
	if err != nil || bundle == nil {
		return err
	}
	var taken struct {
		BundleHash common.Hash `json:"bundleHash"`
	}
	if err := s.OrderFlow.CallContext(ctx, &taken, "mev_sendBundle", bundle); err != nil {
		return fmt.Errorf("mev_sendBundle: %w", err)
	}
	s.sent.add(taken.BundleHash)
	return nil
}

// Answer returns the parameter of mev_sendBundle with which a searcher answers a hint; nil if it
// does not. It asks nonce for the next nonce of a wallet. It is for one goroutine.
func (s *Searcher) Answer(hint client.Event, market Market,
	nonce func(common.Address) (uint64, error)) (map[string]any, error) {
	d := decide(s.Name, hint, market)
	if !d.follows {
		return nil, nil
	}
	tx, err := s.backrun(market, d.percent, nonce)
	if err != nil {
		return nil, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("encode a backrun: %w", err)
	}
	return map[string]any{
		"version": "v0.1",
		"inclusion": map[string]any{
			"block": hexutil.Uint64(d.firstBlock), "maxBlock": hexutil.Uint64(d.lastBlock),
		},
		"body": []any{map[string]any{"hash": hint.Hash}, map[string]any{"tx": hexutil.Bytes(raw), "canRevert": false}},
	}, nil
}

// backrun signs a transaction that closes the price gap in either direction, with the next wallet.
// It has no tip: it pays the block by a part of its profit.
func (s *Searcher) backrun(market Market, percent uint64,
	nonce func(common.Address) (uint64, error)) (*types.Transaction, error) {
	wallet := s.Wallets[s.turn%len(s.Wallets)]
	s.turn++
	next, err := nonce(crypto.PubkeyToAddress(wallet.PublicKey))
	if err != nil {
		return nil, err
	}
	tx, err := types.SignNewTx(wallet, s.signer, &types.DynamicFeeTx{
		ChainID: s.signer.ChainID(), Nonce: next, GasTipCap: new(big.Int),
		GasFeeCap: new(big.Int).Lsh(market.BaseFeeWei.ToBig(), 1), Gas: chain.CallGas(market.Fork, chain.BackrunGas),
		To: &chain.BackrunAt, Value: stake.ToBig(), Data: chain.RunCall(chain.PoolA, chain.PoolB, percent),
	})
	if err != nil {
		return nil, fmt.Errorf("sign a backrun: %w", err)
	}
	return tx, nil
}

// nonce returns the next nonce of a wallet at the head of the chain.
func (s *Searcher) nonce(ctx context.Context, wallet common.Address) (uint64, error) {
	var nonce hexutil.Uint64
	if err := s.Node.CallContext(ctx, &nonce, "eth_getTransactionCount", wallet, "latest"); err != nil {
		return 0, fmt.Errorf("read a nonce: %w", err)
	}
	return uint64(nonce), nil
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
