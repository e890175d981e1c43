package builder

import (
	"time"

	"github.com/holiman/uint256"
)

// Strategy is how a builder bids in an auction.
type Strategy interface {
	// Decide says what to do next. It is pure: the same situation gives the same decision.
	Decide(at Situation) Decision
}

// Situation is what a builder sees of an auction. Times are against the start of the slot, so they
// are negative before it.
type Situation struct {
	// Slot is the slot's number, Length how long it takes.
	Slot   uint64
	Length time.Duration
	// Began is when the work on the auction began.
	Began, Now time.Duration
	// TopWei is the leading bid of all relays, nil without one; Leading says that it is ours.
	TopWei  *uint256.Int
	Leading bool
	// Bids is how many bids we have made, LastWei what the last one was worth (nil before the first),
	// and TookBack says that one of them was lower than the one before.
	Bids     int
	LastWei  *uint256.Int
	TookBack bool
	// Failed counts the bids in a row that no relay has taken, the last one at FailedAt.
	Failed   int
	FailedAt time.Duration
}

// Decision is what to do next.
type Decision struct {
	Do Deed
	// Until is the end of a wait.
	Until time.Duration
	// ValueWei is what to bid, once it is known what the block earns.
	ValueWei func(gainWei *uint256.Int) *uint256.Int
	// AboveWei, if set, has the bid count as made but not sent if it is not worth more than this.
	AboveWei *uint256.Int
	// TakeBack says that the bid is to replace a higher one. Cancellable says that a later one may,
	// which relays must be told with every bid.
	TakeBack, Cancellable bool
}

// Deed is what a decision is about.
type Deed int

// Rest has nothing more to do as things are, Stop has nothing more to do in this auction.
const (
	Wait Deed = iota
	Bid
	Rest
	Stop
)

// leastWei is what a bid is worth at least, so that an empty slot has an auction too: 0.001 ether.
var leastWei = uint256.NewInt(1_000_000_000_000_000)

const (
	// looksPerSlot is how often a strategy that waits for a change looks at the situation in a slot,
	// and how soon a bid that failed is tried again.
	looksPerSlot = 120
	// triesPerBid is how often a bid is tried again that no relay takes.
	triesPerBid = 20
	// lastCall is how far into the slot bids are made at all.
	lastCall = time.Second
)

// nextLook is when the situation is looked at again.
func (at Situation) nextLook() time.Duration { return at.Now + at.Length/looksPerSlot }

// retry says what to do about a bid that failed: wait a moment, or stop. handled is false if there
// is none, or if it is time to try it again.
func (at Situation) retry() (d Decision, handled bool) {
	if at.Failed > triesPerBid {
		return Decision{Do: Stop}, true
	}
	if next := at.FailedAt + at.Length/looksPerSlot; at.Failed > 0 && at.Now < next {
		return Decision{Do: Wait, Until: next}, true
	}
	return Decision{}, false
}

// spread makes a number of bids over four fifths of the time to the slot, the first one at once.
func (at Situation) spread(bids int, value func(i int) func(*uint256.Int) *uint256.Int) Decision {
	if at.Bids >= bids {
		return Decision{Do: Rest}
	}
	if due := bidTime(at.Began, at.Bids, bids); at.Now < due {
		return Decision{Do: Wait, Until: due}
	}
	return Decision{Do: Bid, ValueWei: value(at.Bids)}
}

// bidTime is when the bid number i of some is made.
func bidTime(began time.Duration, i, bids int) time.Duration {
	if i == 0 || bids < 2 || began >= 0 {
		return began
	}
	return began - began*4/5*time.Duration(i)/time.Duration(bids-1)
}

// fixed is a value that does not depend on the block.
func fixed(valueWei *uint256.Int) func(*uint256.Int) *uint256.Int {
	return func(*uint256.Int) *uint256.Int { return valueWei }
}

// percentOfGain is a percentage of what the block earns, where an empty block counts as one that
// earns a little.
func percentOfGain(percent float64) func(*uint256.Int) *uint256.Int {
	return func(gainWei *uint256.Int) *uint256.Int {
		value := new(uint256.Int).Mul(atLeast(gainWei), uint256.NewInt(uint64(percent*100)))
		return value.Div(value, uint256.NewInt(10_000))
	}
}

func atLeast(gainWei *uint256.Int) *uint256.Int {
	if gainWei.Lt(leastWei) {
		return leastWei
	}
	return gainWei
}
