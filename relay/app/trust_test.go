package app_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/wire"
)

const (
	alphasAPIKey  = "the API key of alpha"
	operatorToken = "the token of the operator"
)

// trusting lets the first builder bid before its block is executed, up to a million wei.
func trusting(c *app.Config) {
	key := phase0.Hash32(sha256.Sum256([]byte(alphasAPIKey)))
	c.AdminToken = operatorToken
	c.Builders = []relay.Builder{{
		Name: "alpha", Pubkeys: []phase0.BLSPubKey{builderKeys[0].PublicKey()}, APIKeyHash: &key, Optimistic: true,
		HeaderFirst:   true,
		CollateralWei: uint256.NewInt(1_000_000),
	}}
}

// admin asks the operator's API.
func (h *relayUnderTest) admin(t testing.TB, request, body string) answer {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	if h.operatorsURL != "" {
		there := *h
		there.relayURL = h.operatorsURL
		return there.do(t, method, path, http.Header{"Authorization": {"Bearer " + operatorToken}}, []byte(body))
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+operatorToken)
	recorded := httptest.NewRecorder()
	h.app.Admin().ServeHTTP(recorded, r)
	return answer{recorded.Code, recorded.Header(), recorded.Body.Bytes()}
}

// withKey adds alpha's API key.
func withKey(header http.Header) http.Header {
	header.Set("X-Api-Key", alphasAPIKey)
	return header
}

// demotions are the listed ones.
func (h *relayUnderTest) demotions(t testing.TB) (list []relay.BuilderDemoted) {
	t.Helper()
	got := h.admin(t, "GET /admin/v1/demotions", "")
	must(t, json.Unmarshal(got.body, &list))
	return list
}

// A builder that is trusted has its answer, and the proposers its bid, while its block waits to be
// executed. Deployed relays hold the answer until the simulation and the database are through.
func TestOptimisticMode(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	t.Run("the answer does not wait for the execution", func(t *testing.T) {
		s := h.worth(t, 0, 1000)
		held := h.gate.hold(s.payload.BlockHash)
		h.submitted(t, s)
		h.wantTop(t, s)
		close(held.open)
		<-held.arrived
	})
	t.Run("the payload is delivered while the block waits to be executed, and it is executed all the same",
		func(t *testing.T) {
			s := h.worth(t, 0, 2000)
			held := h.gate.hold(s.payload.BlockHash)
			h.deliver(t, s)
			close(held.open)
			<-held.arrived
		})
	h.next(t)
	t.Run("an invalid block demotes, with evidence, and its bids are taken back", func(t *testing.T) {
		honest := h.worth(t, 1, 500)
		h.submitted(t, honest)
		bad := h.worth(t, 0, 1000)
		bad.trace.Value = uint256.NewInt(900_000) // promised, not paid
		bad.sign()
		held := h.gate.hold(bad.payload.BlockHash)
		h.submitted(t, bad)
		h.wantTop(t, bad)
		close(held.open)
		poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
		poll(t, "the honest bid leads", func() bool {
			b := h.header(t)
			return b != nil && b.Data.Message.Value == "500"
		})
		if d := h.demotions(t)[0]; d.Name != "alpha" || d.Rule != "payment" || d.BlockHash != bad.payload.BlockHash {
			t.Errorf("%+v", d)
		}
		evidence := h.admin(t, fmt.Sprintf("GET /admin/v1/demotions/%#x/submission", bad.payload.BlockHash[:]), "")
		if kept, err := wire.DecodeSubmission(h.fork, wire.SSZ, evidence.body); err != nil ||
			kept.Trace.BlockHash != bad.payload.BlockHash {
			t.Errorf("evidence: %s, %v", evidence, err)
		}
	})
	t.Run("what it sends then is executed first", func(t *testing.T) {
		bad := h.worth(t, 0, 1000)
		bad.trace.Value = uint256.NewInt(2000)
		bad.sign()
		h.submit(t, bad).wantRefusal(t, relay.SubmissionInvalid, "payment")
	})
}

// header is the submission's header alone, in SSZ.
func (s *submission) header(t testing.TB) []byte {
	t.Helper()
	made, err := payload.HeaderOf(s.fork, s.payload)
	must(t, err)
	raw, err := wire.EncodeHeaderSubmission(wire.SSZ, &relay.HeaderSubmission{
		Fork: s.fork, Trace: s.trace, Header: made, Commitments: s.blobs.Commitments, Requests: s.requests,
		Signature: s.signature,
	})
	must(t, err)
	return raw
}

// The header leads before its payload is here; a proposer that asks too early waits for it; one
// that never comes demotes.
func TestHeaderFirst(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	h.into(0)
	s := h.worth(t, 0, 1000)
	h.post(t, "/relay/v1/builder/headers?cancellations=1", sszHeader(h.fork), s.header(t)).wantRefusal(t,
		relay.APIKeyNeeded, "")
	h.post(t, "/relay/v1/builder/headers?cancellations=1", withKey(sszHeader(h.fork)), s.header(t)).wantStatus(t,
		http.StatusOK)
	h.wantTop(t, s)
	answered := h.goReveal(t, v2Path, h.blind(t, h.header(t)))
	h.submitted(t, s)
	if got := <-answered; got.status != http.StatusAccepted {
		t.Errorf("%s", got)
	}
	h.next(t)
	never := h.worth(t, 0, 1000)
	h.post(t, headersPath, withKey(sszHeader(h.fork)), never.header(t)).wantStatus(t, http.StatusOK)
	h.wantTop(t, never)
	h.clock.Set(h.clock.Now().Add(time.Second)) // HeaderPayloadTimeout
	poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
	poll(t, "nothing is served", func() bool { return h.header(t) == nil })
	if d := h.demotions(t)[0]; d.Rule != relay.DemotedWithheld {
		t.Errorf("%+v", d)
	}
}

// What a proposer signed for is what is listed, and beside it what it got: a block that pays 1,000
// is here already when a trusted builder offers its header at 900,000. The proposer takes that; the
// builder is demoted for it.
func TestDeliveryIsListedAtTheValueThatWasSignedFor(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	h.into(0)
	honest, block := h.worth(t, 1, 500_000), h.worth(t, 1, 1000)
	h.submitted(t, block)
	h.submitted(t, honest)
	bluff := *block
	trace := *block.trace
	bluff.trace, bluff.key = &trace, builderKeys[0]
	bluff.trace.Value = uint256.NewInt(900_000)
	bluff.sign()
	held := h.gate.hold(block.payload.BlockHash)
	h.post(t, headersPath, withKey(sszHeader(h.fork)), bluff.header(t)).wantStatus(t, http.StatusOK)
	h.wantTop(t, &bluff)
	if got := h.reveal(t, v2Path, h.blind(t, h.header(t))); got.status != http.StatusAccepted {
		t.Fatalf("deliver: %s", got)
	}
	h.submitted(t, &bluff) // the header's own payload
	close(held.open)
	poll(t, "the builder is demoted", func() bool { return len(h.demotions(t)) == 1 })
	if d := h.demotions(t)[0]; d.Name != "alpha" || d.Rule != "payment" || !d.Delivered || !d.ValueWei.Eq(trace.Value) {
		t.Errorf("%+v", d)
	}
	var list []struct {
		Value         string `json:"value"`
		ValuePaid     string `json:"value_paid"`
		BuilderPubkey string `json:"builder_pubkey"`
	}
	poll(t, "the delivery is listed with what was paid", func() bool {
		must(t, json.Unmarshal(h.get(t, deliveredPath, nil).body, &list))
		return len(list) == 1 && list[0].ValuePaid != ""
	})
	if got := list[0]; got.Value != "900000" || got.ValuePaid != "1000" ||
		got.BuilderPubkey != builderKeys[0].PublicKey().String() {
		t.Errorf("listed as %+v, want alpha's 900000 with 1000 paid", got)
	}
}
