package generate

import (
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
)

// A patient builder waits between its bids, and keeps its part of what a block earns.
func TestPatient(t *testing.T) {
	p := patient{builder.Adaptive{StepWei: uint256.NewInt(10)}, 20}
	gain := uint256.NewInt(5e15)
	at := builder.Situation{
		Length: 12 * time.Second, Began: -8 * time.Second, Now: -8*time.Second + patience - 1, Bids: 1,
		LastWei: uint256.NewInt(1e15), TopWei: uint256.NewInt(2e15),
	}
	if d := p.Decide(at); d.Do != builder.Wait || d.Until != at.Began+patience {
		t.Errorf("too early: %+v", d)
	}
	at.Now++
	d := p.Decide(at)
	if d.Do != builder.Bid || d.AboveWei != at.LastWei || !d.ValueWei(gain).Eq(uint256.NewInt(2e15+10)) {
		t.Errorf("in time: %+v", d)
	}
	at.TopWei = uint256.NewInt(49e14)
	if got := p.Decide(at).ValueWei(gain); !got.Eq(uint256.NewInt(4e15)) {
		t.Errorf("it bids %s of %s", got, gain)
	}
}

// At the relays, builders are listed as the documentation says.
func TestListed(t *testing.T) {
	w, err := open(Config{Seed: 1, Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := w.node.Close(); err != nil {
			t.Error(err)
		}
	}()
	one := uint256.NewInt(1)
	for i, want := range []struct{ first, second, blocked bool }{
		{true, false, false}, {true, true, false}, {}, {blocked: true},
	} {
		key := w.builders[i].key
		first, second := w.relays[0].record(key, 1), w.relays[1].record(key, 1)
		if first.Trusts(one) != want.first || second.Trusts(one) != want.second || second.Blocked != want.blocked {
			t.Errorf("%s: %+v, %+v", w.builders[i].Name, first, second)
		}
	}
	key := w.builders[1].key
	w.relays[0].demoted[key] = 5
	if w.relays[0].record(key, 5).Trusts(one) || !w.relays[0].record(key, 6).Trusts(one) {
		t.Error("a demoted builder is trusted too early, or never again")
	}
}
