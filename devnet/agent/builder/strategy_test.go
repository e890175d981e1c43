package builder

import (
	"fmt"
	"testing"
	"time"

	"github.com/holiman/uint256"
)

// milli is a value in thousandths of an ether.
func milli(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e15))
}

// say is a decision in words; a bid is said with what it is worth for a block that earns an ether.
func say(d Decision) string {
	switch d.Do {
	case Stop:
		return "stop"
	case Rest:
		return "rest"
	case Wait:
		return "wait until " + d.Until.String()
	case Bid:
	}
	word := "bid"
	if d.TakeBack {
		word = "lower to"
	}
	return fmt.Sprintf("%s %s", word, new(uint256.Int).Div(d.ValueWei(milli(1000)), uint256.NewInt(1e15)).Dec())
}

// Each row is a strategy in a situation; bids are in thousandths of an ether, and the block earns
// one.
func TestDecide(t *testing.T) {
	const began = -10 * time.Second
	const second = time.Second
	look := 12 * second / looksPerSlot
	soon := func(now time.Duration) string { return "wait until " + (now + look).String() }
	naive := Rising{Bids: 3, From: 50, To: 90}
	beforeStart := -second
	bluff := Bluff{ValueWei: milli(3000), Until: -second}
	adaptive := Adaptive{StepWei: milli(1)}
	fixed := Fixed{ValueWei: milli(20)}
	leading, outbid := TakingBack{Strategy: fixed, WhenLeading: true}, TakingBack{Strategy: fixed, WhenOutbid: true}
	later := TakingBack{Strategy: naive, At: &beforeStart}
	for _, c := range []struct {
		name     string
		strategy Strategy
		sees     Situation
		want     string
	}{
		{"the first rising bid is made at once", naive, Situation{Now: began}, "bid 500"},
		{"the second one in the middle", naive, Situation{Now: -9 * second, Bids: 1, LastWei: milli(500)}, "wait until -6s"},
		{"and rises", naive, Situation{Now: -6 * second, Bids: 1, LastWei: milli(500)}, "bid 700"},
		{"the third is the last", naive, Situation{Now: -second, Bids: 3, LastWei: milli(900)}, "rest"},
		{"nobody bids late in the slot", naive, Situation{Now: 2 * second}, "stop"},
		{"a bid that failed is tried again", naive, Situation{Now: began + look, Failed: 1, FailedAt: began}, "bid 500"},
		{"after a moment", naive, Situation{Now: began, Failed: 1, FailedAt: began}, soon(began)},
		{"but not for ever", naive, Situation{Now: began + second, Failed: 21, FailedAt: began}, "stop"},
		{"a single one is the highest", Rising{Bids: 1, From: 45, To: 90}, Situation{Now: began}, "bid 900"},

		{"the usual bids rise too", Usual{Seed: 1}, Situation{Now: began}, "bid 510"},
		{"in the same times", Usual{Seed: 1}, Situation{Now: -9 * second, Bids: 1}, "wait until -6s"},
		{"and are tried again until the slot begins", Usual{Seed: 1},
			Situation{Now: -second, Failed: 1, FailedAt: -second}, "wait until -760ms"},
		{"after twice the time", Usual{Seed: 1}, Situation{Now: -second, Failed: 2, FailedAt: -second}, "wait until -520ms"},
		{"but no longer", Usual{Seed: 1}, Situation{Now: -second / 10, Failed: 40, FailedAt: -second / 10}, "stop"},

		{"adaptive begins low", adaptive, Situation{Now: began}, "bid 100"},
		{"waits while it leads", adaptive,
			Situation{Now: -5 * second, Bids: 1, LastWei: milli(100), TopWei: milli(100), Leading: true}, soon(-5 * second)},
		{"overbids by its step", adaptive, Situation{Now: -5 * second, Bids: 1, LastWei: milli(100), TopWei: milli(300)},
			"bid 301"},
		{"but never beyond what the block earns", adaptive,
			Situation{Now: -5 * second, Bids: 1, LastWei: milli(100), TopWei: milli(5000)}, "bid 1000"},

		{"last-minute waits", LastMinute{-second}, Situation{Now: began}, "wait until -1s"},
		{"and bids nearly all", LastMinute{-second}, Situation{Now: -second}, "bid 980"},
		{"once", LastMinute{-second}, Situation{Now: 0, Bids: 1, LastWei: milli(980)}, "rest"},
		{"also within the slot", LastMinute{2 * second}, Situation{Now: 2 * second}, "bid 980"},
		{"up to a second later", LastMinute{2 * second}, Situation{Now: 3*second + 1}, "stop"},

		{"a bluff is what it says", bluff, Situation{Now: began}, "bid 3000"},
		{"and stands until its time", bluff, Situation{Now: -5 * second, Bids: 1, LastWei: milli(3000), Leading: true},
			"wait until -1s"},
		{"then it is taken back", bluff, Situation{Now: -second, Bids: 1, LastWei: milli(3000)}, "lower to 500"},
		{"for good", bluff, Situation{Now: 0, Bids: 2, LastWei: milli(500), TookBack: true}, "rest"},

		{"stealth shows a token", Stealth{-second}, Situation{Now: began}, "bid 1"},
		{"and its value in time", Stealth{-second}, Situation{Now: -second, Bids: 1, LastWei: milli(1)}, "bid 980"},

		{"a fixed value is fixed", fixed, Situation{Now: began}, "bid 20"},

		{"it cancels when it leads", leading,
			Situation{Now: -5 * second, Bids: 1, LastWei: milli(20), TopWei: milli(20), Leading: true}, "lower to 2"},
		{"not when another does", leading, Situation{Now: -5 * second, Bids: 1, LastWei: milli(20), TopWei: milli(30)},
			soon(-5 * second)},
		{"it cancels when outbid", outbid, Situation{Now: -5 * second, Bids: 1, LastWei: milli(20), TopWei: milli(30)},
			"lower to 2"},
		{"tries that again", outbid,
			Situation{Now: -5 * second, Bids: 1, LastWei: milli(20), TopWei: milli(30), Failed: 1, FailedAt: -5 * second},
			soon(-5 * second)},
		{"or at a time", later, Situation{Now: -second, Bids: 1, LastWei: milli(20)}, "lower to 2"},
		{"for which it looks while it waits", later, Situation{Now: -9 * second, Bids: 1, LastWei: milli(20)},
			soon(-9 * second)},
		{"but once", later, Situation{Now: -second, Bids: 2, LastWei: milli(2), TookBack: true}, "stop"},
	} {
		c.sees.Began, c.sees.Length = began, 12*second
		if got := say(c.strategy.Decide(c.sees)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Relays must be told with every bid that a later one may be lower.
func TestCancellable(t *testing.T) {
	at := Situation{Now: -10 * time.Second, Began: -10 * time.Second, Length: 12 * time.Second}
	rising := Rising{Bids: 3, From: 50, To: 90}
	for _, c := range []struct {
		strategy Strategy
		want     bool
	}{
		{rising, false}, {Usual{}, false}, {Fixed{milli(1)}, false}, {Bluff{ValueWei: milli(1)}, true},
		{TakingBack{Strategy: rising, WhenLeading: true}, true},
	} {
		if d := c.strategy.Decide(at); d.Do != Bid || d.Cancellable != c.want {
			t.Errorf("%T: %+v", c.strategy, d)
		}
	}
}

// A block that earns nothing is bid for all the same.
func TestEmptyBlock(t *testing.T) {
	for _, s := range []Strategy{Usual{}, Rising{Bids: 3, From: 50, To: 90}, Adaptive{milli(1)}, Stealth{}} {
		d := s.Decide(Situation{Now: -time.Second, Began: -time.Second, Length: 12 * time.Second})
		if got := d.ValueWei(new(uint256.Int)); got.IsZero() {
			t.Errorf("%T: an empty block is worth nothing", s)
		}
	}
}
