package app_test

import (
	"net/http"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// A beacon node may refuse a block because it has it: from another relay to which the proposer sent
// it too, or from this one before a restart. Either way the block is published: the payload is
// revealed, and listed once. Another block of the slot stays refused.
func TestBlockThatTheNodeHasAlready(t *testing.T) {
	for _, path := range []string{v1Path, v2Path} {
		folder := t.TempDir() // before the relay, which is closed before it is removed
		h := newRelay(t, eth.Fulu, relayOptions{refusesKnown: true, configure: func(c *app.Config) {
			trusting(c)
			c.DataDir = folder
		}})
		s := h.worth(t, 1, 1000)
		block := h.offered(t, s)
		other := h.blind(t, h.header(t))
		other.body()["graffiti"] = "0x" + "11111111111111111111111111111111" + "11111111111111111111111111111111"
		_, proposer := h.duty(h.slot)
		other.sign(t, proposer, h.spec.ProposerDomain(h.slot))

		stopFirst := h.stopRelay
		h.cfg.DataDir = t.TempDir()
		h.startRelay(t) // another relay
		h.registerAll(t)
		poll(t, "the other relay learns the slot's attributes", func() bool { return h.submit(t, s).status == http.StatusOK })
		h.wantTop(t, s)
		h.reveal(t, path, block).wantStatus(t, statusOf(path))
		must(t, h.stopRelay())
		h.stopRelay = func() error { return nil }

		must(t, stopFirst())
		h.cfg.DataDir = folder
		h.startRelay(t) // the first again, which has not published
		h.reveal(t, path, block).wantStatus(t, statusOf(path))
		poll(t, "the delivery is listed", func() bool { return h.deliveries(t) == 1 })
		h.restart(t)
		h.reveal(t, path, block).wantStatus(t, statusOf(path))
		h.reveal(t, path, other).wantRefusal(t, relay.PayloadOther, "")
		h.next(t)
		h.deliver(t, h.worth(t, 1, 1000))
		poll(t, "the next delivery is listed", func() bool { return h.deliveries(t) > 1 })
		if got := h.deliveries(t); got != 2 {
			t.Errorf("%d deliveries are listed, want 2", got)
		}
	}
}

// statusOf is the good answer of a version of the operation.
func statusOf(path string) int {
	if path == v1Path {
		return http.StatusOK
	}
	return http.StatusAccepted
}
