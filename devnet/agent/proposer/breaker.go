package proposer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
)

// circuit has the client's circuit breaker, which decides whether it may ask relays. It is safe for
// concurrent use.
type circuit struct {
	mu      sync.Mutex // guards breaker, and is held while the beacon node is asked
	breaker *breaker
}

// broken says whether the circuit breaker is open for a slot, so that no relay is asked. The
// client's own beacon node says which slots before it have blocks; a slot for which it gives no
// answer counts as one with a block.
func (p *Proposer) broken(ctx context.Context, slot phase0.Slot) bool {
	if p.Breaker.Off() {
		return false
	}
	p.circuit.mu.Lock()
	defer p.circuit.mu.Unlock()
	opens := p.circuit.breaker.judge(slot, func(before phase0.Slot) bool {
		missed, err := p.beacon.missed(ctx, before)
		if err != nil {
			p.Log.Warn("circuit breaker does not know a slot", "slot", before, "error", err)
		}
		return missed
	})
	if opens {
		p.Log.Warn("circuit breaker opened: blocks are local until the beacon node restarts", "slot", slot)
		if p.BreakerOpened != nil {
			p.BreakerOpened(slot)
		}
	}
	return p.circuit.breaker.isOpen()
}

// BeaconRestarted says that the beacon node was started again during a slot. That closes the
// circuit breaker, and the count begins anew.
func (p *Proposer) BeaconRestarted(during phase0.Slot) {
	p.circuit.mu.Lock()
	defer p.circuit.mu.Unlock()
	p.circuit.breaker.restart(during)
}

// missed says whether the chain has no block in a past slot.
func (n *beaconNode) missed(ctx context.Context, slot phase0.Slot) (bool, error) {
	_, _, err := n.do(ctx, http.MethodGet, fmt.Sprintf("/eth/v1/beacon/headers/%d", slot), http.Header{}, nil)
	if refused := (*statusError)(nil); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return true, nil
	}
	return false, err
}

// breaker is the circuit breaker of one beacon node, over its restarts. If the chain misses slots,
// something may be wrong with all relays at once, so the client stops asking them and proposes its
// own blocks. It is not safe for concurrent use.
//
//	closed ──enough slots missed──▶ open ──the beacon node restarts──▶ closed, and nothing is counted yet
//
// Only the chain decides: which slots have a block. Answers of relays, or their absence, have no
// influence. Clients differ in their conditions: the breaker counts slots missed in a row, and
// slots missed of a window.
type breaker struct {
	limits devnet.BreakerLimits
	since  phase0.Slot // the first slot that counts
	judged phase0.Slot // the last slot after which the conditions were checked
	open   bool
}

// newBreaker returns the breaker of a node that starts together with its chain. Slot 0 has the
// genesis block, so it does not count.
func newBreaker(limits devnet.BreakerLimits) *breaker { return &breaker{limits: limits, since: 1} }

// isOpen says whether relays must not be asked.
func (b *breaker) isOpen() bool { return b.open }

// judge checks the slots since the last call, up to the one before slot, and says whether the
// breaker opens now. It opens if a condition holds after any of them, even if blocks came later.
// missed says whether a slot has no block; it is called at most once for each slot, and only for
// slots that matter. An open breaker stays open.
func (b *breaker) judge(slot phase0.Slot, missed func(phase0.Slot) bool) (opens bool) {
	known := map[phase0.Slot]bool{}
	once := func(slot phase0.Slot) bool {
		if _, asked := known[slot]; !asked {
			known[slot] = missed(slot)
		}
		return known[slot]
	}
	for last := max(b.judged+1, b.since); last < slot && !b.open; last++ {
		b.open = b.holds(last, once)
		opens, b.judged = b.open, last
	}
	return opens
}

// holds says whether a condition holds after the slot last. It asks from that slot backwards.
func (b *breaker) holds(last phase0.Slot, missed func(phase0.Slot) bool) bool {
	inRow, ofWindow, unbroken := 0, 0, true
	for back := 0; last >= b.since+phase0.Slot(back); back++ {
		unbroken = unbroken && back < b.limits.MissedInRow
		if !unbroken && back >= b.limits.Window {
			break
		}
		if !missed(last - phase0.Slot(back)) {
			unbroken = false
			continue
		}
		if unbroken {
			inRow++
		}
		if back < b.limits.Window {
			ofWindow++
		}
		if b.met(inRow, ofWindow) {
			return true
		}
	}
	return false
}

func (b *breaker) met(inRow, ofWindow int) bool {
	l := b.limits
	return l.MissedInRow > 0 && inRow >= l.MissedInRow || l.MissedOf > 0 && ofWindow >= l.MissedOf
}

// restart says that the beacon node was started again during a slot. Only this closes the breaker.
// The count begins again with the next slot: slots that began before the restart never count again.
func (b *breaker) restart(during phase0.Slot) { b.open, b.since = false, during+1 }
