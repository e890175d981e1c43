package devnet

import (
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"
)

// history answers which slots are missed. The first character is slot 1; "x" is missed. It notes
// who was asked for.
type history struct {
	slots string
	asked []phase0.Slot
}

func (h *history) missed(slot phase0.Slot) bool {
	h.asked = append(h.asked, slot)
	return h.slots[slot-1] != '.'
}

// judge proposes for the slot after the history.
func (h *history) judge(b *Breaker) bool { return b.Judge(phase0.Slot(len(h.slots)+1), h.missed) }

func TestOpens(t *testing.T) {
	inRow, ofWindow := BreakerLimits{MissedInRow: 3}, BreakerLimits{MissedOf: 2, Window: 4}
	for _, c := range []struct {
		limits BreakerLimits
		slots  string
		want   bool
	}{
		{DefaultBreakerLimits(), "xxxx", false},
		{DefaultBreakerLimits(), "xxxxx", true},
		{DefaultBreakerLimits(), ".xxxxx", true},
		{DefaultBreakerLimits(), "xxxx.xxxx", false},
		{DefaultBreakerLimits(), "xxxxx.", true}, // it was met: a block that comes later resets nothing
		{DefaultBreakerLimits(), "xxxxx.....", true},
		{inRow, "", false},
		{inRow, "xx", false},
		{inRow, "xxx", true},
		{inRow, "x.xx", false},
		{ofWindow, "x", false},
		{ofWindow, "x.x", true},
		{ofWindow, "x.x.", true},
		{ofWindow, "x...x", false}, // the other one is out of the window
		{ofWindow, "x.x...", true}, // but it was not, for a while
		{BreakerLimits{MissedInRow: 3, MissedOf: 2, Window: 4}, "x..x", true},
		{BreakerLimits{}, "xxxxxxxx", false},
	} {
		b := NewBreaker(c.limits)
		if got := (&history{slots: c.slots}).judge(b); got != c.want || b.Open() != c.want {
			t.Errorf("%+v after %q: opens %v, open %v", c.limits, c.slots, got, b.Open())
		}
	}
}

// A life of a client that proposes in each slot. Above is the chain: "x" is a missed slot, "R" one
// that is missed since the beacon node restarts in it. Below is whether relays are asked ("-") or
// the breaker is open ("o") when the slot is proposed for.
func TestLives(t *testing.T) {
	for _, life := range [][2]string{
		{"....." + ".....",
			"-----" + "-----"},
		{"xxxxx" + ".....", // the condition is met, and nothing on the chain resets it
			"-----" + "ooooo"},
		{"xxxx." + "xxxx.", // never five in a row
			"-----" + "-----"},
		{"xxxxx" + "..R.x" + "xxx..", // closed by the restart, and four more are allowed
			"-----" + "ooo--" + "-----"},
		{"xxxxR" + "xxxxx" + ".", // counted anew from zero
			"-----" + "-----" + "o"},
		{"xxxxx" + "Rxxxx" + "x.R..", // a second time, and closed once more
			"-----" + "o----" + "-oo--"},
	} {
		b, got := NewBreaker(DefaultBreakerLimits()), ""
		for i, now := range life[0] {
			(&history{slots: life[0][:i]}).judge(b)
			got += map[bool]string{false: "-", true: "o"}[b.Open()]
			if now == 'R' {
				b.Restart(phase0.Slot(i + 1))
			}
		}
		if got != life[1] {
			t.Errorf("\n%s\n%s, want\n%s", life[0], got, life[1])
		}
	}
}

// Once open it stays open, says so once, and asks for no more slots; only a restart closes it.
func TestStaysOpenUntilTheRestart(t *testing.T) {
	b, h := NewBreaker(DefaultBreakerLimits()), &history{slots: "xxxxx"}
	if !h.judge(b) {
		t.Fatal("it does not open")
	}
	h = &history{slots: "xxxxx" + strings.Repeat(".", 100)}
	if h.judge(b) || !b.Open() || len(h.asked) > 0 {
		t.Errorf("after a hundred blocks: open %v, %v asked for", b.Open(), h.asked)
	}
	b.Restart(105)
	if h.judge(b) || b.Open() {
		t.Error("it is open after the restart")
	}
}

// After a restart the tally is 0: slots before it, and the one in which it was, are not even asked
// for.
func TestCountsAnewAfterTheRestart(t *testing.T) {
	for _, limits := range []BreakerLimits{DefaultBreakerLimits(), {MissedOf: 5, Window: 30}} {
		b := NewBreaker(limits)
		if !(&history{slots: "xxxxx"}).judge(b) {
			t.Fatalf("%+v: it does not open", limits)
		}
		b.Restart(7)
		for later, opens := range map[string]bool{"": false, "x": false, "xxxx": false, "xxxxx": true} {
			again, h := *b, &history{slots: "xxxxxxx" + later}
			if got := h.judge(&again); got != opens {
				t.Errorf("%+v: %q after the restart opens it: %v", limits, later, got)
			}
			if i := slices.IndexFunc(h.asked, func(s phase0.Slot) bool { return s <= 7 }); i >= 0 {
				t.Errorf("%+v: slot %d is from before the restart", limits, h.asked[i])
			}
		}
	}
}

// Each slot is asked for once, and after the first time only those that are new, or that may make a
// row or a window with them.
func TestAsksNoFurtherThanMatters(t *testing.T) {
	for _, c := range []struct {
		limits          BreakerLimits
		before, history string
		want            []phase0.Slot
	}{
		{DefaultBreakerLimits(), "", "", nil},
		{DefaultBreakerLimits(), "", ".....", []phase0.Slot{1, 2, 3, 4, 5}},
		{DefaultBreakerLimits(), "....", ".....", []phase0.Slot{5}},
		{DefaultBreakerLimits(), "....", "....x", []phase0.Slot{5, 4}},
		{DefaultBreakerLimits(), "....x", "....xx", []phase0.Slot{6, 5, 4}},
		{DefaultBreakerLimits(), ".....", ".......", []phase0.Slot{6, 7}},
		{BreakerLimits{MissedOf: 2, Window: 4}, ".......", "........", []phase0.Slot{8, 7, 6, 5}},
		{BreakerLimits{}, "", "xxx", nil},
	} {
		b := NewBreaker(c.limits)
		(&history{slots: c.before}).judge(b)
		h := &history{slots: c.history}
		h.judge(b)
		if !slices.Equal(h.asked, c.want) {
			t.Errorf("%+v, %q after %q: %v are asked for, want %v", c.limits, c.history, c.before, h.asked, c.want)
		}
	}
}

// Whatever the chain was like, and for whichever slots the client proposes: it opens exactly if one
// of the conditions, counted the plain way over the slots since the restart, holds behind the last
// slot or held behind one before it.
func TestOpensByItsConditionsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := BreakerLimits{MissedInRow: rapid.IntRange(0, 6).Draw(t, "in row"),
			Window: rapid.IntRange(0, 8).Draw(t, "window")}
		if limits.Window > 0 {
			limits.MissedOf = rapid.IntRange(1, limits.Window).Draw(t, "missed of window")
		}
		slots := rapid.StringMatching(`[.x]{0,20}`).Draw(t, "slots")
		restart := rapid.IntRange(0, len(slots)).Draw(t, "restart")
		b := NewBreaker(limits)
		b.Restart(phase0.Slot(restart))
		counted, met := slots[restart:], false
		for last := range len(counted) + 1 {
			inRow := limits.MissedInRow > 0 && strings.HasSuffix(counted[:last], strings.Repeat("x", limits.MissedInRow))
			ofWindow := limits.Window > 0 && strings.Count(counted[max(0, last-limits.Window):last], "x") >= limits.MissedOf
			met = met || inRow || ofWindow
		}
		proposals := rapid.SliceOfNDistinct(rapid.IntRange(0, len(slots)), 0, 4, rapid.ID).Draw(t, "proposals")
		slices.Sort(proposals)
		for _, before := range proposals {
			(&history{slots: slots[:before]}).judge(b)
		}
		if (&history{slots: slots}).judge(b); b.Open() != met {
			t.Fatalf("open %v", b.Open())
		}
	})
}
