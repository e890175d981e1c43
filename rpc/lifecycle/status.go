package lifecycle

import (
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// KeptStatus is Status when the journal has what it tells of: the order, and its cancel. If the
// journal does not confirm that, it refuses, since after a restart, or at the next owner of the
// orders, the order could be missing or live again.
func (l *Lifecycle) KeptStatus(signer common.Address, hash common.Hash) (*rpc.OrderStatus, error) {
	status, kept := l.statusToKeep(signer, hash)
	if err := kept(); err != nil {
		return nil, err
	}
	return status, nil
}

// statusToKeep returns a status, and what waits until the journal has what it tells of.
func (l *Lifecycle) statusToKeep(signer common.Address, hash common.Hash) (*rpc.OrderStatus, func() error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	status, kept := l.status(signer, hash), func() error { return nil }
	if status == nil {
		return nil, kept
	}
	if order := l.unacked[status.Order.ID]; order != nil {
		kept = order
	}
	if status.State != rpc.Cancelled {
		return status, kept
	}
	for _, fact := range l.unackedCancels[signer] {
		if end, ok := fact.(rpc.OrderEnded); ok && end.ID == status.Order.ID {
			return nil, func() error { return rpc.JournalUnavailable.Plain() }
		}
	}
	if cancel := l.cancelling[signer]; cancel != nil {
		kept = waitBoth(kept, cancel.wait)
	}
	return status, kept
}

// Status returns what is known of a signer's newest order with a hash; nil if there is none, or the
// pool has forgotten it.
func (l *Lifecycle) Status(signer common.Address, hash common.Hash) *rpc.OrderStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status(signer, hash)
}

// status is Status. The caller holds mu.
func (l *Lifecycle) status(signer common.Address, hash common.Hash) *rpc.OrderStatus {
	all := l.Pool.Status(signer, hash)
	if len(all) == 0 {
		return nil
	}
	newest := all[0]
	status := &rpc.OrderStatus{
		Order: newest.Order, Hash: newest.Order.Hash(), Kind: newest.Order.Kind, ReceivedAt: newest.Order.ReceivedAt,
		State: newest.State, FirstBlock: newest.FirstBlock, Simulations: newest.Simulations, Deliveries: newest.Deliveries,
	}
	if end := newest.End; end != nil {
		status.Reason, status.Block, status.BlockHash, status.EndedAt = end.Reason, end.Block, end.BlockHash, end.At
		status.ValueWei = end.ValueWei
	}
	if l.isHidden(newest.Order, newest.State) {
		l.hide(status)
	}
	return status
}

// followerFailed is all that may be known about why an order that follows another one failed.
const followerFailed = "it could not be included behind the order that it follows"

// isHidden says whether an order in this state follows one that is not on the chain. What it did
// may reveal something about that one. The caller holds mu.
func (l *Lifecycle) isHidden(order *rpc.Order, state rpc.State) bool {
	if order.Follows == 0 || state == rpc.Landed {
		return false
	}
	leader, _ := l.Pool.State(order.Follows)
	return leader != rpc.Landed
}

// hide reduces a status to what a follower may know: whether the order could be included in a
// block, if it is the order that disclosure allows for that block, and only when the block is over,
// because even the moment would reveal something. It shows no gas, no profit and no error. The
// caller holds mu.
func (l *Lifecycle) hide(status *rpc.OrderStatus) {
	disclosed := func(block uint64) bool { return block <= l.head.Number && l.disclosure.mayTell(status.Order, block) }
	var simulations []rpc.DatedSimulation
	worked := false
	for _, s := range status.Simulations {
		if !disclosed(s.Block) {
			continue
		}
		hidden := rpc.Simulation{Block: s.Block, Success: s.Success}
		if worked = s.Success; !s.Success {
			hidden.Error = followerFailed
		}
		simulations = append(simulations, rpc.DatedSimulation{At: l.seenAt(status, s.Block), Simulation: hidden})
	}
	var deliveries []rpc.DatedDelivery
	for _, delivery := range status.Deliveries {
		if disclosed(delivery.Block) {
			delivery.At, delivery.TookMs = l.seenAt(status, delivery.Block), 0
			deliveries = append(deliveries, delivery)
		}
	}
	status.Simulations, status.Deliveries, status.Withheld = simulations, deliveries, true
	if status.State.Final() {
		return
	}
	sent := slices.ContainsFunc(deliveries, func(delivery rpc.DatedDelivery) bool { return delivery.Error == "" })
	switch {
	case sent:
		status.State = rpc.Sent
	case worked:
		status.State = rpc.Simulated
	default:
		status.State = rpc.Submitted
	}
}

// seenAt is the time of a past block. If the block is no longer remembered, it is the time at which
// the order came. The caller holds mu.
func (l *Lifecycle) seenAt(status *rpc.OrderStatus, block uint64) time.Time {
	for _, head := range l.heads {
		if head.Number == block {
			return time.Unix(int64(head.Timestamp), 0).UTC()
		}
	}
	return status.ReceivedAt
}

// Orders is the number of live orders.
func (l *Lifecycle) Orders() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Pool.Live()
}
