package builder

import (
	"math/rand/v2"
	"time"

	"github.com/holiman/uint256"
)

// leastWei is what a bid is worth at least, so that an empty slot has an auction too: 0.001 ether.
var leastWei = uint256.NewInt(1_000_000_000_000_000)

// share is the value of a bid: it rises from about half of what the block earns to nearly all of
// it, differently for each builder and slot.
func share(gainWei *uint256.Int, seed, slot uint64, i, bids int) *uint256.Int {
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

// bidTime is when a bid is made: the first at once, the others evenly until four fifths of the time
// to the slot have passed.
func bidTime(started, slotStart time.Time, i, bids int) time.Time {
	if i == 0 || bids < 2 || !slotStart.After(started) {
		return started
	}
	return started.Add(slotStart.Sub(started) * 4 / 5 * time.Duration(i) / time.Duration(bids-1))
}
