package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
)

// follow passes the chain's blocks to the lifecycle until the context ends. If a block's missing
// ancestors cannot be read now, the block is left out; the next block shows that they are missing,
// and they are read then.
func (l *Lifecycle) follow(ctx context.Context) error {
	return l.Chain.Follow(ctx, l.Head().Hash, func(block *types.Block) error {
		if err := l.catchUp(ctx, block); err != nil && ctx.Err() == nil {
			l.Log.Error("a block is left out until the ones before it can be read", "block", block.NumberU64(), "hash",
				block.Hash(), "error", err)
		}
		return ctx.Err()
	})
}

// catchUp processes a block after the blocks before it that were missed. If these cannot be read
// now it processes none; if the node no longer has them, it goes on without them.
func (l *Lifecycle) catchUp(ctx context.Context, block *types.Block) error {
	missed, err := l.readMissed(ctx, block)
	switch {
	case errors.Is(err, exec.ErrUnknownBlock):
		l.Log.Error("blocks are missing for good: what they were the end of is not known", "before",
			block.NumberU64()-uint64(len(missed)), "error", err)
	case err != nil:
		return err
	}
	for _, block := range append(missed, block) {
		l.Block(ctx, block)
	}
	return nil
}

// readMissed returns the blocks between the newest known head among a block's ancestors and the
// block itself, parents first: those that came while the chain was not followed. It reads at most
// maxMissed of them, the newest. With an error it returns those that it could read.
func (l *Lifecycle) readMissed(ctx context.Context, block *types.Block) (list []*types.Block, err error) {
	for len(list) < maxMissed && block.NumberU64() > 1 && !l.knows(block.ParentHash()) {
		if block, err = l.Chain.Block(ctx, block.ParentHash()); err != nil {
			err = fmt.Errorf("read a block that was missed: %w", err)
			break
		}
		list = append(list, block)
	}
	slices.Reverse(list)
	return list, err
}

func (l *Lifecycle) knows(head common.Hash) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.heads, func(h rpc.Head) bool { return h.Hash == head })
}

// Block processes the next block of the chain: orders land or expire, and those that the block
// after it may include are simulated again.
func (l *Lifecycle) Block(ctx context.Context, block *types.Block) {
	at := l.Clock.Now()
	landed, landings := l.advance(at, block)
	valueWei, err := l.Indexer.Index(ctx, at, block, landed)
	if err != nil && ctx.Err() == nil {
		l.Log.Error("what a block paid is not known", "block", block.NumberU64(), "hash", block.Hash(), "error", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recordLandings(landings, valueWei)
}

// advance moves the pool to a block. It returns the orders that are in the block; those that were
// cancelled too late come last. It does not record the facts of orders that landed but returns
// them, because what they paid is not known yet.
func (l *Lifecycle) advance(at time.Time, block *types.Block) (landed []*rpc.Order, landings []rpc.OrderEnded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	head := headOf(block.Header())
	l.revert(at, block)
	hashes := make([]common.Hash, len(block.Transactions()))
	for i, tx := range block.Transactions() {
		hashes[i] = tx.Hash()
	}
	for _, fact := range l.Pool.Block(at, head, hashes) {
		if end, ok := fact.(rpc.OrderEnded); ok && end.State == rpc.Landed {
			landings = append(landings, end)
			continue
		}
		l.record([]rpc.Fact{fact})
	}
	l.setHead(head)
	l.disclosure.forget(head.Number)
	l.queue.replace(l.readyOrders())
	there := append(l.Pool.LandedIn(head), l.Pool.CancelledIn(head, hashes)...)
	// Orders that an earlier run saw landing were not indexed there: otherwise this block would not
	// come again.
	return there, landings
}

// revert takes back the heads that a block is not built on. The caller holds mu.
func (l *Lifecycle) revert(at time.Time, block *types.Block) {
	for len(l.heads) > 0 {
		last := l.heads[len(l.heads)-1]
		if last.Hash == block.ParentHash() || last.Number+1 < block.NumberU64() {
			return // the follower fills gaps; there is nothing to take back
		}
		l.heads = slices.Delete(l.heads, len(l.heads)-1, len(l.heads))
		l.record(l.Pool.Reverted(at, last))
		l.Indexer.Revert(at, last)
	}
}

// recordLandings records the ends of landed orders with what they paid, nil if that is not known.
// It also stores what orders that had landed before paid, for the status of these orders. The
// caller holds mu.
func (l *Lifecycle) recordLandings(landings []rpc.OrderEnded, valueWei map[uint64]*uint256.Int) {
	for id, paid := range valueWei {
		l.Pool.SetPaid(id, paid)
	}
	for _, end := range landings {
		end.ValueWei = valueWei[end.ID]
		l.record([]rpc.Fact{end})
	}
}

// Run follows the chain and simulates orders until the context ends, or the chain cannot be
// followed any more.
func (l *Lifecycle) Run(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range l.Workers {
		workers.Go(func() { l.runWorker(working) })
	}
	err := l.follow(ctx)
	stop()
	workers.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow the chain: %w", err)
	}
	return nil
}
