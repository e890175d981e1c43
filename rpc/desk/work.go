package desk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// work simulates what stands in the line until the context ends.
func (d *Desk) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.line.ready:
		}
		for next, ok := d.line.next(); ok; next, ok = d.line.next() {
			began := time.Now()
			if ctx.Err() == nil {
				d.try(ctx, next.order, next.round)
			}
			d.line.done(next, time.Since(began))
		}
	}
}

// try simulates an order on the head and sends it if that succeeds. What cannot be found out now is
// tried again at the next block.
func (d *Desk) try(ctx context.Context, order *rpc.Order, round uint64) {
	head := d.wanted(order, round)
	if head.Hash == (common.Hash{}) {
		return
	}
	found, err := d.simulate(ctx, order, head)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		d.Log.Warn("an order could not be simulated", "order", order.Hash(), "signer", order.Signer, "error", err)
		return
	}
	d.judge(order, head, found)
}

// finding is what a simulation found, as the order's signer may know it, and what was seen; that is
// nil if nothing was.
type finding struct {
	rpc.Simulation
	seen *exec.BundleResult
}

// wanted is the head if the order may be in the block after it, else zero; so it is when a block
// came while it waited for its turn, since then it stands in the line again.
func (d *Desk) wanted(order *rpc.Order, round uint64) rpc.Head {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line.isOver(round) || !d.isNext(order) {
		return rpc.Head{}
	}
	return d.head
}

// simulate runs an order on the state of a head, as if it were alone in the next block.
func (d *Desk) simulate(ctx context.Context, order *rpc.Order, head rpc.Head) (finding, error) {
	whole, err := bundle.ToExec(&order.Bundle, d.Signer, d.Senders)
	if errors.Is(err, bundle.ErrSignature) {
		return finding{Simulation: rpc.Simulation{Block: head.Number + 1, Error: err.Error(), Lasting: true}}, nil
	}
	if err != nil {
		return finding{}, fmt.Errorf("decode order: %w", err)
	}
	env := exec.Environment{ParentHash: head.Hash, Timestamp: head.Timestamp + uint64(d.BlockTime/time.Second)}
	got, err := d.Simulator.Simulate(ctx, whole, env)
	if errors.Is(err, exec.ErrTimeout) { // whatever it does, it takes too long
		return finding{Simulation: rpc.Simulation{Block: head.Number + 1, Error: err.Error()}}, nil
	}
	if err != nil {
		return finding{}, err
	}
	result := rpc.Simulation{
		Block: head.Number + 1, Success: got.Success, Error: got.Error, Lasting: got.Lasting, GasUsed: got.GasUsed,
		ProfitWei: got.ProfitWei, RefundableWei: got.RefundableWei,
	}
	if order.Follows != 0 {
		result.GasCharged = gasLimits(whole.Elements[1:])
	}
	return finding{ownPart(order, result, got), got}, nil
}

// judge tells the pool what a simulation found, and sends the order if it may be in the next block:
// under the lock, so that nothing is sent whose cancel was acknowledged. A version that fails must
// not leave an older one with the builders, and who followed an order that can never be included is
// taken back from them. What was found on a head that is not the newest any more says nothing of
// the next block: the order stands in the line again.
func (d *Desk) judge(order *rpc.Order, head rpc.Head, found finding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.head != head || !d.lives(order) {
		return
	}
	have := d.holders(order) // a failure that lasts ends it
	facts := d.Pool.Simulated(d.Clock.Now(), order.ID, found.Simulation)
	d.withdraw(facts, order)
	d.record(facts)
	if !found.Success {
		d.Sender.Cancel(order, have)
		return
	}
	d.share(order, head, found.seen)
	if !d.SendUnpaid && unpaid(order, found.Simulation) {
		return
	}
	d.Sender.Send(d.payable(order), head.Number+1, func(delivery rpc.Delivery) { d.told(order, delivery) })
}

// told keeps what a builder said.
func (d *Desk) told(order *rpc.Order, delivery rpc.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.record(d.Pool.Sent(d.Clock.Now(), order.ID, delivery))
}

// lives says whether an order has not come to its end. The caller holds mu.
func (d *Desk) lives(order *rpc.Order) bool {
	state, known := d.Pool.State(order.ID)
	return known && !state.Final()
}

// unpaid says whether a private transaction pays the block's fee recipient nothing: alone it is of
// no use to a builder (docs/spec.md, Private transactions), and waits for somebody who follows it.
func unpaid(order *rpc.Order, result rpc.Simulation) bool {
	return order.Kind == rpc.KindPrivate && result.ProfitWei.IsZero()
}
