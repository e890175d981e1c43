package app_test

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A beacon node that goes in the midst of its events costs no slot: heads and attributes come from
// the other, the next epoch's duties and validator table too, and blocks are published there; and
// so it is when the first is back and the other goes.
func TestBeaconNodesComeAndGo(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{slotsPerEpoch: 4, configure: trusting})
	for _, step := range []struct {
		what       string
		gone, back int // fronts; -1 is none
		newEpoch   bool
	}{
		{"both are there", -1, -1, false}, // slot 1
		{"the first goes", 0, -1, false},
		{"it stays away over an epoch's end", -1, -1, false},
		{"and in the next epoch", -1, -1, true}, // slot 4 has become the head
		{"it is back, and the second goes", 1, 0, false},
	} {
		live := h.fronts[1]
		if step.back >= 0 {
			live = h.fronts[step.back]
			followed := live.questions("/events")
			live.bring()
			poll(t, "the node that is back is followed", func() bool { return live.questions("/events") > followed })
		}
		if step.gone >= 0 {
			h.fronts[step.gone].take()
		}
		before := live.count()
		duties, validators := live.questions("/validator/duties/"), live.questions("/validator_identities")
		h.deliver(t, h.worth(t, 1, 1000))
		h.next(t)
		if step.gone >= 0 {
			const following = "gavel_relay_beacon_nodes_following 1\n"
			poll(t, "the operator sees that one node is left", func() bool {
				return strings.Contains(string(h.admin(t, "GET /metrics", "").body), following)
			})
		}
		if live.count() == before && step.gone >= 0 {
			t.Errorf("%s: nothing was published at the other", step.what)
		}
		if step.newEpoch {
			poll(t, "the live node is asked for duties and validators", func() bool {
				return live.questions("/validator/duties/") > duties && live.questions("/validator_identities") > validators
			})
		}
	}
}
