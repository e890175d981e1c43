package app_test

import (
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// A payload is revealed while a submission of the same slot waits for its execution. Deployed
// relays let getPayload wait for simulations and the database.
func TestPayloadDoesNotWaitForSimulations(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{})
	s, other := h.worth(t, 0, 1000), h.worth(t, 1, 2000)
	b := h.offered(t, s)
	gate := h.gate.hold(other.trace.BlockHash)
	pending := h.goSubmit(t, other)
	<-gate.arrived
	h.wantRevealed(t, v2Path, h.reveal(t, v2Path, b), s) // would never come back
	h.wantRevealed(t, v1Path, h.reveal(t, v1Path, b), s)
	close(gate.open)
	(<-pending).wantRefusal(t, relay.SubmissionDelivered, "")
}
