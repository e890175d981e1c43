package proposer

import (
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/devnet"
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
func (h *history) judge(b *breaker) bool { return b.judge(phase0.Slot(len(h.slots)+1), h.missed) }

func TestBreakerOpens(t *testing.T) {
	inRow, ofWindow := devnet.BreakerLimits{MissedInRow: 3}, devnet.BreakerLimits{MissedOf: 2, Window: 4}
	for _, c := range []struct {
		limits devnet.BreakerLimits
		slots  string
		want   bool
	}{
		{devnet.DefaultBreakerLimits(), "xxxx", false},
		{devnet.DefaultBreakerLimits(), "xxxxx", true},
		{devnet.DefaultBreakerLimits(), ".xxxxx", true},
		{devnet.DefaultBreakerLimits(), "xxxx.xxxx", false},
		{devnet.DefaultBreakerLimits(), "xxxxx.", true}, // it was met: a block that comes later resets nothing
		{devnet.DefaultBreakerLimits(), "xxxxx.....", true},
		{inRow, "", false},
		{inRow, "xx", false},
		{inRow, "xxx", true},
		{inRow, "x.xx", false},
		{ofWindow, "x", false},
		{ofWindow, "x.x", true},
		{ofWindow, "x.x.", true},
		{ofWindow, "x...x", false}, // the other one is out of the window
		{ofWindow, "x.x...", true}, // but it was not, for a while
		{devnet.BreakerLimits{MissedInRow: 3, MissedOf: 2, Window: 4}, "x..x", true},
		{devnet.BreakerLimits{}, "xxxxxxxx", false},
	} {
		b := newBreaker(c.limits)
		if got := (&history{slots: c.slots}).judge(b); got != c.want || b.isOpen() != c.want {
			t.Errorf("%+v after %q: opens %v, open %v", c.limits, c.slots, got, b.isOpen())
		}
	}
}

// The history of a client that proposes in each slot. Above is the chain: "x" is a missed slot, "R"
// one that is missed since the beacon node restarts in it. Below is whether relays are asked ("-")
// or the breaker is open ("o") when the slot is proposed for.
func TestBreakerOpensAndCloses(t *testing.T) {
	for _, c := range [][2]string{
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
		b, got := newBreaker(devnet.DefaultBreakerLimits()), ""
		for i, now := range c[0] {
			(&history{slots: c[0][:i]}).judge(b)
			got += map[bool]string{false: "-", true: "o"}[b.isOpen()]
			if now == 'R' {
				b.restart(phase0.Slot(i + 1))
			}
		}
		if got != c[1] {
			t.Errorf("\n%s\n%s, want\n%s", c[0], got, c[1])
		}
	}
}

// Once open it stays open, says so once, and asks for no more slots; only a restart closes it.
func TestStaysOpenUntilTheRestart(t *testing.T) {
	b, h := newBreaker(devnet.DefaultBreakerLimits()), &history{slots: "xxxxx"}
	if !h.judge(b) {
		t.Fatal("it does not open")
	}
	h = &history{slots: "xxxxx" + strings.Repeat(".", 100)}
	if h.judge(b) || !b.isOpen() || len(h.asked) > 0 {
		t.Errorf("after a hundred blocks: open %v, %v asked for", b.isOpen(), h.asked)
	}
	b.restart(105)
	if h.judge(b) || b.isOpen() {
		t.Error("it is open after the restart")
	}
}

// After a restart the tally is 0: slots before it, and the one in which it was, are not even asked
// for.
func TestCountsAnewAfterTheRestart(t *testing.T) {
	for _, limits := range []devnet.BreakerLimits{devnet.DefaultBreakerLimits(), {MissedOf: 5, Window: 30}} {
		b := newBreaker(limits)
		if !(&history{slots: "xxxxx"}).judge(b) {
			t.Fatalf("%+v: it does not open", limits)
		}
		b.restart(7)
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
		limits          devnet.BreakerLimits
		before, history string
		want            []phase0.Slot
	}{
		{devnet.DefaultBreakerLimits(), "", "", nil},
		{devnet.DefaultBreakerLimits(), "", ".....", []phase0.Slot{1, 2, 3, 4, 5}},
		{devnet.DefaultBreakerLimits(), "....", ".....", []phase0.Slot{5}},
		{devnet.DefaultBreakerLimits(), "....", "....x", []phase0.Slot{5, 4}},
		{devnet.DefaultBreakerLimits(), "....x", "....xx", []phase0.Slot{6, 5, 4}},
		{devnet.DefaultBreakerLimits(), ".....", ".......", []phase0.Slot{6, 7}},
		{devnet.BreakerLimits{MissedOf: 2, Window: 4}, ".......", "........", []phase0.Slot{8, 7, 6, 5}},
		{devnet.BreakerLimits{}, "", "xxx", nil},
	} {
		b := newBreaker(c.limits)
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
		limits := devnet.BreakerLimits{MissedInRow: rapid.IntRange(0, 6).Draw(t, "in row"),
			Window: rapid.IntRange(0, 8).Draw(t, "window")}
		if limits.Window > 0 {
			limits.MissedOf = rapid.IntRange(1, limits.Window).Draw(t, "missed of window")
		}
		slots := rapid.StringMatching(`[.x]{0,20}`).Draw(t, "slots")
		restart := rapid.IntRange(0, len(slots)).Draw(t, "restart")
		b := newBreaker(limits)
		b.restart(phase0.Slot(restart))
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
		if (&history{slots: slots}).judge(b); b.isOpen() != met {
			t.Fatalf("open %v", b.isOpen())
		}
	})
}
