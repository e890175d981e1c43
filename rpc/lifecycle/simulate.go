package lifecycle

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

// runWorker simulates the queue's orders until the context ends.
func (l *Lifecycle) runWorker(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.queue.ready:
		}
		for next, ok := l.queue.next(); ok; next, ok = l.queue.next() {
			began := time.Now()
			if ctx.Err() == nil {
				l.simulateAndSend(ctx, next.order, next.round)
			}
			l.queue.finish(next, time.Since(began))
		}
	}
}

// Drain simulates and sends the queue's orders in the caller's goroutine, until none waits. It is
// for a lifecycle that does not run, whose caller decides when what happens. Each simulation counts
// as if it had taken the same time, so the order of simulations does not depend on the machine.
func (l *Lifecycle) Drain(ctx context.Context) {
	for next, ok := l.queue.next(); ok && ctx.Err() == nil; next, ok = l.queue.next() {
		l.simulateAndSend(ctx, next.order, next.round)
		l.queue.finish(next, exec.FlowQuantum)
	}
}

// simulateAndSend simulates an order on the head and sends it if that succeeds. If the simulation
// itself fails, it is tried again at the next block.
func (l *Lifecycle) simulateAndSend(ctx context.Context, order *rpc.Order, round uint64) {
	head := l.headFor(order, round)
	if head.Hash == (common.Hash{}) {
		return
	}
	found, err := l.simulate(ctx, order, head)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		l.Log.Warn("an order could not be simulated", "order", order.Hash(), "signer", order.Signer, "error", err)
		return
	}
	l.applySimulation(order, head, found)
}

// simulated is the part of a simulation that the order's signer may know, and all that was seen;
// seen is nil if nothing was executed.
type simulated struct {
	rpc.Simulation
	seen *exec.BundleResult
}

// headFor returns the head if the block after it may include the order, else zero. It is zero too
// if a block came while the order waited, because then the order is in the queue again.
func (l *Lifecycle) headFor(order *rpc.Order, round uint64) rpc.Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue.isOver(round) || !l.fitsNextBlock(order) {
		return rpc.Head{}
	}
	return l.head
}

// simulate runs an order on the state of a head, as if it were alone in the next block.
func (l *Lifecycle) simulate(ctx context.Context, order *rpc.Order, head rpc.Head) (simulated, error) {
	whole, err := bundle.ToExec(&order.Bundle, l.Senders)
	if errors.Is(err, bundle.ErrSignature) {
		return simulated{Simulation: rpc.Simulation{Block: head.Number + 1, Error: err.Error(), Lasting: true}}, nil
	}
	if err != nil {
		return simulated{}, fmt.Errorf("decode order: %w", err)
	}
	env := exec.Environment{ParentHash: head.Hash, Timestamp: head.Timestamp + uint64(l.BlockTime/time.Second)}
	got, err := l.Simulator.Simulate(ctx, whole, env)
	if errors.Is(err, exec.ErrTimeout) { // whatever it would do, it takes too long
		return simulated{Simulation: rpc.Simulation{Block: head.Number + 1, Error: err.Error()}}, nil
	}
	if err != nil {
		return simulated{}, err
	}
	result := rpc.Simulation{
		Block: head.Number + 1, Success: got.Success, Error: got.Error, Lasting: got.Lasting, GasUsed: got.GasUsed,
		ProfitWei: got.ProfitWei, RefundableWei: got.RefundableWei,
	}
	if order.Follows != 0 {
		result.GasCharged = bundle.GasLimits(whole.Elements[1:])
	}
	return simulated{keepOwnPart(order, result, got), got}, nil
}

// applySimulation passes the result of a simulation to the pool, and sends the order if the next
// block may include it. It does so under the lock, so that nothing is sent after its cancel was
// acknowledged. If the order fails, it is cancelled at the builders that have it or an older
// version of it. If it can never be included, the orders that follow it are cancelled too. A result
// on a head that is no longer the newest says nothing about the next block; the order is in the
// queue again.
func (l *Lifecycle) applySimulation(order *rpc.Order, head rpc.Head, found simulated) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.head != head || !l.isLive(order) {
		return
	}
	have := l.buildersWith(order) // before a lasting failure ends the order
	facts := l.Pool.Simulated(l.Clock.Now(), order.ID, found.Simulation)
	l.withdraw(facts, order)
	l.record(facts)
	if !found.Success {
		l.Sender.Cancel(order, have)
		return
	}
	l.announceShared(order, head, found.seen)
	if !l.SendUnpaid && paysNothing(order, found.Simulation) {
		return
	}
	l.Sender.Send(l.resolveRecipients(order), head.Number+1, func(delivery rpc.Delivery) {
		l.recordDelivery(order, delivery)
	})
}

// recordDelivery records a builder's answer.
func (l *Lifecycle) recordDelivery(order *rpc.Order, delivery rpc.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record(l.Pool.Sent(l.Clock.Now(), order.ID, delivery))
}

// isLive says whether an order has not ended. The caller holds mu.
func (l *Lifecycle) isLive(order *rpc.Order) bool {
	state, known := l.Pool.State(order.ID)
	return known && !state.Final()
}

// paysNothing says whether a private transaction pays nothing to the block's fee recipient. Alone
// it is of no use to a builder (docs/spec.md, Private transactions), so it waits for an order that
// follows it.
func paysNothing(order *rpc.Order, result rpc.Simulation) bool {
	return order.Kind == rpc.KindPrivate && result.ProfitWei.IsZero()
}
