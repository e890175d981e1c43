package app_test

import (
	"net/http"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/app"
)

// impostor is a block of alpha's that says it has the hash of another one.
func (h *relayUnderTest) impostor(t *testing.T, of *submission, wei uint64) *submission {
	t.Helper()
	fake := h.worth(t, 0, wei)
	fake.payload.BlockHash, fake.trace.BlockHash = of.payload.BlockHash, of.payload.BlockHash
	fake.sign()
	return fake
}

// A trusted builder offers another payload under the hash of somebody else's block, before it. The
// block wins, and is delivered; the impostor is demoted for the hash.
func TestImpostorDoesNotKeepABlockFromDelivery(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	victim := h.worth(t, 1, 1000)
	fake := h.impostor(t, victim, 500)
	h.submitted(t, fake)
	h.deliver(t, victim)
	poll(t, "the impostor is demoted", func() bool { return len(h.demotions(t)) == 1 })
	if d := h.demotions(t)[0]; d.Name != "alpha" || d.Rule != "block_hash" || d.BlockHash != victim.payload.BlockHash {
		t.Errorf("%+v", d)
	}
}

// The same at another instance on the same cluster, after the header was served: the payload is
// found there among both.
func TestImpostorAtAnotherInstance(t *testing.T) {
	nats := startCluster(t)
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Journal.URL = nats.server.ClientURL()
		c.Journal.EscrowBytes, c.Journal.FactsBytes, c.Journal.EvidenceBytes = 256<<20, 64<<20, 64<<20
	}})
	victim := h.worth(t, 1, 1000)
	block := h.offered(t, victim)
	fake := h.impostor(t, victim, 2000)

	stopFirst := h.stopRelay
	t.Cleanup(func() { must(t, stopFirst()) })
	h.startRelay(t)
	h.registerAll(t)
	poll(t, "the other instance learns the slot's attributes", func() bool {
		return h.submit(t, fake).status == http.StatusOK
	})
	h.reveal(t, v1Path, block).wantStatus(t, http.StatusOK)
	poll(t, "the impostor is demoted", func() bool { return len(h.demotions(t)) == 1 })

}
