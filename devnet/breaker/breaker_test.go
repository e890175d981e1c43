package breaker

import (
	"slices"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"
)

// history answers which slots are missed. The first character is slot 1; "x" is missed. It notes who was asked for.
type history struct {
	slots string
	asked []phase0.Slot
}

func (h *history) missed(slot phase0.Slot) bool {
	h.asked = append(h.asked, slot)
	return h.slots[slot-1] == 'x'
}

// judge proposes for the slot after the history.
func (h *history) judge(b *Breaker) bool { return b.Judge(phase0.Slot(len(h.slots)+1), h.missed) }

func TestOpens(t *testing.T) {
	inRow, ofWindow := Limits{MissedInRow: 3}, Limits{MissedOf: 2, Window: 4}
	for _, c := range []struct {
		limits Limits
		slots  string
		want   bool
	}{
		{Default(), "xxxx", false},
		{Default(), "xxxxx", true},
		{Default(), ".xxxxx", true},
		{Default(), "xxxx.xxxx", false},
		{Default(), "xxxxx.", false}, // a block has come since
		{inRow, "", false},
		{inRow, "xx", false},
		{inRow, "xxx", true},
		{inRow, "x.xx", false},
		{ofWindow, "x", false},
		{ofWindow, "x.x", true},
		{ofWindow, "x.x.", true},
		{ofWindow, "x...x", false}, // the other one is out of the window
		{Limits{MissedInRow: 3, MissedOf: 2, Window: 4}, "x..x", true},
		{Limits{}, "xxxxxxxx", false},
	} {
		b := New(c.limits)
		if got := (&history{slots: c.slots}).judge(b); got != c.want || b.Open() != c.want {
			t.Errorf("%+v after %q: opens %v, open %v", c.limits, c.slots, got, b.Open())
		}
	}
}

// Once open it stays open, says so once, and asks for no more slots; only a restart closes it.
func TestStaysOpenUntilTheRestart(t *testing.T) {
	b, h := New(Default()), &history{slots: "xxxxx"}
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

// After a restart the tally is 0: slots before it, and the one in which it was, are not even asked for.
func TestCountsAnewAfterTheRestart(t *testing.T) {
	for _, limits := range []Limits{Default(), {MissedOf: 5, Window: 30}} {
		b := New(limits)
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

// A client whose chain is well asks for one slot.
func TestAsksNoFurtherThanMatters(t *testing.T) {
	for slots, want := range map[string]int{".....": 1, "....x": 2, ".xxxx": 5, "": 0} {
		h := &history{slots: slots}
		h.judge(New(Default()))
		if len(h.asked) != want {
			t.Errorf("%q: %v are asked for", slots, h.asked)
		}
	}
	h := &history{slots: "........"}
	h.judge(New(Limits{MissedOf: 2, Window: 4}))
	if want := []phase0.Slot{8, 7, 6, 5}; !slices.Equal(h.asked, want) {
		t.Errorf("%v are asked for, want %v", h.asked, want)
	}
}

// Whatever the chain was like: it opens exactly if one of the conditions, counted the plain way over the slots since the restart, holds.
func TestOpensByItsConditionsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{MissedInRow: rapid.IntRange(0, 6).Draw(t, "in row"), Window: rapid.IntRange(0, 8).Draw(t, "window")}
		if limits.Window > 0 {
			limits.MissedOf = rapid.IntRange(1, limits.Window).Draw(t, "missed of window")
		}
		slots := rapid.StringMatching(`[.x]{0,20}`).Draw(t, "slots")
		restart := rapid.IntRange(0, len(slots)).Draw(t, "restart")
		b := New(limits)
		b.Restart(phase0.Slot(restart))
		counted := slots[restart:]
		inRow := limits.MissedInRow > 0 && strings.HasSuffix(counted, strings.Repeat("x", limits.MissedInRow))
		ofWindow := limits.Window > 0 && strings.Count(counted[max(0, len(counted)-limits.Window):], "x") >= limits.MissedOf
		if got := (&history{slots: slots}).judge(b); got != (inRow || ofWindow) {
			t.Fatalf("opens %v", got)
		}
	})
}
