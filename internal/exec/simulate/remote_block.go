package simulate

import (
	"context"
	"errors"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/trie"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Block implements exec.Chain: it fetches a block with its transactions and withdrawals, and checks
// them against the hash. The error wraps exec.ErrUnknownBlock or exec.ErrNode.
func (s *RemoteStates) Block(ctx context.Context, hash common.Hash) (*types.Block, error) {
	return s.fetchBlock(ctx, func(ctx context.Context, client *ethclient.Client) (*types.Block, error) {
		block, err := client.BlockByHash(ctx, hash)
		if err == nil && block.Hash() != hash {
			return nil, impossible("block %s in place of %s", block.Hash(), hash)
		}
		return block, err
	})
}

// BlockByNumber fetches the block that the chain has at a number. Errors are those of Block.
func (s *RemoteStates) BlockByNumber(ctx context.Context, number uint64) (*types.Block, error) {
	return s.fetchBlock(ctx, func(ctx context.Context, client *ethclient.Client) (*types.Block, error) {
		block, err := client.BlockByNumber(ctx, new(big.Int).SetUint64(number))
		if err == nil && !sameNumber(block.Header(), number) {
			return nil, impossible("block %s in place of %d", block.Number(), number)
		}
		return block, err
	})
}

func (s *RemoteStates) fetchBlock(ctx context.Context,
	fetch func(context.Context, *ethclient.Client) (*types.Block, error)) (
	*types.Block, error) {
	var block *types.Block
	err := s.nodes.ask(ctx, "get block", func(ctx context.Context, _ *node, client *rpc.Client) (err error) {
		if block, err = fetch(ctx, ethclient.NewClient(client)); err != nil {
			return err
		}
		return checkBody(block)
	})
	if err != nil {
		return nil, err
	}
	s.headers.Add(block.Hash(), block.Header())
	return block, nil
}

// headerByHash fetches a header, or takes it from the cache: the header of a hash never changes.
func (s *RemoteStates) headerByHash(ctx context.Context, hash common.Hash) (*types.Header, error) {
	if header, ok := s.headers.Get(hash); ok {
		return header, nil
	}
	return s.header(ctx, hash.Hex(), func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
		if header, ok := s.headers.Get(hash); ok { // another caller has fetched it meanwhile
			return header, nil
		}
		header, err := client.HeaderByHash(ctx, hash)
		if err == nil && header.Hash() != hash {
			return nil, impossible("header %s in place of %s", header.Hash(), hash)
		}
		return header, err
	})
}

// headerByNumber asks each time, since the chain can be reorganised. A nil number stands for the
// newest block.
func (s *RemoteStates) headerByNumber(ctx context.Context, number *uint64) (*types.Header, error) {
	key, asked := "latest", (*big.Int)(nil)
	if number != nil {
		asked = new(big.Int).SetUint64(*number)
		key = asked.String()
	}
	return s.header(ctx, key, func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
		header, err := client.HeaderByNumber(ctx, asked)
		switch {
		case errors.Is(err, ethereum.NotFound) && number == nil:
			return nil, impossible("it has no newest block")
		case err == nil && number != nil && !sameNumber(header, *number):
			return nil, impossible("header %s in place of %d", header.Number, *number)
		}
		return header, err
	})
}

// header asks once for all callers that want the same header at the same time.
func (s *RemoteStates) header(
	ctx context.Context, key string, fetch func(context.Context, *ethclient.Client) (*types.Header, error),
) (*types.Header, error) {
	header, err := shared(ctx, &s.asking, s.patience(), key, func(ctx context.Context) (*types.Header, error) {
		var header *types.Header
		err := s.nodes.ask(ctx, "get header", func(ctx context.Context, _ *node, client *rpc.Client) (err error) {
			if header, err = fetch(ctx, ethclient.NewClient(client)); err != nil {
				return err
			}
			if !header.Number.IsUint64() {
				return impossible("block number %s", header.Number)
			}
			s.headers.Add(header.Hash(), header)
			return nil
		})
		return header, err
	})
	return header, err
}

func sameNumber(header *types.Header, number uint64) bool {
	return header.Number.IsUint64() && header.Number.Uint64() == number
}

// checkBody says whether a block's transactions and withdrawals are those that its header commits
// to.
func checkBody(block *types.Block) error {
	if !block.Number().IsUint64() {
		return impossible("block number %s", block.Number())
	}
	if slices.Contains(block.Transactions(), nil) || slices.Contains(block.Withdrawals(), nil) {
		return impossible("block %s has nothing in place of a transaction or a withdrawal", block.Hash())
	}
	if types.DeriveSha(block.Transactions(), trie.NewListHasher()) != block.TxHash() {
		return impossible("block %s does not hold the transactions that its header names", block.Hash())
	}
	if root := block.Header().WithdrawalsHash; root != nil &&
		types.DeriveSha(block.Withdrawals(), trie.NewListHasher()) != *root {
		return impossible("block %s does not hold the withdrawals that its header names", block.Hash())
	}
	return nil
}

// parent finds the block that an environment names.
func (s *RemoteStates) parent(ctx context.Context, env exec.Environment) (*types.Header, error) {
	switch {
	case env.ParentHash != (common.Hash{}):
		return s.headerByHash(ctx, env.ParentHash)
	case env.Latest:
		return s.headerByNumber(ctx, nil)
	default:
		return s.headerByNumber(ctx, &env.ParentNumber)
	}
}
