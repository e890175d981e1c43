package app_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// onDisk has the relay keep its journal over a restart.
func onDisk(t *testing.T) func(*app.Config) {
	dir := t.TempDir()
	return func(c *app.Config) { c.DataDir = dir }
}

// crashed ends the relay, and starts another one on what the disk had before the end, without what
// an orderly stop writes. Files are written in place, since the journal knows a copy of its own.
func (h *relayInGloas) crashed(t testing.TB) {
	t.Helper()
	left := t.TempDir()
	must(t, os.CopyFS(left, os.DirFS(h.cfg.DataDir)))
	must(t, h.stopRelay())
	must(t, filepath.WalkDir(h.cfg.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(h.cfg.DataDir, path)
		if err != nil {
			return err
		}
		was, err := os.ReadFile(filepath.Join(left, name))
		if errors.Is(err, fs.ErrNotExist) {
			return os.Remove(path)
		}
		return errors.Join(err, os.WriteFile(path, was, 0o600))
	}))
	h.startRelay(t)
}

// wantEnvelope waits for the envelope of a block.
func (h *relayInGloas) wantEnvelope(t testing.TB, root phase0.Root) {
	t.Helper()
	select {
	case raw := <-h.node.envelopes:
		contents, err := gloas.Mainnet.EnvelopeContents.Decode(raw)
		must(t, err)
		if got := contents.SignedExecutionPayloadEnvelope.Message.BeaconBlockRoot; got != root {
			t.Errorf("an envelope of block %#x, want %#x", got[:], root[:])
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no envelope")
	}
}

// A relay that crashes and is started anew after it has given a proposer a bid takes the proposer's
// block, and reveals the payload.
func TestRestartBetweenBidAndBlock(t *testing.T) {
	h := newRelayInGloas(t, onDisk(t))
	m, _ := h.sold(t)
	h.crashed(t)
	raw, root := h.signedBlock(t, m, 1, h.proposer())
	if got := h.propose(t, raw); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	h.isHead(root)
	h.wantEnvelope(t, root)
	poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
}

// A relay that crashes and is started anew after it has taken a proposer's block reveals the
// payload, though nobody sends the block again.
func TestRestartBetweenBlockAndEnvelope(t *testing.T) {
	h := newRelayInGloas(t, onDisk(t))
	root := h.tookBlock(t)
	h.crashed(t)
	h.wantNoEnvelope(t)
	h.isHead(root)
	h.wantEnvelope(t, root)
	poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
}

// A relay that is started anew too late does not reveal, and neither does one that has seen two
// blocks of the proposer before.
func TestRestartThatRevealsNothing(t *testing.T) {
	for name, row := range map[string]struct {
		meanwhile func(t *testing.T, h *relayInGloas, m *gloas.ExecutionPayloadBid)
		late      int // payloads that are recorded as withheld for that
	}{
		"after the deadline": {func(_ *testing.T, h *relayInGloas, _ *gloas.ExecutionPayloadBid) {
			h.into(6 * time.Second)
		}, 1},
		"in the next slot": {func(_ *testing.T, h *relayInGloas, _ *gloas.ExecutionPayloadBid) {
			h.into(13 * time.Second)
		}, 1},
		"two blocks": {func(t *testing.T, h *relayInGloas, m *gloas.ExecutionPayloadBid) {
			second, _ := h.signedBlock(t, m, 2, h.proposer())
			h.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
			h.into(6 * time.Second)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRelayInGloas(t, func(c *app.Config) { onDisk(t)(c); withOperator(c) })
			m, _ := h.sold(t)
			raw, root := h.signedBlock(t, m, 1, h.proposer())
			if got := h.propose(t, raw); got.status != http.StatusAccepted {
				t.Fatalf("a good block: %s", got)
			}
			row.meanwhile(t, h, m)
			h.crashed(t)
			h.counts(t, fmt.Sprintf(`gavel_relay_payloads_withheld_total{reason="past-deadline"} %d`, row.late))
			h.crashed(t) // what is recorded once is not recorded again
			h.counts(t, `gavel_relay_payloads_withheld_total{reason="past-deadline"} 0`)
			h.isHead(root)
			h.begunNext(t)
			h.wantNoEnvelope(t)
		})
	}
}

// What a proposer wants and counts is known after a restart, though nobody says it again.
func TestWishesOutliveARestart(t *testing.T) {
	h := newRelayInGloas(t, onDisk(t))
	h.begun(t)
	h.taken(t, h.block(t, h.onGenesis(), 900))
	if got := h.prefers(t, h.wish(nil), 950); got.status != http.StatusAccepted {
		t.Fatalf("preferences: %s", got)
	}
	h.node.forgets()
	h.restart(t)
	h.announce(h.onGenesis())
	h.knows(t, h.onGenesis())
	h.taken(t, h.block(t, h.onGenesis(), 1000))
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a bid above the cap: %s", got)
	}
	h.taken(t, h.block(t, h.onGenesis(), 940))
	if m := h.bid(t, h.wish(nil)); m.ExecutionPayment != 940 {
		t.Errorf("bid %+v", m)
	}
}

// forgets has the node tell those who come nothing of what it has told before.
func (n *gloasNode) forgets() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = nil
}

// newInstancesInGloas runs two relays of one staked builder on one journal's cluster.
func newInstancesInGloas(t *testing.T) (a, b *relayInGloas) {
	t.Helper()
	nats := startCluster(t)
	a = newRelayInGloas(t, func(c *app.Config) { onCluster(c, nats.server.ClientURL()) })
	other := *a
	b = &other
	b.built += 1000 // no block is equal to one of a
	b.startRelay(t)
	t.Cleanup(func() { must(t, b.stopRelay()) })
	return a, b
}

// What one instance has taken of a builder another one sells, and a third delivers: any instance
// has all of the auction.
func TestAnyInstanceSellsAndReveals(t *testing.T) {
	a, b := newInstancesInGloas(t)
	a.begun(t)
	b.knows(t, b.onGenesis())
	a.taken(t, a.block(t, a.onGenesis(), 1000))
	poll(t, "the other instance bids", func() bool { return b.ask(t, b.wish(nil)).status == http.StatusOK })
	if got := a.prefers(t, a.wish(nil), 999); got.status != http.StatusAccepted {
		t.Fatalf("preferences: %s", got)
	}
	poll(t, "the other instance keeps the cap", func() bool {
		return b.ask(t, b.wish(nil)).status == http.StatusNoContent
	})
	if got := b.prefers(t, b.wish(nil), 1000); got.status != http.StatusAccepted {
		t.Fatalf("preferences: %s", got)
	}
	m := b.bid(t, b.wish(nil))
	if m.ExecutionPayment != 1000 {
		t.Errorf("bid %+v", m)
	}
	a.into(time.Second)
	raw, root := b.signedBlock(t, m, 1, b.proposer())
	for _, h := range []*relayInGloas{a, b} { // sidecars ask all relays
		if got := h.propose(t, raw); got.status != http.StatusAccepted {
			t.Fatalf("a good block: %s", got)
		}
	}
	a.isHead(root)
	a.wantEnvelope(t, root)
	poll(t, "the payload is listed as delivered", func() bool { return len(b.listed(t, deliveredPath)) > 0 })
}

// A second block at another instance leaves no payload at any, though each has seen one alone.
func TestEquivocationAtTwoInstances(t *testing.T) {
	a, b := newInstancesInGloas(t)
	m, _ := a.sold(t)
	first, root := a.signedBlock(t, m, 1, a.proposer())
	second, _ := a.signedBlock(t, m, 2, a.proposer())
	if got := a.propose(t, first); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	b.knows(t, b.onGenesis())
	b.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
	a.isHead(root)
	a.begunNext(t)
	a.wantNoEnvelope(t)
}

// An instance that ends after it has taken a block leaves the payload to the other one.
func TestInstanceThatDiesIsReplaced(t *testing.T) {
	a, b := newInstancesInGloas(t)
	root := a.tookBlock(t)
	must(t, a.stopRelay())
	b.knows(t, b.onGenesis())
	a.isHead(root)
	pause := a.clock.Now().Add(time.Second)
	a.clock.waiters(pause)
	a.clock.Set(pause)
	a.wantEnvelope(t, root)
}
