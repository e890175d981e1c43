package builder

import (
	"math/rand/v2"
	"time"

	"github.com/holiman/uint256"
)

// Usual is the strategy of a devnet's builders: three bids that rise from about half of what the
// block earns to nearly all of it, differently for each seed and slot. It never lowers a bid. A bid
// that fails is tried again until the slot begins.
type Usual struct{ Seed uint64 }

const (
	usualBids = 3
	// usualRetries is the part of a slot after which a failed bid is tried again. Each wait is twice
	// as long as the one before.
	usualRetries = 50
)

// Decide implements Strategy.
func (u Usual) Decide(at Situation) Decision {
	if at.Failed > 0 {
		retry := at.FailedAt + at.pause(usualRetries)
		if retry > 0 {
			return Decision{Do: Stop}
		}
		if at.Now < retry {
			return Decision{Do: Wait, Until: retry}
		}
	}
	d := at.spread(usualBids, func(i int) func(*uint256.Int) *uint256.Int {
		return func(gainWei *uint256.Int) *uint256.Int { return usualShare(gainWei, u.Seed, at.Slot, i, usualBids) }
	})
	d.AboveWei = at.LastWei
	return d
}

// usualShare returns the value of the bid number i of some. It rises with i, differently for each
// seed and slot.
func usualShare(gainWei *uint256.Int, seed, slot uint64, i, bids int) *uint256.Int {
	random := rand.New(rand.NewPCG(seed, slot))
	from, to := 40+random.Uint64N(20), 80+random.Uint64N(18)
	percent := to
	if bids > 1 {
		percent = from + (to-from)*uint64(i)/uint64(bids-1)
	}
	value := new(uint256.Int).Mul(gainWei, uint256.NewInt(percent))
	value.Div(value, uint256.NewInt(100))
	least := new(uint256.Int).Mul(leastWei, uint256.NewInt(percent))
	if least.Div(least, uint256.NewInt(40)); value.Lt(least) {
		value = least
	}
	return value
}

// Rising makes a number of bids that rise evenly from one percentage of what the block earns to
// another.
type Rising struct {
	Bids     int
	From, To float64
}

// Decide implements Strategy.
func (r Rising) Decide(at Situation) Decision {
	if d, handled := at.begin(0); handled {
		return d
	}
	return at.spread(r.Bids, func(i int) func(*uint256.Int) *uint256.Int {
		part := 1.0
		if r.Bids > 1 {
			part = float64(i) / float64(r.Bids-1)
		}
		return percentOfGain(r.From + (r.To-r.From)*part)
	})
}

// begin stops an auction that is over: lastCall after the slot begins, or after the later moment
// for which the strategy waits. It also handles failed bids.
func (at Situation) begin(moment time.Duration) (Decision, bool) {
	if at.Now > max(lastCall, moment+lastCall) {
		return Decision{Do: Stop}, true
	}
	return at.retry()
}

// Fixed bids a value in each slot, whatever its block earns.
type Fixed struct{ ValueWei *uint256.Int }

// Decide implements Strategy.
func (f Fixed) Decide(at Situation) Decision {
	if d, handled := at.begin(0); handled {
		return d
	}
	return at.spread(1, func(int) func(*uint256.Int) *uint256.Int { return fixed(f.ValueWei) })
}

// Adaptive bids a step more than another builder's leading bid, up to what the block earns.
type Adaptive struct{ StepWei *uint256.Int }

// Decide implements Strategy.
func (a Adaptive) Decide(at Situation) Decision {
	if d, handled := at.begin(0); handled {
		return d
	}
	switch {
	case at.Bids == 0:
		return Decision{Do: Bid, ValueWei: percentOfGain(10)}
	case at.Leading || at.TopWei == nil:
		return Decision{Do: Wait, Until: at.nextLook()}
	}
	over := new(uint256.Int).Add(at.TopWei, a.StepWei)
	return Decision{Do: Bid, ValueWei: func(gainWei *uint256.Int) *uint256.Int {
		if most := atLeast(gainWei); over.Gt(most) {
			return most
		}
		return over
	}}
}

// nearlyAll is the percentage of what a block earns that a builder bids if it wants to win.
const nearlyAll = 98

// LastMinute bids once, at When, nearly all that its block earns.
type LastMinute struct{ When time.Duration }

// Decide implements Strategy.
func (l LastMinute) Decide(at Situation) Decision {
	if d, handled := at.begin(l.When); handled {
		return d
	}
	switch {
	case at.Bids > 0:
		return Decision{Do: Rest}
	case at.Now < l.When:
		return Decision{Do: Wait, Until: l.When}
	default:
		return Decision{Do: Bid, ValueWei: percentOfGain(nearlyAll)}
	}
}

// Stealth makes a token bid first, and at Until bids nearly all that its block earns.
type Stealth struct{ Until time.Duration }

// Decide implements Strategy.
func (s Stealth) Decide(at Situation) Decision {
	if d, handled := at.begin(s.Until); handled {
		return d
	}
	if at.Bids == 0 {
		return Decision{Do: Bid, ValueWei: fixed(leastWei)}
	}
	return at.second(s.Until, Decision{Do: Bid, ValueWei: percentOfGain(nearlyAll)})
}

// Bluff bids a value that its block need not earn, and at Until replaces it by an honest bid.
type Bluff struct {
	ValueWei *uint256.Int
	Until    time.Duration
}

// Decide implements Strategy.
func (b Bluff) Decide(at Situation) Decision {
	if d, handled := at.begin(b.Until); handled {
		return d
	}
	if at.Bids == 0 {
		return Decision{Do: Bid, ValueWei: fixed(b.ValueWei), Cancellable: true}
	}
	return at.second(b.Until, Decision{Do: Bid, ValueWei: percentOfGain(50), TakeBack: true, Cancellable: true})
}

// second makes the second of two bids, at the time when.
func (at Situation) second(when time.Duration, bid Decision) Decision {
	switch {
	case at.Bids > 1:
		return Decision{Do: Rest}
	case at.Now < when:
		return Decision{Do: Wait, Until: when}
	default:
		return bid
	}
}

// TakingBack bids as another strategy does, and once lowers its bid to a tenth.
type TakingBack struct {
	Strategy
	// WhenLeading, WhenOutbid and At say when it lowers the bid. At is relative to the slot's
	// start; nil means never.
	WhenLeading, WhenOutbid bool
	At                      *time.Duration
}

// Decide implements Strategy.
func (t TakingBack) Decide(at Situation) Decision {
	if at.Bids > 0 && !at.TookBack && t.due(at) {
		if d, handled := at.retry(); handled {
			return d
		}
		tenth := new(uint256.Int).Div(at.LastWei, uint256.NewInt(10))
		return Decision{Do: Bid, ValueWei: fixed(tenth), TakeBack: true, Cancellable: true}
	}
	if _, bluffs := t.Strategy.(Bluff); at.TookBack && !bluffs {
		return Decision{Do: Stop}
	}
	d := t.Strategy.Decide(at)
	d.Cancellable = true
	if at.TookBack || at.Bids == 0 {
		return d
	}
	switch d.Do { // wait in short steps, because the bid may have to be lowered
	case Rest:
		return Decision{Do: Wait, Until: at.nextLook()}
	case Wait:
		d.Until = min(d.Until, at.nextLook())
	case Bid, Stop:
	}
	return d
}

// due says whether it is time to lower the bid.
func (t TakingBack) due(at Situation) bool {
	return t.At != nil && at.Now >= *t.At || t.WhenLeading && at.Leading || t.WhenOutbid && at.TopWei != nil && !at.Leading
}
