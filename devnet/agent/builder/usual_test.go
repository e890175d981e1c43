package builder

import (
	"testing"
	"time"

	"github.com/holiman/uint256"
)

func TestShareRises(t *testing.T) {
	ether := uint256.NewInt(1e18)
	for _, gain := range []*uint256.Int{new(uint256.Int), uint256.NewInt(1), uint256.NewInt(1e15), ether,
		new(uint256.Int).Mul(ether, ether)} {
		for seed := range uint64(20) {
			for _, bids := range []int{1, 2, 3, 10} {
				last := new(uint256.Int)
				for i := range bids {
					value := usualShare(gain, seed, 77, i, bids)
					if !value.Gt(last) {
						t.Errorf("gain %s, seed %d: bid %d of %d is %s after %s", gain, seed, i, bids, value, last)
					}
					last = value
				}
			}
		}
	}
}

func TestShareIsAPartOfTheGain(t *testing.T) {
	gain := uint256.NewInt(1e18)
	for seed := range uint64(50) {
		first, final := usualShare(gain, seed, 5, 0, 3), usualShare(gain, seed, 5, 2, 3)
		if first.Lt(uint256.NewInt(4e17)) || first.Gt(uint256.NewInt(6e17)) {
			t.Errorf("seed %d: the first bid is %s of %s", seed, first, gain)
		}
		if final.Lt(uint256.NewInt(8e17)) || !final.Lt(gain) {
			t.Errorf("seed %d: the last bid is %s of %s", seed, final, gain)
		}
	}
}

func TestShareOfLittle(t *testing.T) {
	for _, gain := range []uint64{0, 1, 1e15} {
		if got := usualShare(uint256.NewInt(gain), 1, 5, 0, 3); got.Lt(leastWei) {
			t.Errorf("a block that earns %d bids %s, less than %s", gain, got, leastWei)
		}
	}
}

func TestBuildersBidDifferently(t *testing.T) {
	gain, seen := uint256.NewInt(1e18), map[string]bool{}
	for seed := range uint64(10) {
		value := usualShare(gain, seed, 5, 0, 3)
		if again := usualShare(gain, seed, 5, 0, 3); !again.Eq(value) {
			t.Errorf("seed %d bids %s, then %s", seed, value, again)
		}
		seen[value.Dec()] = true
	}
	if len(seen) < 5 {
		t.Errorf("ten builders make only %d different bids", len(seen))
	}
}

func TestBidTime(t *testing.T) {
	for _, c := range []struct {
		began   time.Duration
		i, bids int
		want    time.Duration
	}{
		{-10 * time.Second, 0, 3, -10 * time.Second},
		{-10 * time.Second, 1, 3, -6 * time.Second},
		{-10 * time.Second, 2, 3, -2 * time.Second},
		{-10 * time.Second, 0, 1, -10 * time.Second},
		{-10 * time.Second, 1, 2, -2 * time.Second},
		{0, 2, 3, 0},
		{time.Second, 2, 3, time.Second},
	} {
		if got := bidTime(c.began, c.i, c.bids); got != c.want {
			t.Errorf("begun at %v, bid %d of %d: at %v, want %v", c.began, c.i, c.bids, got, c.want)
		}
	}
}
