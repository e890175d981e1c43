package app

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
)

// A relay of another network, or of a devnet that was begun anew, does not get the journal; nor
// does one whose beacon node tells another execution chain than a bundle RPC has found on it.
func TestNetworkOfTheJournal(t *testing.T) {
	genesis := time.Unix(1_700_000_000, 0)
	ours := &eth.Spec{GenesisTime: genesis, DepositChainID: 7}
	j, err := journal.Open(t.Context(), journal.Config{EscrowBytes: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := j.KeepNetwork(t.Context(), map[string]string{"chain": "7"}); err != nil { // as the bundle RPC does
		t.Fatal(err)
	}
	for _, spec := range []*eth.Spec{ours, {GenesisTime: genesis}} {
		if err := j.KeepNetwork(t.Context(), networkOf(spec)); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	for name, spec := range map[string]*eth.Spec{
		"another chain": {GenesisTime: genesis, DepositChainID: 8}, "begun anew": {GenesisTime: genesis.Add(time.Hour)},
		"other validators": {GenesisTime: genesis, GenesisValidatorsRoot: phase0.Root{1}},
		"another version":  {GenesisTime: genesis, GenesisForkVersion: phase0.Version{1}},
	} {
		if err := j.KeepNetwork(t.Context(), networkOf(spec)); !errors.Is(err, journal.ErrOtherNetwork) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
