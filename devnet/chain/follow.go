package chain

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
)

// errFeedClosed says that the chain's owner has stopped it.
var errFeedClosed = errors.New("the chain has stopped")

// Head implements exec.Chain.
func (s *States) Head(ctx context.Context) (*types.Header, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.chain.CurrentBlock(), nil
}

// Block implements exec.Chain.
func (s *States) Block(ctx context.Context, hash common.Hash) (*types.Block, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if block := s.chain.GetBlockByHash(hash); block != nil {
		return block, nil
	}
	return nil, fmt.Errorf("block %s: %w", hash, exec.ErrUnknownBlock)
}

// Follow implements exec.Chain. A slow handler does not hold up the chain: it gets later the blocks
// that it missed.
func (s *States) Follow(ctx context.Context, after common.Hash, handle func(*types.Block) error) error {
	events := make(chan core.ChainHeadEvent, 16)
	feed := s.chain.SubscribeChainHeadEvent(events)
	defer feed.Unsubscribe()
	news := make(chan struct{}, 1) // holds a token if the head may have changed
	closed := make(chan error, 1)
	go func() { closed <- drain(events, feed.Err(), news) }()

	handed := s.chain.CurrentBlock()
	if after != (common.Hash{}) {
		if handed = s.chain.GetHeaderByHash(after); handed == nil {
			return fmt.Errorf("follow chain: block %s: %w", after, exec.ErrUnknownBlock)
		}
		news <- struct{}{} // there may be blocks already
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-closed:
			return fmt.Errorf("follow chain: %w", err)
		case <-news:
		}
		blocks, err := s.between(handed, s.chain.CurrentBlock())
		if err != nil {
			return fmt.Errorf("follow chain: %w", err)
		}
		for _, block := range blocks {
			if ctx.Err() != nil {
				return nil
			}
			if err := handle(block); err != nil {
				return err
			}
			handed = block.Header()
		}
	}
}

// drain turns events into tokens in news. The chain waits for its listeners, so drain takes each
// event at once. It ends with the subscription.
func drain(events <-chan core.ChainHeadEvent, ended <-chan error, news chan<- struct{}) error {
	for {
		select {
		case <-events:
			select {
			case news <- struct{}{}:
			default: // there is a token already
			}
		case err := <-ended:
			if err == nil {
				err = errFeedClosed
			}
			return err
		}
	}
}

// between lists the blocks that lead from one block to another: those of the other's branch above
// the common ancestor, parents first.
func (s *States) between(from, to *types.Header) ([]*types.Block, error) {
	var out []*types.Block
	for from.Hash() != to.Hash() {
		if to.Number.Uint64() >= from.Number.Uint64() && to.Number.Sign() > 0 {
			block := s.chain.GetBlock(to.Hash(), to.Number.Uint64())
			if block == nil {
				return nil, fmt.Errorf("block %d (%s): %w", to.Number, to.Hash(), exec.ErrUnknownBlock)
			}
			out = append(out, block)
		}
		var err error
		if to.Number.Uint64() >= from.Number.Uint64() {
			to, err = s.before(to)
		} else {
			from, err = s.before(from)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Reverse(out)
	return out, nil
}

// before is a block's parent.
func (s *States) before(header *types.Header) (*types.Header, error) {
	if header.Number.Sign() > 0 {
		if parent := s.chain.GetHeader(header.ParentHash, header.Number.Uint64()-1); parent != nil {
			return parent, nil
		}
	}
	return nil, fmt.Errorf("the parent of block %d (%s): %w", header.Number, header.Hash(), exec.ErrUnknownBlock)
}
