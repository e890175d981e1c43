package relay

import (
	"net/http"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// describeGloasFork adds specs about the boundary from blinded blocks to gloas.
func describeGloasFork(r *specs) {
	r.Slow("GLO-FRK-01", "reveals blinded blocks before the fork, and by envelopes after it", func(t *suite.T) {
		before := r.waitBeforeFork(t, true)
		s := before.prepareSubmitted(before.block("a", gwei(1000)))
		answer := before.ask(payloadPath, before.signBlind(before.makeBlinded(before.checkServed(s)), before.proposer))
		checkPayloadOf(t, before.readPayload(answer), s)
		a, _, block := r.prepareWonGloas(t, world.Order{})
		t.Status(a.hand(block), http.StatusAccepted)
		a.checkRevealed()
	})
	r.Slow("GLO-FRK-02", "refuses requests of gloas for a slot before it", func(t *suite.T) {
		before := r.waitBeforeFork(t, false)
		s := before.prepareSubmitted(before.block("a", gwei(1000)))
		a := sale{before}
		t.Status(a.askFor().send(), http.StatusBadRequest)
		t.Status(a.capAt(1).send(), http.StatusBadRequest)
		t.Status(t.Do(builderAPI(t), versioned(submitPath, sszType, eth.Gloas.String(), s.ssz())), http.StatusBadRequest)
		before.checkServed(s)
	})
}
