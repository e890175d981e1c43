package beacon

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// prefer sends a proposer's signed preferences for a branch, and returns the status.
func (n *network) prefer(slot phase0.Slot, dependent phase0.Root, payee byte) int {
	n.t.Helper()
	index, _ := n.beacon.Duty(slot)
	message := &gloas.ProposerPreferences{
		DependentRoot: dependent, ProposalSlot: slot, ValidatorIndex: index, TargetGasLimit: 60_000_000,
		FeeRecipient: bellatrix.ExecutionAddress{payee},
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(message)
	if err != nil {
		n.t.Fatal(err)
	}
	raw, err := gloas.Mainnet.SignedProposerPreferences.ToJSON(&gloas.SignedProposerPreferences{Message: message,
		Signature: n.beacon.ValidatorKey(index).Sign(eth.SigningRoot(root, gloas.PreferencesDomain(n.spec, slot)))})
	status, _, _ := n.post("/eth/v1/validator/proposer_preferences", http.Header{"Content-Type": {"application/json"}},
		bytes.Join([][]byte{[]byte("["), encoded(n.t, raw, err), []byte("]")}, nil))
	return status
}

// The block of the last slot of an epoch is late, and the next one is built past it. Duties of the
// epoch after depend on another block then, and preferences for either branch are taken and kept:
// blocks pay the one of their own branch.
func TestPreferencesOfTwoBranches(t *testing.T) {
	n := newNetworkIn(t, eth.Gloas)
	genesis := n.beacon.choice.genesis.Root
	roots := map[phase0.Slot]phase0.Root{}
	for slot := phase0.Slot(1); slot <= 2; slot++ {
		n.selfBuild(slot, true)
		roots[slot] = n.beacon.Head().Root
	}
	n.begin(3)
	late, _ := n.producedIn(3, new(gloas.BuilderConfig))
	n.clock.now = n.spec.SlotStart(3).Add(8 * time.Second)
	roots[3] = n.mustPublish(late)
	n.begin(4)
	const duty = 8 // the first slot of the epoch whose proposers depend on the end of epoch 0
	if got := n.beacon.dependentRoot(n.beacon.Head(), 1); got != roots[3] {
		t.Errorf("before the re-organisation duties depend on %x, want the late block %x", got, roots[3])
	}
	for name, root := range map[string]phase0.Root{
		"a block that is not known": {9}, "genesis": genesis, "a block in the middle of the epoch": roots[1],
	} {
		if got := n.prefer(duty, root, 1); got != http.StatusBadRequest {
			t.Errorf("%s: status %d", name, got)
		}
	}
	fourth, _ := n.producedIn(4, new(gloas.BuilderConfig))
	if fourth.ParentRoot != roots[2] {
		t.Fatal("slot 4 is not built past the late block")
	}
	n.reveal(n.own(n.mustPublish(fourth), 4), n.beacon.ValidatorKey(fourth.ProposerIndex))
	n.endSlot(4)
	if got := n.beacon.dependentRoot(n.beacon.Head(), 1); got != roots[2] {
		t.Errorf("after it they depend on %x, want %x", got, roots[2])
	}
	for _, c := range []struct {
		root phase0.Root
		want int
	}{{roots[3], http.StatusOK}, {roots[2], http.StatusOK}, {roots[1], http.StatusBadRequest}} {
		if got := n.prefer(duty, c.root, c.root[0]); got != c.want {
			t.Errorf("for %x: status %d, want %d", c.root, got, c.want)
		}
	}
	if got := n.beacon.preferencesOn(n.beacon.Head(), duty); got.Message.FeeRecipient[0] != roots[2][0] {
		t.Errorf("the branch that stayed pays %x", got.Message.FeeRecipient)
	}
	if got := n.beacon.preferencesOn(n.beacon.choice.blocks[roots[3]], duty); got.Message.FeeRecipient[0] != roots[3][0] {
		t.Errorf("the branch that is gone pays %x", got.Message.FeeRecipient)
	}
	if told := len(n.beacon.preferencesAhead([]string{proposerPreferences})); told != 2 {
		t.Errorf("a new listener is told %d preferences, want both", told)
	}
}
