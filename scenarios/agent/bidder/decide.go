package bidder

import (
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/plan"
)

// strategy is what a plan's moves come to.
type strategy struct {
	base    plan.Move   // how it bids
	cancel  []plan.Move // when it takes a bid back
	cheats  []string    // which checks it breaks
	bids    int
	burst   int
	only    string // the one relay that it bids to
	replay  bool
	stall   time.Duration // for how long it reads no leading bids after the first; chain time
	offline bool
}

// usualBids is how many bids a builder without other orders makes.
const usualBids = 3

func strategyOf(moves []plan.Move) strategy {
	s := strategy{base: plan.Move{Form: "naive"}, bids: usualBids}
	for _, m := range moves {
		switch {
		case m.Is("cancel"):
			s.cancel = append(s.cancel, m)
		case m.Is("cheat"):
			s.cheats = append(s.cheats, m.Name)
		case m.Is("bids"):
			s.bids = m.Count
		case m.Is("burst"):
			s.burst = m.Count
		case m.Is("only"):
			s.only = m.Name
		case m.Is("replay"):
			s.replay = true
		case m.Is("stall"):
			s.stall = m.Time
		case m.Is("offline"):
			s.offline = true
		default:
			s.base = m
		}
	}
	return s
}

// cancels says whether the strategy may lower a bid, which the relay must be told with every bid.
func (s strategy) cancels() bool { return len(s.cancel) > 0 || s.base.Is("bluff") }

// situation is what a builder sees. Times are against the slot's start.
type situation struct {
	began, now time.Duration
	slot       time.Duration // its length
	topWei     *uint256.Int  // of the leading bid, nil without one
	leading    bool          // it is ours
	bids       int           // that we have placed
	lastWei    *uint256.Int
	cancelled  bool
	failed     int
}

// decision is what to do next.
type decision struct {
	do    deed
	until time.Duration // of wait
	// valueWei is the bid, once it is known what the block earns.
	valueWei func(gainWei *uint256.Int) *uint256.Int
	cancel   bool // the bid is lower than the one before
}

type deed int

const (
	wait deed = iota
	bid
	stop
)

// leastWei is what a bid is worth at least, so that an empty slot has an auction too: 0.001 ether.
var leastWei = uint256.NewInt(1_000_000_000_000_000)

// lastCall is how far into the slot bids are made at all.
const lastCall = time.Second

// decide is the whole of a strategy: the same situation gives the same decision.
func (s strategy) decide(at situation) decision {
	if d, yes := s.takeBack(at); yes {
		return d
	}
	again := at.now + at.slot/look
	switch {
	case at.now > max(lastCall, s.base.Time+lastCall) || at.cancelled && s.base.Form != "bluff VALUE until TIME":
		return decision{do: stop}
	case s.base.Is("adaptive"):
		return s.adapt(at, again)
	case s.base.Is("last-minute"):
		return s.once(at, s.base.Time, again, share(98))
	case s.base.Is("stealth"):
		if at.bids == 0 {
			return decision{do: bid, valueWei: fixed(leastWei)}
		}
		return s.second(at, again, share(98), false)
	case s.base.Is("bluff"):
		if at.bids == 0 {
			return decision{do: bid, valueWei: fixed(s.base.ValueWei)}
		}
		return s.second(at, again, share(50), true)
	case s.base.Is("fixed"):
		return s.evenly(at, again, 1, func(int) func(*uint256.Int) *uint256.Int { return fixed(s.base.ValueWei) })
	case s.base.Is("shade"):
		return s.evenly(at, again, s.bids, func(i int) func(*uint256.Int) *uint256.Int {
			return share((100 - s.base.Percent) * (0.5 + 0.5*part(i, s.bids)))
		})
	default:
		return s.evenly(at, again, s.bids, func(i int) func(*uint256.Int) *uint256.Int {
			return share(50 + 40*part(i, s.bids))
		})
	}
}

// part is how far the bid number i of n is: from 0 to 1.
func part(i, n int) float64 {
	if n < 2 {
		return 1
	}
	return float64(i) / float64(n-1)
}

// takeBack lowers the last bid to a tenth, once, when the strategy says so.
func (s strategy) takeBack(at situation) (decision, bool) {
	if at.bids == 0 || at.cancelled {
		return decision{}, false
	}
	for _, m := range s.cancel {
		now := m.Form == "cancel at TIME" && at.now >= m.Time || m.Name == "leading" && at.leading ||
			m.Name == "outbid" && at.topWei != nil && !at.leading
		if now {
			tenth := new(uint256.Int).Div(at.lastWei, uint256.NewInt(10))
			return decision{do: bid, valueWei: fixed(tenth), cancel: true}, true
		}
	}
	return decision{}, false
}

// waits is the wait for the next bid, or the end if there is nothing to wait for.
func (s strategy) waits(at situation, until time.Duration) decision {
	if len(s.cancel) > 0 && !at.cancelled {
		until = min(until, at.now+at.slot/look)
	}
	return decision{do: wait, until: until}
}

// adapt overbids whoever leads, as long as the block earns it.
func (s strategy) adapt(at situation, again time.Duration) decision {
	switch {
	case at.bids == 0:
		return decision{do: bid, valueWei: share(10)}
	case at.leading || at.topWei == nil:
		return s.waits(at, again)
	}
	over := new(uint256.Int).Add(at.topWei, s.base.ValueWei)
	return decision{do: bid, valueWei: func(gain *uint256.Int) *uint256.Int {
		if most := atLeast(gain); over.Gt(most) {
			return most
		}
		return over
	}}
}

// once bids a single time.
func (s strategy) once(at situation, when, again time.Duration, value func(*uint256.Int) *uint256.Int) decision {
	switch {
	case at.bids > 0:
		return s.rest(at, again)
	case at.now < when:
		return decision{do: wait, until: when}
	default:
		return decision{do: bid, valueWei: value}
	}
}

// second makes the second of two bids, when the first has stood long enough.
func (s strategy) second(at situation, again time.Duration, value func(*uint256.Int) *uint256.Int,
	lower bool) decision {
	switch {
	case at.bids > 1:
		return s.rest(at, again)
	case at.now < s.base.Time:
		return s.waits(at, s.base.Time)
	default:
		return decision{do: bid, valueWei: value, cancel: lower}
	}
}

// evenly spreads bids over four fifths of the time to the slot, the first one at once.
func (s strategy) evenly(at situation, again time.Duration, bids int,
	value func(int) func(*uint256.Int) *uint256.Int) decision {
	if at.bids >= bids {
		return s.rest(at, again)
	}
	when := at.began
	if bids > 1 && at.began < 0 {
		when += -at.began * 4 / 5 * time.Duration(at.bids) / time.Duration(bids-1)
	}
	if at.now < when {
		return s.waits(at, when)
	}
	return decision{do: bid, valueWei: value(at.bids)}
}

// rest ends a strategy that has bid all it wanted, unless it may still take something back.
func (s strategy) rest(at situation, again time.Duration) decision {
	if len(s.cancel) == 0 || at.cancelled {
		return decision{do: stop}
	}
	return decision{do: wait, until: again}
}

func fixed(value *uint256.Int) func(*uint256.Int) *uint256.Int {
	return func(*uint256.Int) *uint256.Int { return value }
}

// share is a percentage of what the block earns, where an empty block counts as one that earns a
// little.
func share(percent float64) func(*uint256.Int) *uint256.Int {
	return func(gain *uint256.Int) *uint256.Int {
		value := new(uint256.Int).Mul(atLeast(gain), uint256.NewInt(uint64(percent*100)))
		return value.Div(value, uint256.NewInt(10_000))
	}
}

func atLeast(gain *uint256.Int) *uint256.Int {
	if gain.Lt(leastWei) {
		return leastWei
	}
	return gain
}
