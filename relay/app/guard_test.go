package app

import (
	"context"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
)

// Slots of two networks on one journal are different slots; a claim from before keys had a network
// in them stands on each.
func TestGuardKnowsItsNetwork(t *testing.T) {
	j, err := journal.Open(t.Context(), journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := j.Claim(t.Context(), "slot-5", make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	genesis := time.Unix(1_700_000_000, 0)
	for name, spec := range map[string]*eth.Spec{
		"first": {GenesisTime: genesis}, "begun anew": {GenesisTime: genesis.Add(time.Hour)},
		"other validators": {GenesisTime: genesis, GenesisValidatorsRoot: phase0.Root{1}},
		"other version":    {GenesisTime: genesis, GenesisForkVersion: phase0.Version{1}},
	} {
		g := newGuard(j, spec)
		for _, c := range []struct {
			slot phase0.Slot
			root phase0.Root
			won  bool
		}{{7, phase0.Root{1}, true}, {7, phase0.Root{2}, false}, {7, phase0.Root{1}, true}, {5, phase0.Root{1}, false},
			{5, phase0.Root{}, true}} {
			if won, err := g.Claim(t.Context(), c.slot, c.root); err != nil || won != c.won {
				t.Errorf("%s: slot %d, root %d: %v, %v, want %v", name, c.slot, c.root[0], won, err, c.won)
			}
		}
	}
}
