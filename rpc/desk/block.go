package desk

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// follow hands the chain's blocks to the desk until the context ends.
func (d *Desk) follow(ctx context.Context) error {
	return d.Chain.Follow(ctx, d.Head().Hash, func(block *types.Block) error {
		missed, err := d.missed(ctx, block)
		if err != nil { // the next block will show it again
			d.Log.Error("blocks before this one could not be read", "block", block.NumberU64(), "error", err)
		}
		for _, block := range append(missed, block) {
			d.Block(ctx, block)
		}
		return ctx.Err()
	})
}

// missed are the blocks between the newest head that a block is built on and the block itself, parents first: those that came while nobody
// followed the chain. There are at most maxMissed; what is older is not asked for.
func (d *Desk) missed(ctx context.Context, block *types.Block) (list []*types.Block, err error) {
	for len(list) < maxMissed && block.NumberU64() > 1 && !d.knows(block.ParentHash()) {
		if block, err = d.Chain.Block(ctx, block.ParentHash()); err != nil {
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

// Block takes the next block of the chain: orders land or expire, and those that could be in the block after it are simulated again.
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

// advance moves the pool to a block. The facts of orders that landed are not recorded yet: what they paid is found out first.
func (d *Desk) advance(at time.Time, block *types.Block) (landed []*rpc.Order, landings []rpc.OrderEnded) {
	d.mu.Lock()
	defer d.mu.Unlock()
	head := headOf(block.Header())
	d.revert(at, block)
	hashes := make([]common.Hash, len(block.Transactions()))
	for i, tx := range block.Transactions() {
		hashes[i] = tx.Hash()
	}
	facts := d.Pool.Block(at, head, hashes)
	for _, fact := range facts {
		if end, ok := fact.(rpc.OrderEnded); ok && end.State == rpc.Landed {
			landed, landings = append(landed, d.Pool.Order(end.ID)), append(landings, end)
			continue
		}
		d.record([]rpc.Fact{fact})
	}
	d.setHead(head)
	d.line.replace(d.Pool.Ready(head.Number+1, d.nextTimestamp()))
	return landed, landings
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

// paid records the ends of landed orders with what they paid, nil if that is not known. The caller holds mu.
func (d *Desk) paid(landings []rpc.OrderEnded, valueWei map[uint64]*uint256.Int) {
	for _, end := range landings {
		end.ValueWei = valueWei[end.ID]
		d.Pool.Paid(end.ID, end.ValueWei)
		d.record([]rpc.Fact{end})
	}
}

// Run works until the context ends.
func (d *Desk) Run(ctx context.Context) error {
	done := make(chan struct{})
	for range d.Workers {
		go func() {
			d.work(ctx)
			done <- struct{}{}
		}()
	}
	err := d.follow(ctx)
	for range d.Workers {
		<-done
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow the chain: %w", err)
	}
	return nil
}
