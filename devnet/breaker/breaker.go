// Package breaker is the circuit breaker of a consensus client: when its chain misses slots,
// something may be wrong with all relays at once, so the client stops asking them and proposes its
// own blocks.
//
//	closed ──enough slots missed──▶ open ──the beacon node restarts──▶ closed, and nothing is counted yet
//
// It is decided by the chain alone: which slots have a block. What a relay answers, or whether it
// does, is not asked. Each client has its own conditions; these are slots missed in a row, and
// slots missed of a window.
package breaker

import "github.com/attestantio/go-eth2-client/spec/phase0"

// MaxAllowedMissingSlots is how many slots in a row may be missed until the breaker opens, if
// nothing else is said: the last of them opens it.
const MaxAllowedMissingSlots = 5

// Limits are a client's conditions. A breaker opens when MissedInRow slots, or MissedOf of Window
// slots, had no block, whoever was to propose them. A zero is a condition that never holds.
type Limits struct {
	MissedInRow, MissedOf, Window int
}

// Default are the limits of a client that was not told any.
func Default() Limits { return Limits{MissedInRow: MaxAllowedMissingSlots} }

// Off says whether nothing opens the breaker.
func (l Limits) Off() bool { return l.MissedInRow == 0 && l.MissedOf == 0 }

// Breaker is one life after another of a beacon node. It is not safe for concurrent use.
type Breaker struct {
	limits Limits
	since  phase0.Slot // the first one that counts
	judged phase0.Slot // the last one behind which the conditions were looked at
	open   bool
}

// New is the breaker of a node that starts with its chain: slot 0 has the genesis block and is
// nobody's to miss.
func New(limits Limits) *Breaker { return &Breaker{limits: limits, since: 1} }

// Open says whether relays are not to be asked.
func (b *Breaker) Open() bool { return b.open }

// Judge looks at the slots before one that is about to be proposed for, and says whether the
// breaker opens now: if a condition holds behind the last of them, or held behind any since the
// last call, whatever came later. missed says of a slot whether it has no block; each is asked for
// once, and none that does not matter. A breaker that is open stays so, whatever comes.
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

// holds says whether a condition holds behind a slot. It asks from that slot back.
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

// Restart is told that the beacon node was started again while a slot ran. That closes the breaker,
// and nothing else does. Its tally is 0 then: slots up to that one, which began before the node was
// there, never count again.
func (b *Breaker) Restart(during phase0.Slot) { b.open, b.since = false, during+1 }
