package eth_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec"

	"github.com/gavel-relay/gavel/devnet/chain/chaintest"
	"github.com/gavel-relay/gavel/internal/eth"
)

// A row is all that it takes for a fork to be known; and without one it is unknown again.
func TestTrialForkIsKnownByItsRow(t *testing.T) {
	t.Run("with its row", func(t *testing.T) {
		trial := chaintest.TrialFork(t)
		parsed, err := eth.ParseFork("Trial")
		if err != nil || parsed != trial || trial.String() != "trial" || !trial.Known() {
			t.Errorf("parsed %s, %v", parsed, err)
		}
		if all := eth.KnownForks(); all[len(all)-1] != trial {
			t.Errorf("known forks %v", all)
		}
		if all := eth.Forks(); all[len(all)-1] != eth.Fulu || !strings.HasSuffix(eth.ForkNames(), ", fulu") {
			t.Errorf("a fork without blinded blocks is one of %v, or of %s", all, eth.ForkNames())
		}
		if !trial.Includes(eth.Fulu) || eth.Fulu.Includes(trial) {
			t.Error("the trial fork must come after fulu")
		}
		if !trial.HasBlobs() || trial.HasRequests() || trial.HasBlindedBlocks() || trial.Validation().Method != "" {
			t.Error("the trial fork has other things than its row says")
		}
		if eth.ForkOf(trial.DataVersion()) != 0 || eth.ForkOf(spec.DataVersionUnknown) != 0 || eth.ForkValidatedBy("") != 0 {
			t.Error("what no library and no method names must be no fork")
		}
		network := eth.Spec{SlotsPerEpoch: 32, Forks: []eth.ForkPoint{{Fork: eth.Fulu}, {Fork: trial, Epoch: 2}}}
		if network.ForkAt(64) != trial || network.MaxBlobs(64) != 3 || network.ForkAt(63) != eth.Fulu {
			t.Error("the trial fork begins at epoch 2 with 3 blobs")
		}
		var names eth.Column[string] = map[eth.Fork]string{eth.Fulu: "f"}
		if _, err := names.Of(trial, "names"); !errors.Is(err, eth.ErrFork) ||
			!strings.Contains(err.Error(), "no names in trial") {
			t.Errorf("a column without the trial fork: %v", err)
		}
	})
	if _, err := eth.ParseFork("trial"); err == nil || eth.KnownForks()[len(eth.KnownForks())-1] != eth.Gloas {
		t.Error("the trial fork outlived its test")
	}
}
