package builder

import (
	"time"

	"github.com/holiman/uint256"
)

// Strategy decides how a builder bids in an auction.
type Strategy interface {
	// Decide says what to do next. It is pure: the same situation gives the same decision.
	Decide(at Situation) Decision
}

// Situation is what a builder sees of an auction. Times are relative to the start of the slot, so
// they are negative before it.
type Situation struct {
	// Slot is the slot's number, Length its duration.
	Slot   uint64
	Length time.Duration
	// Began is when the work on the auction began, Now the present time.
	Began, Now time.Duration
	// TopWei is the highest leading bid of all relays, nil without one. Leading says that it is
	// this builder's.
	TopWei  *uint256.Int
	Leading bool
	// Bids is how many bids this builder has made, and LastWei the value of the last one, nil
	// before the first. TookBack says that one of them was made to replace a higher one.
	Bids     int
	LastWei  *uint256.Int
	TookBack bool
	// Failed counts the latest bids in a row that no relay accepted; the last of them was made at
	// FailedAt.
	Failed   int
	FailedAt time.Duration
}

// Decision is what to do next.
type Decision struct {
	Do Deed
	// Until is when a wait ends.
	Until time.Duration
	// ValueWei returns what to bid, given what the block earns.
	ValueWei func(gainWei *uint256.Int) *uint256.Int
	// AboveWei, if set, is what the bid must exceed. Otherwise it is not sent, but counts as made.
	AboveWei *uint256.Int
	// TakeBack says that the bid replaces a higher one. Cancellable says that a later bid may
	// replace this one by a lower one; relays must be told that with every bid.
	TakeBack, Cancellable bool
}

// Deed is the kind of a decision.
type Deed int

// Wait waits until a time, Bid makes a bid, Rest has nothing to do in the present situation, and
// Stop ends the auction for this builder.
const (
	Wait Deed = iota
	Bid
	Rest
	Stop
)

// leastWei, 0.001 ether, is what a block counts as earning at least. So an empty slot has an
// auction too.
var leastWei = uint256.NewInt(1_000_000_000_000_000)

const (
	// looksPerSlot is how often in a slot a strategy that waits for a change checks the situation.
	// A failed bid is tried again after the same time for the first time.
	looksPerSlot = 120
	// triesPerBid is how often a bid that no relay accepts is tried again. Each wait is twice as long
	// as the one before, so that all are over within about a slot.
	triesPerBid = 6
	// lastCall is until how long after the slot's start bids are made. A strategy that waits for a
	// later moment bids until as long after that.
	lastCall = time.Second
)

// nextLook returns when to check the situation again.
func (at Situation) nextLook() time.Duration { return at.Now + at.Length/looksPerSlot }

// retry decides what to do after a failed bid: to wait a moment, or to stop. handled is false if no
// bid has failed, or if it is time to try again.
func (at Situation) retry() (d Decision, handled bool) {
	if at.Failed > triesPerBid {
		return Decision{Do: Stop}, true
	}
	if next := at.FailedAt + at.pause(looksPerSlot); at.Failed > 0 && at.Now < next {
		return Decision{Do: Wait, Until: next}, true
	}
	return Decision{}, false
}

// pause is the wait after a failed bid: a part of the slot, doubled with each failure in a row.
func (at Situation) pause(parts time.Duration) time.Duration {
	return at.Length / parts << min(max(at.Failed-1, 0), triesPerBid)
}

// spread distributes a number of bids over the first four fifths of the time until the slot begins;
// the first bid is made at once.
func (at Situation) spread(bids int, value func(i int) func(*uint256.Int) *uint256.Int) Decision {
	if at.Bids >= bids {
		return Decision{Do: Rest}
	}
	if due := bidTime(at.Began, at.Bids, bids); at.Now < due {
		return Decision{Do: Wait, Until: due}
	}
	return Decision{Do: Bid, ValueWei: value(at.Bids)}
}

// bidTime returns when the bid number i is made.
func bidTime(began time.Duration, i, bids int) time.Duration {
	if i == 0 || bids < 2 || began >= 0 {
		return began
	}
	return began - began*4/5*time.Duration(i)/time.Duration(bids-1)
}

// fixed returns a value that does not depend on the block.
func fixed(valueWei *uint256.Int) func(*uint256.Int) *uint256.Int {
	return func(*uint256.Int) *uint256.Int { return valueWei }
}

// percentOfGain returns a percentage of what the block earns, but at least of leastWei.
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
