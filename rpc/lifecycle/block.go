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

// follow hands the chain's blocks to the lifecycle until the context ends. A block whose ancestors
// cannot be read now is left to the next one, which shows that they are missing again.
func (l *Lifecycle) follow(ctx context.Context) error {
	return l.Chain.Follow(ctx, l.Head().Hash, func(block *types.Block) error {
		if err := l.catchUp(ctx, block); err != nil && ctx.Err() == nil {
			l.Log.Error("a block is left out until the ones before it can be read", "block", block.NumberU64(), "hash",
				block.Hash(), "error", err)
		}
		return ctx.Err()
	})
}

// catchUp takes a block after those that came before it unseen. If they cannot be read now it takes
// none; if they are gone it goes on without them.
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

// readMissed are the blocks between the newest head that a block is built on and the block itself,
// parents first: those that came while nobody followed the chain. There are at most maxMissed; what
// is older is not asked for. With an error they are those that could be read.
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

// Block takes the next block of the chain: orders land or expire, and those that could be in the
// block after it are simulated again.
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

// advance moves the pool to a block, and tells which orders are in it, those last that were
// cancelled too late. The facts of orders that landed are not recorded yet: what they paid is found
// out first.
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
	// the orders that an earlier life saw landing were not indexed, or the block would not come again
	return there, landings
}

// revert takes back the heads that a block is not built on. The caller holds mu.
func (l *Lifecycle) revert(at time.Time, block *types.Block) {
	for len(l.heads) > 0 {
		last := l.heads[len(l.heads)-1]
		if last.Hash == block.ParentHash() || last.Number+1 < block.NumberU64() {
			return // a gap is the follower's to fill; there is nothing to take back
		}
		l.heads = slices.Delete(l.heads, len(l.heads)-1, len(l.heads))
		l.record(l.Pool.Reverted(at, last))
		l.Indexer.Revert(at, last)
	}
}

// recordLandings records the ends of landed orders with what they paid, nil if that is not known.
// What is isKnown of orders that landed before is for those who ask. The caller holds mu.
func (l *Lifecycle) recordLandings(landings []rpc.OrderEnded, valueWei map[uint64]*uint256.Int) {
	for id, paid := range valueWei {
		l.Pool.SetPaid(id, paid)
	}
	for _, end := range landings {
		end.ValueWei = valueWei[end.ID]
		l.record([]rpc.Fact{end})
	}
}

// Run works until the context ends, or the chain cannot be followed any more.
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
