package bidder

import (
	"fmt"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/scenarios/plan"
)

// milli is a value in thousandths of an ether.
func milli(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e15))
}

func move(form string, change ...func(*plan.Move)) plan.Move {
	m := plan.Move{Form: form}
	for _, c := range change {
		c(&m)
	}
	return m
}

func at(t time.Duration) func(*plan.Move)   { return func(m *plan.Move) { m.Time = t } }
func worth(v *uint256.Int) func(*plan.Move) { return func(m *plan.Move) { m.ValueWei = v } }
func named(name string) func(*plan.Move)    { return func(m *plan.Move) { m.Name = name } }
func percent(p float64) func(*plan.Move)    { return func(m *plan.Move) { m.Percent = p } }

// say is a decision in words; a bid is said with what it is worth for a block that earns an ether.
func say(d decision) string {
	switch d.do {
	case stop:
		return "stop"
	case wait:
		return "wait until " + d.until.String()
	}
	word := "bid"
	if d.cancel {
		word = "lower to"
	}
	return fmt.Sprintf("%s %s", word, new(uint256.Int).Div(d.valueWei(milli(1000)), uint256.NewInt(1e15)).Dec())
}

// Each row is a strategy in a situation; bids are in thousandths of an ether, and the block earns
// one.
func TestDecide(t *testing.T) {
	const slot, began = 12 * time.Second, -10 * time.Second
	soon := func(now time.Duration) string { return "wait until " + (now + slot/look).String() }
	for _, c := range []struct {
		name     string
		strategy []plan.Move
		sees     situation
		want     string
	}{
		{"the first naive bid is made at once", nil, situation{now: began}, "bid 500"},
		{"the second one in the middle", nil, situation{now: -9 * time.Second, bids: 1, lastWei: milli(500)},
			"wait until -6s"},
		{"and rises", nil, situation{now: -6 * time.Second, bids: 1, lastWei: milli(500)}, "bid 700"},
		{"the third is the last", nil, situation{now: -time.Second, bids: 3, lastWei: milli(900)}, "stop"},
		{"nobody bids late in the slot", nil, situation{now: 2 * time.Second}, "stop"},

		{"adaptive begins low", []plan.Move{move("adaptive +VALUE", worth(milli(1)))}, situation{now: began}, "bid 100"},
		{"rests while it leads", []plan.Move{move("adaptive +VALUE", worth(milli(1)))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(100), topWei: milli(100), leading: true},
			soon(-5 * time.Second)},
		{"overbids by its step", []plan.Move{move("adaptive +VALUE", worth(milli(1)))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(100), topWei: milli(300)}, "bid 301"},
		{"but never beyond what the block earns", []plan.Move{move("adaptive +VALUE", worth(milli(1)))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(100), topWei: milli(5000)}, "bid 1000"},

		{"last-minute waits", []plan.Move{move("last-minute at TIME", at(-time.Second))}, situation{now: began},
			"wait until -1s"},
		{"and bids nearly all", []plan.Move{move("last-minute at TIME", at(-time.Second))},
			situation{now: -time.Second}, "bid 980"},
		{"once", []plan.Move{move("last-minute at TIME", at(-time.Second))}, situation{now: 0, bids: 1, lastWei: milli(980)},
			"stop"},
		{"also within the slot", []plan.Move{move("last-minute at TIME", at(2*time.Second))},
			situation{now: 2 * time.Second}, "bid 980"},

		{"a bluff is what it says", []plan.Move{move("bluff VALUE until TIME", worth(milli(3000)), at(-time.Second))},
			situation{now: began}, "bid 3000"},
		{"and stands until its time", []plan.Move{move("bluff VALUE until TIME", worth(milli(3000)), at(-time.Second))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(3000), leading: true}, "wait until -1s"},
		{"then it is taken back", []plan.Move{move("bluff VALUE until TIME", worth(milli(3000)), at(-time.Second))},
			situation{now: -time.Second, bids: 1, lastWei: milli(3000)}, "lower to 500"},

		{"stealth shows a token", []plan.Move{move("stealth until TIME", at(-time.Second))}, situation{now: began}, "bid 1"},
		{"and its value in time", []plan.Move{move("stealth until TIME", at(-time.Second))},
			situation{now: -time.Second, bids: 1, lastWei: milli(1)}, "bid 980"},

		{"shade keeps its share", []plan.Move{move("shade PERCENT", percent(10)), move("bids COUNT", func(m *plan.Move) {
			m.Count = 1
		})},
			situation{now: began}, "bid 900"},
		{"a fixed value is fixed", []plan.Move{move("fixed VALUE", worth(milli(20)))}, situation{now: began}, "bid 20"},

		{"it cancels when it leads", []plan.Move{move("fixed VALUE", worth(milli(20))),
			move("cancel when CONDITION", named("leading"))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(20), topWei: milli(20), leading: true}, "lower to 2"},
		{"not when another does", []plan.Move{move("fixed VALUE", worth(milli(20))),
			move("cancel when CONDITION", named("leading"))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(20), topWei: milli(30)}, soon(-5 * time.Second)},
		{"it cancels when outbid", []plan.Move{move("fixed VALUE", worth(milli(20))),
			move("cancel when CONDITION", named("outbid"))},
			situation{now: -5 * time.Second, bids: 1, lastWei: milli(20), topWei: milli(30)}, "lower to 2"},
		{"or at a time", []plan.Move{move("cancel at TIME", at(-time.Second))}, situation{now: -time.Second, bids: 1,
			lastWei: milli(20)}, "lower to 2"},
		{"but once", []plan.Move{move("cancel at TIME", at(-time.Second))},
			situation{now: -time.Second, bids: 2, lastWei: milli(2), cancelled: true}, "stop"},
	} {
		c.sees.began, c.sees.slot = began, slot
		got := say(strategyOf(c.strategy).decide(c.sees))
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A block that earns nothing is bid for all the same.
func TestEmptyBlock(t *testing.T) {
	d := strategyOf(nil).decide(situation{now: -time.Second, began: -time.Second, slot: 12 * time.Second})
	if got := d.valueWei(new(uint256.Int)); got.IsZero() {
		t.Error("an empty block is worth nothing")
	}
}
