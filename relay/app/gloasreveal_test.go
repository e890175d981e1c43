package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// signedBlock is the proposer's block with a bid, under the signature that the proposer was given
// last, and its root.
func (h *relayInGloas) signedBlock(t testing.TB, m *gloas.ExecutionPayloadBid, graffiti byte,
	key *bls.SecretKey) ([]byte, phase0.Root) {
	t.Helper()
	block := &gloas.BeaconBlock{
		Slot: h.slot, ProposerIndex: h.validator(), ParentRoot: m.ParentBlockRoot,
		Body: &gloas.BeaconBlockBody{
			ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, Graffiti: [32]byte{graffiti},
			SyncAggregate:             &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
			SignedExecutionPayloadBid: &gloas.SignedExecutionPayloadBid{Message: m, Signature: h.given},
			ParentExecutionRequests:   &gloas.ExecutionRequests{},
		},
	}
	root, err := gloas.Mainnet.BeaconBlock.Root(block)
	must(t, err)
	signed := &gloas.SignedBeaconBlock{Message: block,
		Signature: key.Sign(eth.SigningRoot(root, h.spec.ProposerDomain(h.slot)))}
	raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(signed)
	must(t, err)
	return raw, root
}

func (h *relayInGloas) proposer() *bls.SecretKey { return h.node.key(h.validator()) }

func (h *relayInGloas) propose(t testing.TB, raw []byte) answer {
	t.Helper()
	return h.post(t, "/eth/v1/builder/beacon_blocks", sszHeader(eth.Gloas), raw)
}

// isHead has the beacon node tell of a head in the auction's slot.
func (h *relayInGloas) isHead(root phase0.Root) {
	h.node.tell("head_v2", fmt.Sprintf(`{"version":"gloas","data":{"slot":"%d","block":"%#x","state":"%#x",`+
		`"payload_status":"empty","epoch_transition":false,"current_epoch_dependent_root":"%#x",`+
		`"next_epoch_dependent_root":"%#x","execution_optimistic":false}}`, h.slot, root[:], root[:], make([]byte, 32),
		make([]byte, 32)))
}

// sold begins an auction and returns the bid that the proposer was given, with its block.
func (h *relayInGloas) sold(t testing.TB) (*gloas.ExecutionPayloadBid, *gloas.SignedBidSubmissionV6) {
	t.Helper()
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	h.taken(t, s)
	m := h.bid(t, h.wish(nil))
	h.into(time.Second)
	return m, s
}

func (h *relayInGloas) wantNoEnvelope(t testing.TB) {
	t.Helper()
	if len(h.node.envelopes) != 0 {
		t.Error("an envelope has left the relay")
	}
}

// withOperator opens the API that has the metrics.
func withOperator(c *app.Config) { c.AdminToken = operatorToken }

// A proposer's block is published, and when the beacon nodes have it the payload follows once, with
// its blobs, signed by the relay's builder.
func TestPayloadIsRevealed(t *testing.T) {
	h := newRelayInGloas(t, withOperator)
	m, s := h.sold(t)
	raw, root := h.signedBlock(t, m, 1, h.proposer())
	for range 2 {
		if got := h.propose(t, raw); got.status != http.StatusAccepted || len(got.body) > 0 {
			t.Fatalf("a good block: %s", got)
		}
	}
	h.wantNoEnvelope(t) // no beacon node has the block as its head
	h.isHead(root)
	var envelope []byte
	select {
	case envelope = <-h.node.envelopes:
	case <-time.After(30 * time.Second):
		t.Fatal("no envelope")
	}
	h.node.mu.Lock()
	if len(h.node.blocks) != 1 || string(h.node.blocks[0]) != string(raw) {
		t.Errorf("%d blocks were published", len(h.node.blocks))
	}
	h.node.mu.Unlock()
	contents, err := gloas.Mainnet.EnvelopeContents.Decode(envelope)
	must(t, err)
	signed := contents.SignedExecutionPayloadEnvelope
	e := signed.Message
	over, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(e)
	must(t, err)
	must(t, bls.Verify(stakedKey.PublicKey(), eth.SigningRoot(over, gloas.BuilderDomain(h.spec, h.slot)),
		signed.Signature))
	want, err := gloas.Mainnet.ExecutionPayload.Root(s.ExecutionPayload)
	must(t, err)
	have, err := gloas.Mainnet.ExecutionPayload.Root(e.Payload)
	must(t, err)
	if have != want || e.BuilderIndex != stakedIndex || e.BeaconBlockRoot != root ||
		e.ParentBeaconBlockRoot != m.ParentBlockRoot || len(contents.Blobs) != 1 ||
		contents.Blobs[0] != s.BlobsBundle.Blobs[0] {
		t.Errorf("envelope of block %#x", e.BeaconBlockRoot[:])
	}
	poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
	h.counts(t, "gavel_relay_gloas_reveal_seconds_count 1")
	h.counts(t, `gavel_relay_gloas_bids_total{result="bid"} 2`)
	h.counts(t, "gavel_relay_gloas_may_bid 1")
	// Nothing more is sold for the slot.
	if got := h.ask(t, h.wish(nil)); got.status != http.StatusNoContent {
		t.Errorf("a bid after the delivery: %s", got)
	}
	h.isHead(root)
	h.wantNoEnvelope(t)
}

// A proposer of two blocks gets no payload, in whatever way the second one becomes known.
func TestEquivocatorGetsNoPayload(t *testing.T) {
	h := newRelayInGloas(t, nil)
	m, _ := h.sold(t)
	first, root := h.signedBlock(t, m, 1, h.proposer())
	second, _ := h.signedBlock(t, m, 2, h.proposer())
	if got := h.propose(t, first); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	h.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
	h.isHead(root)
	h.begunNext(t) // the head has been heard when blocks of the slot after it are taken
	h.wantNoEnvelope(t)
}

// imported has the beacon node tell of a block in the auction's slot that does not become the head.
func (h *relayInGloas) imported(root phase0.Root) {
	h.node.tell("block", fmt.Sprintf(`{"slot":"%d","block":"%#x","execution_optimistic":false}`, h.slot, root[:]))
}

// A proposer that has signed another block, which only the beacon nodes have seen and none has as
// its head, gets no payload: whether they saw it before the relay got its own, or after.
func TestBlockBesideTheHeadKeepsThePayload(t *testing.T) {
	for name, before := range map[string]bool{"seen before": true, "seen after": false} {
		t.Run(name, func(t *testing.T) {
			h := newRelayInGloas(t, withOperator)
			m, _ := h.sold(t)
			raw, root := h.signedBlock(t, m, 1, h.proposer())
			_, other := h.signedBlock(t, m, 2, h.proposer())
			if before {
				h.imported(other)
				h.begunNext(t) // what was told before is heard
				h.slot--
			}
			if got := h.propose(t, raw); got.status != http.StatusAccepted {
				t.Fatalf("a good block: %s", got)
			}
			if !before {
				h.imported(other)
			}
			h.isHead(root)
			h.begunNext(t)
			h.counts(t, `gavel_relay_payloads_withheld_total{reason="equivocation"} 1`)
			h.wantNoEnvelope(t)
		})
	}
}

// The block of the head is told of as a block too, and that is no second one.
func TestBlockOfTheHeadIsNoSecondOne(t *testing.T) {
	h := newRelayInGloas(t, nil)
	m, _ := h.sold(t)
	raw, root := h.signedBlock(t, m, 1, h.proposer())
	h.imported(root)
	if got := h.propose(t, raw); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	h.imported(root)
	h.isHead(root)
	h.wantEnvelope(t, root)
}

// tookBlock sells a block, and returns its root after the relay has taken the proposer's block.
func (h *relayInGloas) tookBlock(t testing.TB) phase0.Root {
	t.Helper()
	m, _ := h.sold(t)
	raw, root := h.signedBlock(t, m, 1, h.proposer())
	if got := h.propose(t, raw); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	return root
}

func (n *gloasNode) refuseEnvelopes(times int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refusals = times
}

// asked returns how many envelopes the node was sent.
func (n *gloasNode) asked() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sent
}

// retries moves the clock to the next attempt, when the relay waits for it.
func (h *relayInGloas) retries(times int) {
	for range times {
		next := h.clock.Now().Add(200 * time.Millisecond)
		h.clock.waiters(next)
		h.clock.Set(next)
	}
}

// A node that refuses an envelope is asked again, until it takes it.
func TestEnvelopeIsTriedAgain(t *testing.T) {
	h := newRelayInGloas(t, nil)
	root := h.tookBlock(t)
	h.node.refuseEnvelopes(2)
	h.isHead(root)
	h.retries(2)
	select {
	case <-h.node.envelopes:
	case <-time.After(30 * time.Second):
		t.Fatal("no envelope")
	}
	if asked := h.node.asked(); asked != 3 {
		t.Errorf("%d requests, want 3", asked)
	}
	poll(t, "the payload is listed as delivered", func() bool { return len(h.listed(t, deliveredPath)) == 1 })
}

// An envelope that nodes refuse until the payload's deadline is not sent after it.
func TestEnvelopeIsNotTriedAfterTheDeadline(t *testing.T) {
	h := newRelayInGloas(t, withOperator)
	root := h.tookBlock(t)
	h.node.refuseEnvelopes(1000)
	h.into(5500 * time.Millisecond)
	h.isHead(root)
	h.retries(3) // at 5.5, 5.7, 5.9 and 6.1 s, which is too late
	h.begunNext(t)
	if asked := h.node.asked(); asked != 3 {
		t.Errorf("%d requests, want 3", asked)
	}
	h.wantNoEnvelope(t)
	h.counts(t, `gavel_relay_payloads_withheld_total{reason="past-deadline"} 1`)
}

// counts waits until a metric of the relay has a value.
func (h *relayInGloas) counts(t testing.TB, metric string) {
	t.Helper()
	poll(t, metric, func() bool { return strings.Contains(string(h.admin(t, "GET /metrics", "").body), metric+"\n") })
}

// A second block of the proposer ends the attempts.
func TestEnvelopeIsNotTriedForAnEquivocator(t *testing.T) {
	h := newRelayInGloas(t, withOperator)
	m, _ := h.sold(t)
	first, root := h.signedBlock(t, m, 1, h.proposer())
	second, _ := h.signedBlock(t, m, 2, h.proposer())
	if got := h.propose(t, first); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	h.node.refuseEnvelopes(1)
	h.isHead(root)
	h.clock.waiters(h.clock.Now().Add(200 * time.Millisecond))
	h.propose(t, second).wantRefusal(t, relay.PayloadOther, "")
	h.retries(1)
	h.begunNext(t)
	if asked := h.node.asked(); asked != 1 {
		t.Errorf("%d requests, want 1", asked)
	}
	h.wantNoEnvelope(t)
	h.counts(t, `gavel_relay_payloads_withheld_total{reason="equivocation"} 1`)
}

// begunNext waits until the relay has heard of the auction of the next slot, and of all before.
func (h *relayInGloas) begunNext(t testing.TB) {
	t.Helper()
	h.slot++
	h.announce(h.onGenesis())
	h.prefer(t, 1, nil)
	h.knows(t, h.onGenesis())
}

// A block that is not the proposer's, or has no bid of the relay, or comes too late, is refused by
// name and published nowhere.
func TestBlocksThatAreNotPublished(t *testing.T) {
	h := newRelayInGloas(t, nil)
	m, _ := h.sold(t)
	foreign, _ := h.signedBlock(t, m, 1, stranger)
	h.propose(t, foreign).wantRefusal(t, relay.PayloadSignature, "")
	other := *m
	other.ExecutionPayment++
	changed, _ := h.signedBlock(t, &other, 1, h.proposer())
	h.propose(t, changed).wantRefusal(t, relay.PayloadUnknown, "")
	h.propose(t, []byte{1, 2, 3}).wantRefusal(t, relay.Malformed, "")
	raw, _ := h.signedBlock(t, m, 1, h.proposer())
	h.post(t, "/eth/v1/builder/beacon_blocks", http.Header{"Content-Type": {"application/octet-stream"}}, raw).
		wantRefusal(t, relay.UnknownFork, "")
	h.into(6 * time.Second)
	h.propose(t, raw).wantRefusal(t, relay.PayloadTooLate, "")
	h.node.mu.Lock()
	defer h.node.mu.Unlock()
	if len(h.node.blocks) != 0 {
		t.Errorf("%d blocks were published", len(h.node.blocks))
	}
}
