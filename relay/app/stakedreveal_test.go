package app_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// blinded is the envelope of a bid in a block, signed by the bid's builder.
func (h *relayInGloas) blinded(t *testing.T, b *gloas.SignedBuilderBid,
	block phase0.Root) *gloas.SignedBlindedExecutionPayloadEnvelope {
	t.Helper()
	payloadRoot, err := gloas.Mainnet.ExecutionPayload.Root(b.Contents[0].ExecutionPayload)
	must(t, err)
	signed := &gloas.SignedBlindedExecutionPayloadEnvelope{Message: &gloas.BlindedExecutionPayloadEnvelope{
		PayloadRoot: payloadRoot, ExecutionRequestsRoot: b.Bid.Message.ExecutionRequestsRoot, BuilderIndex: otherIndex,
		BeaconBlockRoot: block, ParentBeaconBlockRoot: b.Bid.Message.ParentBlockRoot,
	}}
	h.signEnvelope(t, signed, otherKey)
	return signed
}

func (h *relayInGloas) signEnvelope(t *testing.T, e *gloas.SignedBlindedExecutionPayloadEnvelope, key *bls.SecretKey) {
	t.Helper()
	root, err := gloas.Mainnet.BlindedEnvelope.Root(e.Message)
	must(t, err)
	e.Signature = key.Sign(eth.SigningRoot(root, gloas.BuilderDomain(h.spec, h.slot)))
}

func (h *relayInGloas) sendEnvelope(t *testing.T, e *gloas.SignedBlindedExecutionPayloadEnvelope) answer {
	t.Helper()
	raw, err := gloas.Mainnet.SignedBlindedEnvelope.Encode(e)
	must(t, err)
	return h.post(t, envelopePath, sszHeader(eth.Gloas), raw)
}

func (h *relayInGloas) envelopeTaken(t *testing.T, e *gloas.SignedBlindedExecutionPayloadEnvelope) {
	t.Helper()
	if got := h.sendEnvelope(t, e); got.status != http.StatusAccepted || len(got.body) > 0 {
		t.Fatalf("a good envelope: %s", got)
	}
}

// soldStaked begins an auction in which a builder's bid is served, and returns the bid.
func (h *relayInGloas) soldStaked(t *testing.T, withPayload bool) *gloas.SignedBuilderBid {
	t.Helper()
	h.begun(t)
	b := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 1000)
	if withPayload {
		h.bidTaken(t, b)
	} else {
		b.Bid.Message.ExecutionPayment = 0
		h.signBid(t, b, otherKey)
		h.bidTaken(t, alone(b))
	}
	h.wantServed(t, b)
	h.into(time.Second)
	return b
}

func (h *relayInGloas) proposed(t *testing.T, raw []byte) {
	t.Helper()
	if got := h.propose(t, raw); got.status != http.StatusAccepted || len(got.body) > 0 {
		t.Fatalf("a good block: %s", got)
	}
}

// wantBuildersEnvelope waits for the envelope of a block, which must be the builder's.
func (h *relayInGloas) wantBuildersEnvelope(t *testing.T, b *gloas.SignedBuilderBid, root phase0.Root) {
	t.Helper()
	select {
	case raw := <-h.node.envelopes:
		contents, err := gloas.Mainnet.EnvelopeContents.Decode(raw)
		must(t, err)
		signed := contents.SignedExecutionPayloadEnvelope
		over, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(signed.Message)
		must(t, err)
		must(t, bls.Verify(otherKey.PublicKey(), eth.SigningRoot(over, gloas.BuilderDomain(h.spec, b.Bid.Message.Slot)),
			signed.Signature))
		if m := signed.Message; m.BeaconBlockRoot != root || m.BuilderIndex != otherIndex ||
			m.Payload.BlockHash != b.Bid.Message.BlockHash || len(contents.Blobs) != len(b.Contents[0].Blobs) {
			t.Errorf("envelope of block %#x", m.BeaconBlockRoot[:])
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no envelope")
	}
}

// The payload of a staked builder's bid is revealed under the builder's signature of the envelope,
// which may come before the block or after it, and never before the beacon nodes have the block.
func TestStakedPayloadIsRevealed(t *testing.T) {
	for name, before := range map[string]bool{"signed before the block": true, "signed after the block": false} {
		t.Run(name, func(t *testing.T) {
			h := newRelayInGloas(t, takingStakedBids)
			b := h.soldStaked(t, true)
			raw, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
			envelope := h.blinded(t, b, root)
			if before {
				h.envelopeTaken(t, envelope)
			}
			h.proposed(t, raw)
			h.proposed(t, raw)
			if !before {
				h.isHead(root)
				h.begunNext(t)
				h.slot--
				h.wantNoEnvelope(t) // the builder has not signed it
				h.envelopeTaken(t, envelope)
			} else {
				h.wantNoEnvelope(t) // no node has the block as its head
				h.isHead(root)
			}
			h.wantBuildersEnvelope(t, b, root)
			h.envelopeTaken(t, envelope) // the same again
			poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
			row, key := h.listed(t, deliveredPath)[0], otherKey.PublicKey()
			if row["value"] != "1700000000000" || row["builder_pubkey"] != key.String() {
				t.Errorf("delivered %v", row)
			}
			h.wantNoEnvelope(t)
		})
	}
}

// A block whose bid came without its payload is published, and the payload is left to its builder.
func TestPayloadIsLeftToItsBuilder(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	b := h.soldStaked(t, false)
	raw, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.proposed(t, raw)
	h.node.mu.Lock()
	if len(h.node.blocks) != 1 || string(h.node.blocks[0]) != string(raw) {
		t.Errorf("%d blocks were published", len(h.node.blocks))
	}
	h.node.mu.Unlock()
	h.counts(t, `gavel_relay_gloas_payloads_left_total{reason="bid-alone"} 1`)
	h.isHead(root)
	h.sendEnvelope(t, h.blinded(t, b, root)).wantRefusal(t, relay.StakedEnvelopeUnknown, "")
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a bid after the block: %s", got)
	}
	second, _ := h.signedBlock(t, b.Bid.Message, 2, h.proposer())
	h.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
	h.begunNext(t)
	h.wantNoEnvelope(t)
}

// A proposer that has signed two blocks gets no payload of a staked builder, whatever that signs.
func TestStakedPayloadIsNotForAnEquivocator(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	b := h.soldStaked(t, true)
	first, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	second, _ := h.signedBlock(t, b.Bid.Message, 2, h.proposer())
	h.proposed(t, first)
	h.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
	h.envelopeTaken(t, h.blinded(t, b, root))
	h.isHead(root)
	h.begunNext(t)
	h.wantNoEnvelope(t)
	h.counts(t, `gavel_relay_payloads_withheld_total{reason="equivocation"} 1`)
}

// A builder that does not sign the envelope of a payload that was sold has it to itself, and no
// alert fires. Its promises are not believed any more, also after a restart; its value is.
func TestEnvelopeThatIsNotSigned(t *testing.T) {
	h := newRelayInGloas(t, func(c *app.Config) { takingStakedBids(c); onDisk(t)(c) })
	b := h.soldStaked(t, true)
	raw, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.proposed(t, raw)
	h.isHead(root)
	h.begunNext(t)                          // the head has been heard in time
	for h.slot = 2; h.slot <= 4; h.slot++ { // the slot is over, and forgotten
		h.into(time.Second)
		h.isHead(phase0.Root{byte(h.slot)})
	}
	h.counts(t, `gavel_relay_gloas_payloads_left_total{reason="not-signed"} 1`)
	if h.contains(t, `gavel_relay_payloads_withheld_total{reason="past-deadline"} 1`) {
		t.Error("it counts as withheld by the relay")
	}
	h.wantNoEnvelope(t)
	h.slot = 6
	h.into(-time.Second)
	h.begun(t)
	for range 2 {
		promised := h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 1000)
		h.offer(t, promised).wantRefusal(t, relay.StakedBidPromise, "has not signed")
		must(t, h.stopRelay())
		h.startRelay(t)
		h.knows(t, h.onGenesis())
	}
	h.bidTaken(t, h.stakedBid(t, h.block(t, h.onGenesis(), 1000), 700, 0))
}

// A builder is not to blame if its block was never the head, or too late.
func TestEnvelopeOfABlockThatIsNotTheHead(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	b := h.soldStaked(t, true)
	h.into(5500 * time.Millisecond)
	raw, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.proposed(t, raw)
	h.isHead(root)
	for h.slot = 2; h.slot <= 4; h.slot++ {
		h.into(time.Second)
		h.isHead(phase0.Root{byte(h.slot)})
	}
	h.counts(t, `gavel_relay_gloas_payloads_left_total{reason="not-head"} 1`)
}

// An envelope that is not that of the bid is refused, whatever differs.
func TestWrongStakedEnvelopes(t *testing.T) {
	h := newRelayInGloas(t, takingStakedBids)
	b := h.soldStaked(t, true)
	_, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	type envelope = gloas.BlindedExecutionPayloadEnvelope
	for name, row := range map[string]struct {
		change  func(*envelope)
		key     *bls.SecretKey
		refusal relay.Refusal
	}{
		"another's signature": {func(*envelope) {}, stranger, relay.StakedEnvelopeWrong},
		"another payload":     {func(e *envelope) { e.PayloadRoot[0]++ }, otherKey, relay.StakedEnvelopeUnknown},
		"another builder":     {func(e *envelope) { e.BuilderIndex++ }, otherKey, relay.StakedEnvelopeUnknown},
		"other requests":      {func(e *envelope) { e.ExecutionRequestsRoot[0]++ }, otherKey, relay.StakedEnvelopeWrong},
		"another parent":      {func(e *envelope) { e.ParentBeaconBlockRoot[0]++ }, otherKey, relay.StakedEnvelopeWrong},
		"no block":            {func(e *envelope) { e.BeaconBlockRoot = phase0.Root{} }, otherKey, relay.StakedEnvelopeWrong},
	} {
		t.Run(name, func(t *testing.T) {
			e := h.blinded(t, b, root)
			row.change(e.Message)
			h.signEnvelope(t, e, row.key)
			h.sendEnvelope(t, e).wantRefusal(t, row.refusal, "")
		})
	}
	h.post(t, envelopePath, sszHeader(eth.Gloas), make([]byte, 231)).wantRefusal(t, relay.Malformed, "")
	h.post(t, envelopePath, sszHeader(eth.Gloas), make([]byte, 5000)).wantRefusal(t, relay.BodyTooLarge, "")
	for i := range 8 { // a builder may sign a few, since it cannot know which block becomes the head
		h.envelopeTaken(t, h.blinded(t, b, phase0.Root{byte(i + 1)}))
	}
	h.sendEnvelope(t, h.blinded(t, b, phase0.Root{0xee})).wantRefusal(t, relay.StakedBidTooMany, "")
	h.into(6 * time.Second)
	h.sendEnvelope(t, h.blinded(t, b, root)).wantRefusal(t, relay.PayloadTooLate, "")
}

// A relay that crashes between bid and block, and again between envelope and head, knows both after
// its restart.
func TestStakedBidOutlivesACrash(t *testing.T) {
	h := newRelayInGloas(t, func(c *app.Config) { takingStakedBids(c); onDisk(t)(c) })
	b := h.soldStaked(t, true)
	h.crashed(t)
	raw, root := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.proposed(t, raw)
	h.envelopeTaken(t, h.blinded(t, b, root))
	h.crashed(t)
	h.wantNoEnvelope(t)
	h.isHead(root)
	h.wantBuildersEnvelope(t, b, root)
}

// A bid that came alone is known after a crash, too.
func TestStakedBidAloneOutlivesACrash(t *testing.T) {
	h := newRelayInGloas(t, func(c *app.Config) { takingStakedBids(c); onDisk(t)(c) })
	b := h.soldStaked(t, false)
	h.crashed(t)
	h.into(-time.Second)
	h.knows(t, h.onGenesis())
	h.wantServed(t, b)
	h.into(time.Second)
	raw, _ := h.signedBlock(t, b.Bid.Message, 1, h.proposer())
	h.proposed(t, raw)
	h.counts(t, `gavel_relay_gloas_payloads_left_total{reason="bid-alone"} 1`)
}

// An instance that ends after it has taken a block leaves a staked builder's payload to the other
// one, which knows bid and signature by the journal.
func TestInstanceThatDiesLeavesStakedPayloads(t *testing.T) {
	nats := startCluster(t)
	a := newRelayInGloas(t, func(c *app.Config) { takingStakedBids(c); onCluster(c, nats.server.ClientURL()) })
	other := *a
	b := &other
	b.startRelay(t)
	t.Cleanup(func() { must(t, b.stopRelay()) })
	bid := a.soldStaked(t, true)
	raw, root := a.signedBlock(t, bid.Bid.Message, 1, a.proposer())
	a.proposed(t, raw)
	a.envelopeTaken(t, a.blinded(t, bid, root))
	must(t, a.stopRelay())
	b.knows(t, b.onGenesis())
	a.isHead(root)
	pause := a.clock.Now().Add(time.Second)
	a.clock.waiters(pause)
	a.clock.Set(pause)
	a.wantBuildersEnvelope(t, bid, root)
}

// What one instance has taken of a staked builder another one serves and reveals.
func TestAnyInstanceServesStakedBids(t *testing.T) {
	nats := startCluster(t)
	a := newRelayInGloas(t, func(c *app.Config) { takingStakedBids(c); onCluster(c, nats.server.ClientURL()) })
	other := *a
	b := &other
	b.startRelay(t)
	t.Cleanup(func() { must(t, b.stopRelay()) })
	a.begun(t)
	b.knows(t, b.onGenesis())
	bid := a.stakedBid(t, a.block(t, a.onGenesis(), 1000), 700, 1000)
	a.bidTaken(t, bid)
	poll(t, "the other instance serves the bid", func() bool { return b.ask(t, b.wish(nil)).status == http.StatusOK })
	b.wantServed(t, bid)
	a.into(time.Second)
	raw, root := b.signedBlock(t, bid.Bid.Message, 1, b.proposer())
	b.proposed(t, raw)
	a.isHead(root)
	a.envelopeTaken(t, a.blinded(t, bid, root)) // to the one that has not taken the block
	a.wantBuildersEnvelope(t, bid, root)
}
