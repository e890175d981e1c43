package app_test

import (
	"net/http"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/app"
)

// A share of each bid is its value, as far as the stake covers it; value and payment are together
// what the block pays, which is what the proposer is listed as having been paid.
func TestShareIsServed(t *testing.T) {
	for name, row := range map[string]struct {
		balance       phase0.Gwei
		value, within phase0.Gwei
	}{
		"covered":                   {1_000_000_000 + 128*5000, 300, 700},
		"as far as it is covered":   {1_000_000_000 + 128*200, 200, 800},
		"by a stake of the deposit": {1_000_000_000, 0, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRelayInGloas(t, nil)
			must(t, h.stopRelay())
			h.node.mu.Lock()
			h.node.balance = row.balance
			h.node.mu.Unlock()
			h.cfg.Gloas = &app.Gloas{Index: stakedIndex, Key: stakedKey, AuthData: [][]byte{[]byte(relayHost)}, SharePercent: 30}
			h.startRelay(t)
			m, _ := h.sold(t)
			if m.Value != row.value || m.ExecutionPayment != row.within {
				t.Fatalf("%d and %d, want %d and %d", m.Value, m.ExecutionPayment, row.value, row.within)
			}
			raw, root := h.signedBlock(t, m, 1, h.proposer())
			if got := h.propose(t, raw); got.status != http.StatusAccepted {
				t.Fatalf("a good block: %s", got)
			}
			h.isHead(root)
			h.wantEnvelope(t, root)
			poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
			if got := h.listed(t, deliveredPath)[0]["value"]; got != "1000000000000" {
				t.Errorf("%v wei were delivered, want those of value and payment together", got)
			}
		})
	}
}
