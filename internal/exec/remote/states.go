package remote

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// At implements simulate.States.
func (n *Node) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	parent, err := n.parent(ctx, env)
	if err != nil {
		return nil, err
	}
	hash := parent.Hash()
	r := &reader{ctx: ctx, node: n, block: hash, cache: n.caches.of(hash)}
	db, err := state.NewWithReader(parent.Root, noTries{}, r)
	if err != nil {
		return nil, fmt.Errorf("open state of block %s: %w", hash, err)
	}
	return &simulate.State{Parent: parent, DB: db, Config: n.chain, Hash: r.ancestor(parent)}, nil
}

// parent is the block that an environment begins with.
func (n *Node) parent(ctx context.Context, env exec.Environment) (*types.Header, error) {
	switch {
	case env.ParentHash != common.Hash{}:
		return n.header(ctx, func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
			return client.HeaderByHash(ctx, env.ParentHash)
		})
	case env.Latest:
		return n.Head(ctx)
	}
	return n.header(ctx, func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
		return client.HeaderByNumber(ctx, new(big.Int).SetUint64(env.ParentNumber))
	})
}

func (n *Node) header(
	ctx context.Context, ask func(context.Context, *ethclient.Client) (*types.Header, error),
) (header *types.Header, err error) {
	return header, n.ask(ctx, func(ctx context.Context, client *rpc.Client) (err error) {
		header, err = ask(ctx, ethclient.NewClient(client))
		return missing(err)
	})
}

// ancestor answers BLOCKHASH for a block and its ancestors. What nobody can tell is zero.
func (r *reader) ancestor(parent *types.Header) func(uint64) common.Hash {
	number := parent.Number.Uint64()
	return func(wanted uint64) common.Hash {
		switch {
		case wanted == number:
			return parent.Hash()
		case wanted+1 == number:
			return parent.ParentHash
		case wanted > number:
			return common.Hash{}
		}
		hash, err := cached(r.cache, r.cache.hashes, wanted, fmt.Sprint("h", wanted), func() (common.Hash, error) {
			header, err := r.node.header(r.ctx, func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
				return client.HeaderByNumber(ctx, new(big.Int).SetUint64(wanted))
			})
			if err != nil {
				return common.Hash{}, err
			}
			return header.Hash(), nil
		})
		if err != nil {
			r.node.cfg.Log.Warn("the hash of an ancestor could not be read", "block", wanted, "error", err)
		}
		return hash
	}
}
