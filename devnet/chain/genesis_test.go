package chain

import (
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"

	"github.com/gavel-relay/gavel/internal/eth"
)

// In each slot the chain allows as many blobs as the spec says.
func TestChainAndSpecAgreeOnBlobs(t *testing.T) {
	for name, row := range map[string]struct {
		forks []eth.Fork
		blobs []eth.BlobLimit
	}{
		"limits of the forks": {forks: eth.Forks()},
		"raised in fulu, twice": {forks: eth.Forks(), blobs: []eth.BlobLimit{{Epoch: 5, MaxBlobs: 15},
			{Epoch: 6, MaxBlobs: 21}}},
		"raised with fulu": {forks: eth.Forks(), blobs: []eth.BlobLimit{{Epoch: 4, MaxBlobs: 12}}},
		"deneb with less, electra more": {forks: eth.Forks(), blobs: []eth.BlobLimit{{Epoch: 2, MaxBlobs: 3},
			{Epoch: 3, MaxBlobs: 10}}},
		"fulu from genesis, other limit": {forks: []eth.Fork{eth.Fulu}, blobs: []eth.BlobLimit{{Epoch: 0, MaxBlobs: 4}}},
		"capella, then fulu at once":     {forks: []eth.Fork{eth.Capella, eth.Fulu}},
		"a limit from before blobs exist": {forks: []eth.Fork{eth.Capella, eth.Deneb},
			blobs: []eth.BlobLimit{{Epoch: 0, MaxBlobs: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(row.forks...)
			spec.Blobs = row.blobs
			genesis, err := GenesisOf(Config{Spec: spec, ChainID: testChainID})
			if err != nil {
				t.Fatal(err)
			}
			if err := genesis.Config.CheckConfigForkOrder(); err != nil {
				t.Fatal(err)
			}
			for slot := phase0.Slot(0); slot < 16; slot++ {
				want := int(spec.MaxBlobs(slot))
				if got := eip4844.MaxBlobsPerBlock(genesis.Config, spec.Timestamp(slot)); got != want {
					t.Errorf("slot %d: %d blobs, the spec says %d", slot, got, want)
				}
			}
		})
	}
}

func TestGenesisRefuses(t *testing.T) {
	for part, change := range map[string]func(*eth.Spec){
		"no fork":              func(s *eth.Spec) { s.Forks = nil },
		"inside electra":       func(s *eth.Spec) { s.Blobs = []eth.BlobLimit{{Epoch: 1, MaxBlobs: 12}} },
		"more than 5 blob lim": func(s *eth.Spec) { s.Blobs = append(make([]eth.BlobLimit, 5, 6), eth.BlobLimit{}) },
	} {
		spec := specOf(eth.Electra)
		if part == "more than 5 blob lim" {
			spec = specOf(eth.Fulu)
		}
		change(spec)
		if _, err := GenesisOf(Config{Spec: spec, ChainID: testChainID}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}
