package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// newTrustingInGloas is a relay in gloas that trusts a builder with 10,000 Gwei, and whose
// executions tests can hold.
func newTrustingInGloas(t *testing.T) *relayInGloas {
	t.Helper()
	gated := &gate{}
	h := newRelayInGloas(t, func(c *app.Config) {
		trusting(c)
		c.Builders[0].CollateralWei = wei(10_000)
		gated.Validator, c.Validator = c.Validator, gated
	})
	h.gate = gated
	return h
}

// demoted waits for the demotion of a block's builder, whose evidence is the whole block.
func (h *relayInGloas) demoted(t testing.TB, s *gloas.SignedBidSubmissionV6, delivered bool) {
	t.Helper()
	poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
	d := h.demotions(t)[0]
	if d.BlockHash != s.Message.BlockHash || d.Delivered != delivered || d.Signature != s.Signature {
		t.Errorf("%+v", d)
	}
	kept := h.admin(t, "GET /admin/v1/demotions/"+s.Message.BlockHash.String()+"/submission", "")
	kept.wantStatus(t, http.StatusOK)
	block, err := gloas.Mainnet.SignedBidSubmissionV6.Decode(kept.body)
	must(t, err)
	if string(block.ExecutionPayload.BlockAccessList) != string(s.ExecutionPayload.BlockAccessList) ||
		len(block.BlobsBundle.Blobs) != len(s.BlobsBundle.Blobs) {
		t.Error("the evidence is another block")
	}
	if got := string(h.admin(t, "GET /metrics", "").body); !strings.Contains(got,
		`gavel_relay_demotions_total{builder="alpha"`) {
		t.Error("no metric counts the demotion")
	}
}

// A trusted builder's block is bid before it is executed; above its collateral it is executed
// first.
func TestOptimisticModeInGloas(t *testing.T) {
	h := newTrustingInGloas(t)
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	held := h.gate.hold(s.Message.BlockHash)
	h.taken(t, s)
	if m := h.bid(t, h.wish(nil)); m.BlockHash != phase0.Hash32(s.Message.BlockHash) {
		t.Errorf("bid %+v", m)
	}
	<-held.arrived
	close(held.open)
	poll(t, "the execution is a fact", func() bool {
		return strings.Contains(string(h.admin(t, "GET /metrics", "").body),
			`gavel_relay_trusted_blocks_executed_total{builder="alpha",class="valid"} 1`)
	})
	dear := h.block(t, h.onGenesis(), 20_000)
	dear.Message.Value = new(uint256.Int).AddUint64(dear.Message.Value, 1)
	h.sign(dear)
	h.post(t, submitPath, sszHeader(eth.Gloas), h.ssz(t, dear)).wantRefusal(t, relay.SubmissionInvalid, "")
	if got := len(h.demotions(t)); got != 0 {
		t.Errorf("%d demotions for a block that was executed first", got)
	}
}

// A trusted builder's block with a wrong access list, or with blobs that its proofs do not fit,
// demotes it: its bid is gone, and the evidence is kept. The right payload under the same hash
// cannot cover it.
func TestWrongBlockDemotesInGloas(t *testing.T) {
	for name, spoil := range map[string]func(*gloas.SignedBidSubmissionV6){
		"access list": func(s *gloas.SignedBidSubmissionV6) { s.ExecutionPayload.BlockAccessList = []byte{0xc0} },
		"blobs":       func(s *gloas.SignedBidSubmissionV6) { s.BlobsBundle.Blobs[0][1] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingInGloas(t)
			h.begun(t)
			right := h.block(t, h.onGenesis(), 1000)
			wrong, err := gloas.Mainnet.SignedBidSubmissionV6.Decode(h.ssz(t, right))
			must(t, err)
			spoil(wrong)
			held := h.gate.hold(wrong.Message.BlockHash)
			h.taken(t, wrong)
			h.bid(t, h.wish(nil))
			h.post(t, submitPath, sszHeader(eth.Gloas), h.ssz(t, right)).wantRefusal(t, relay.SubmissionOtherPayload, name)
			<-held.arrived
			close(held.open)
			h.demoted(t, wrong, false)
			poll(t, "its bid is gone", func() bool { return h.ask(t, h.wish(nil)).status == http.StatusNoContent })
		})
	}
}

// A wrong block that was sold demotes its builder as one that was delivered.
func TestSoldWrongBlockDemotes(t *testing.T) {
	h := newTrustingInGloas(t)
	h.begun(t)
	s := h.block(t, h.onGenesis(), 1000)
	s.ExecutionPayload.BlockAccessList = []byte{0xc0}
	held := h.gate.hold(s.Message.BlockHash)
	h.taken(t, s)
	m := h.bid(t, h.wish(nil))
	h.into(time.Second)
	raw, _ := h.signedBlock(t, m, 1, h.proposer())
	if got := h.propose(t, raw); got.status != http.StatusAccepted {
		t.Fatalf("a good block: %s", got)
	}
	<-held.arrived
	close(held.open)
	h.demoted(t, s, true)
}

// Other blobs under the hash of a block that came before are refused in older forks, too.
func TestOtherBlobsUnderOneHash(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	s := h.worth(t, 0, 1000)
	if len(s.blobs.Blobs) == 0 {
		t.Fatal("the block has no blobs")
	}
	held := h.gate.hold(s.payload.BlockHash)
	h.submitted(t, s)
	other, bundle := *s, *s.blobs
	bundle.Blobs = append(bundle.Blobs[:0:0], bundle.Blobs...)
	bundle.Blobs[0][1] ^= 1
	other.blobs = &bundle
	h.submit(t, &other).wantRefusal(t, relay.SubmissionOtherPayload, "the blobs differ")
	<-held.arrived
	close(held.open)
}
