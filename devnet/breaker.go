package devnet

// Breaker is the circuit breaker of a consensus client. If the chain misses slots, something may be
// wrong with all relays at once, so the client stops asking them and proposes its own blocks.
//
//	closed ──enough slots missed──▶ open ──the beacon node restarts──▶ closed, and nothing is counted yet
//
// Only the chain decides: which slots have a block. Answers of relays, or their absence, have no
// influence. Clients differ in their conditions: the breaker counts slots missed in a row, and
// slots missed of a window.

import "github.com/attestantio/go-eth2-client/spec/phase0"

// MaxAllowedMissingSlots is after how many missed slots in a row the breaker opens by default.
const MaxAllowedMissingSlots = 5

// BreakerLimits are a client's conditions. A breaker opens if MissedInRow slots in a row, or
// MissedOf of the last Window slots, had no block, whoever their proposers were. A condition of
// zero never holds.
type BreakerLimits struct {
	MissedInRow, MissedOf, Window int
}

// DefaultBreakerLimits returns the limits of a client without configuration.
func DefaultBreakerLimits() BreakerLimits { return BreakerLimits{MissedInRow: MaxAllowedMissingSlots} }

// Off says whether the breaker can never open.
func (l BreakerLimits) Off() bool { return l.MissedInRow == 0 && l.MissedOf == 0 }

// Breaker is the circuit breaker of one beacon node, over its restarts. It is not safe for
// concurrent use.
type Breaker struct {
	limits BreakerLimits
	since  phase0.Slot // the first slot that counts
	judged phase0.Slot // the last slot after which the conditions were checked
	open   bool
}

// NewBreaker returns the breaker of a node that starts together with its chain. Slot 0 has the
// genesis block, so it does not count.
func NewBreaker(limits BreakerLimits) *Breaker { return &Breaker{limits: limits, since: 1} }

// Open says whether relays must not be asked.
func (b *Breaker) Open() bool { return b.open }

// Judge checks the slots since the last call, up to the one before slot, and says whether the
// breaker opens now. It opens if a condition holds after any of them, even if blocks came later.
// missed says whether a slot has no block; it is called at most once for each slot, and only for
// slots that matter. An open breaker stays open.
func (b *Breaker) Judge(slot phase0.Slot, missed func(phase0.Slot) bool) (opens bool) {
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
func (b *Breaker) holds(last phase0.Slot, missed func(phase0.Slot) bool) bool {
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

func (b *Breaker) met(inRow, ofWindow int) bool {
	l := b.limits
	return l.MissedInRow > 0 && inRow >= l.MissedInRow || l.MissedOf > 0 && ofWindow >= l.MissedOf
}

// Restart says that the beacon node was started again during a slot. Only this closes the breaker.
// The count begins again with the next slot: slots that began before the restart never count again.
func (b *Breaker) Restart(during phase0.Slot) { b.open, b.since = false, during+1 }
