package proposer

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Five missed slots in the chain, and relays are asked no more although they are there: until the
// beacon node restarts, which is counted anew from.
func TestCircuitBreaker(t *testing.T) {
	n := newNetwork(t, eth.Capella)
	var asked, opened []phase0.Slot
	s := &sidecar{header: func(slot phase0.Slot) (*Bid, error) {
		asked = append(asked, slot)
		return nil, nil
	}}
	cfg := n.config(s)
	cfg.Breaker, cfg.BreakerOpened = devnet.DefaultBreakerLimits(), func(slot phase0.Slot) {
		opened = append(opened, slot)
	}
	p := New(cfg)
	propose := func(slot phase0.Slot, wantAsked bool) {
		t.Helper()
		asked = nil
		n.clock.Set(n.spec.SlotStart(slot))
		before := n.publications()
		index, _ := n.beacon.Duty(slot)
		if err := p.proposal(t.Context(), slot, index); err != nil {
			t.Fatal(err)
		}
		if (len(asked) > 0) != wantAsked || n.publications() != before+1 {
			t.Errorf("slot %d: asked for %v, %d local blocks", slot, asked, n.publications()-before)
		}
	}
	propose(1, true)
	propose(6, true)   // 2 to 5 are missed: that is allowed
	propose(12, false) // 7 to 11 are missed
	propose(13, false) // there is a block again
	propose(14, false)
	if len(opened) != 1 || opened[0] != 12 {
		t.Errorf("it opened in slots %v", opened)
	}
	p.BeaconRestarted(19)
	propose(20, true) // 15 to 19 are missed, before the restart
	propose(25, true)
	propose(31, false) // 26 to 30
	if len(opened) != 2 || opened[1] != 31 {
		t.Errorf("it opened in slots %v", opened)
	}
}

// The breaker is decided by the chain: what relays do, and a beacon node that says nothing of a
// slot, does not open it. Without limits there is none.
func TestCircuitBreakerLooksAtTheChainOnly(t *testing.T) {
	n := newNetwork(t, eth.Capella)
	cfg := n.config(new(sidecar))
	cfg.Breaker = devnet.DefaultBreakerLimits()
	n.fail(true)
	if New(cfg).broken(t.Context(), 9) {
		t.Error("a beacon node that answers 503 opens it")
	}
	n.fail(false)
	if !New(cfg).broken(t.Context(), 9) {
		t.Error("missed slots do not open it")
	}
	if New(n.config(new(sidecar))).broken(t.Context(), 9) {
		t.Error("there is a breaker without limits")
	}
}

// A bid that the breaker keeps out is not asked for, however good it is.
func TestOpenBreakerMakesTheBlockLocal(t *testing.T) {
	n := newNetwork(t, eth.Capella)
	bid := &Bid{Versioned: offer(t, n.spec, relayKey, 5, n.build(t, 6)), ValueWei: uint256.NewInt(5)}
	s := &sidecar{header: func(phase0.Slot) (*Bid, error) { return bid, nil }}
	cfg := n.config(s)
	cfg.Breaker = devnet.DefaultBreakerLimits()
	n.clock.Set(n.spec.SlotStart(6))
	index, _ := n.beacon.Duty(6)
	if err := New(cfg).proposal(t.Context(), 6, index); err != nil || len(s.blocks()) > 0 || n.publications() != 1 {
		t.Errorf("%v, %d blinded blocks, %d local ones", err, len(s.blocks()), n.publications())
	}
}
