package chain

import (
	"context"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// States opens the states of a chain in this process, and follows the chain. It implements
// simulate.States and exec.Chain, and is safe for concurrent use.
type States struct{ chain *core.BlockChain }

var (
	_ simulate.States = (*States)(nil)
	_ exec.Chain      = (*States)(nil)
)

// NewStates returns the states of a chain. The caller keeps the chain and stops it.
func NewStates(bc *core.BlockChain) *States { return &States{chain: bc} }

// At implements simulate.States.
func (s *States) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parent, err := s.parent(env)
	if err != nil {
		return nil, err
	}
	db, err := s.chain.StateAt(parent.Root, parent.Number, parent.Time)
	if err != nil {
		return nil, fmt.Errorf("the state of block %d (%s): %w: %w", parent.Number, parent.Hash(), exec.ErrUnknownBlock, err)
	}
	return &simulate.State{Parent: parent, DB: db, Config: s.chain.Config(), Hash: s.hashes(parent)}, nil
}

// hashes answers BLOCKHASH for a block and its ancestors. It belongs to one simulation. Most
// simulations never ask, so the lookup is made at the first question.
func (s *States) hashes(parent *types.Header) func(uint64) common.Hash {
	var known vm.GetHashFunc
	return func(number uint64) common.Hash {
		if known == nil {
			known = core.GetHashFn(&types.Header{ParentHash: parent.Hash(), Number: new(big.Int).Add(parent.Number,
				common.Big1)}, s.chain)
		}
		return known(number)
	}
}

// parent finds the block that an environment names.
func (s *States) parent(env exec.Environment) (*types.Header, error) {
	if env.ParentHash != (common.Hash{}) {
		if header := s.chain.GetHeaderByHash(env.ParentHash); header != nil {
			return header, nil
		}
		return nil, fmt.Errorf("block %s: %w", env.ParentHash, exec.ErrUnknownBlock)
	}
	head := s.chain.CurrentBlock()
	if env.Latest {
		return head, nil
	}
	// Headers above the newest block are of blocks that were imported but are not yet the chain's
	// head.
	if header := s.chain.GetHeaderByNumber(env.ParentNumber); header != nil && env.ParentNumber <= head.Number.Uint64() {
		return header, nil
	}
	return nil, fmt.Errorf("block %d: %w", env.ParentNumber, exec.ErrUnknownBlock)
}
