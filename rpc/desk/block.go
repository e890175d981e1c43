package desk

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

// follow hands the chain's blocks to the desk until the context ends. A block whose ancestors
// cannot be read now is left to the next one, which shows that they are missing again.
func (d *Desk) follow(ctx context.Context) error {
	return d.Chain.Follow(ctx, d.Head().Hash, func(block *types.Block) error {
		if err := d.catchUp(ctx, block); err != nil && ctx.Err() == nil {
			d.Log.Error("a block is left out until the ones before it can be read", "block", block.NumberU64(), "hash",
				block.Hash(), "error", err)
		}
		return ctx.Err()
	})
}

// catchUp takes a block after those that came before it unseen. If they cannot be read now it takes
// none; if they are gone it goes on without them.
func (d *Desk) catchUp(ctx context.Context, block *types.Block) error {
	missed, err := d.missed(ctx, block)
	switch {
	case errors.Is(err, exec.ErrUnknownBlock):
		d.Log.Error("blocks are missing for good: what they were the end of is not known", "before",
			block.NumberU64()-uint64(len(missed)), "error", err)
	case err != nil:
		return err
	}
	for _, block := range append(missed, block) {
		d.Block(ctx, block)
	}
	return nil
}

// missed are the blocks between the newest head that a block is built on and the block itself,
// parents first: those that came while nobody followed the chain. There are at most maxMissed; what
// is older is not asked for. With an error they are those that could be read.
func (d *Desk) missed(ctx context.Context, block *types.Block) (list []*types.Block, err error) {
	for len(list) < maxMissed && block.NumberU64() > 1 && !d.knows(block.ParentHash()) {
		if block, err = d.Chain.Block(ctx, block.ParentHash()); err != nil {
			err = fmt.Errorf("read a block that was missed: %w", err)
			break
		}
		list = append(list, block)
	}
	slices.Reverse(list)
	return list, err
}

func (d *Desk) knows(head common.Hash) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.heads, func(h rpc.Head) bool { return h.Hash == head })
}

// Block takes the next block of the chain: orders land or expire, and those that could be in the
// block after it are simulated again.
func (d *Desk) Block(ctx context.Context, block *types.Block) {
	at := d.Clock.Now()
	landed, landings := d.advance(at, block)
	valueWei, err := d.Settler.Settle(ctx, at, block, landed)
	if err != nil && ctx.Err() == nil {
		d.Log.Error("what a block paid is not known", "block", block.NumberU64(), "hash", block.Hash(), "error", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paid(landings, valueWei)
}

// advance moves the pool to a block, and tells which orders are in it, those last that were
// cancelled too late. The facts of orders that landed are not recorded yet: what they paid is found
// out first.
func (d *Desk) advance(at time.Time, block *types.Block) (landed []*rpc.Order, landings []rpc.OrderEnded) {
	d.mu.Lock()
	defer d.mu.Unlock()
	head := headOf(block.Header())
	d.revert(at, block)
	hashes := make([]common.Hash, len(block.Transactions()))
	for i, tx := range block.Transactions() {
		hashes[i] = tx.Hash()
	}
	for _, fact := range d.Pool.Block(at, head, hashes) {
		if end, ok := fact.(rpc.OrderEnded); ok && end.State == rpc.Landed {
			landings = append(landings, end)
			continue
		}
		d.record([]rpc.Fact{fact})
	}
	d.setHead(head)
	d.disclosure.forget(head.Number)
	d.line.replace(d.ready())
	there := append(d.Pool.LandedIn(head), d.Pool.CancelledIn(head, hashes)...)
	// the orders that an earlier life saw landing were not settled, or the block would not come again
	return there, landings
}

// revert takes back the heads that a block is not built on. The caller holds mu.
func (d *Desk) revert(at time.Time, block *types.Block) {
	for len(d.heads) > 0 {
		last := d.heads[len(d.heads)-1]
		if last.Hash == block.ParentHash() || last.Number+1 < block.NumberU64() {
			return // a gap is the follower's to fill; there is nothing to take back
		}
		d.heads = slices.Delete(d.heads, len(d.heads)-1, len(d.heads))
		d.record(d.Pool.Reverted(at, last))
		d.Settler.Revert(at, last)
	}
}

// paid records the ends of landed orders with what they paid, nil if that is not known. What is
// known of orders that landed before is for those who ask. The caller holds mu.
func (d *Desk) paid(landings []rpc.OrderEnded, valueWei map[uint64]*uint256.Int) {
	for id, paid := range valueWei {
		d.Pool.Paid(id, paid)
	}
	for _, end := range landings {
		end.ValueWei = valueWei[end.ID]
		d.record([]rpc.Fact{end})
	}
}

// Run works until the context ends, or the chain cannot be followed any more.
func (d *Desk) Run(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var workers sync.WaitGroup
	for range d.Workers {
		workers.Go(func() { d.work(working) })
	}
	err := d.follow(ctx)
	stop()
	workers.Wait()
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow the chain: %w", err)
	}
	return nil
}
