package app_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// Strangers make no facts, however much they send, unless a bid of theirs counts: a forged
// signature, and the right one of a key that nobody knows, cost nothing. What a builder with an API
// key sends is a fact, also when it is refused.
func TestStrangersMakeNoFacts(t *testing.T) {
	judged := make(chan relay.SubmissionJudged, 1000)
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Observe = func(fact relay.Fact) {
			if f, ok := fact.(relay.SubmissionJudged); ok {
				judged <- f
			}
		}
	}})
	counts := h.worth(t, 1, 1000)
	h.submitFinal(t, counts).wantStatus(t, http.StatusOK)
	low := h.worth(t, 1, 500)
	for range 50 {
		h.submitFinal(t, low).wantStatus(t, http.StatusAccepted)
	}
	forged := h.worth(t, 1, 1000)
	forged.trace.Value.AddUint64(forged.trace.Value, 1) // signed before
	past := h.worth(t, 1, 1000)
	past.trace.Slot = 0
	past.sign()
	for range 50 {
		h.submit(t, forged).wantRefusal(t, relay.SubmissionSignature, "")
		h.submit(t, past).wantRefusal(t, relay.SubmissionPastSlot, "")
	}
	keyed := h.worth(t, 0, 1000)
	keyed.trace.Slot = 0
	keyed.sign()
	h.post(t, submitPath, withKey(sszHeader(h.fork)), keyed.ssz(t)).wantRefusal(t, relay.SubmissionPastSlot, "")
	for f := range judged { // in the order of the journal: the last is the builder's
		if f.Builder == keyed.trace.BuilderPubkey && f.Refusal != "" {
			if f.Refusal != relay.SubmissionPastSlot.ID {
				t.Errorf("%+v", f)
			}
			break
		}
		if f.Builder == counts.trace.BuilderPubkey && f.BlockHash != counts.trace.BlockHash {
			t.Errorf("a stranger's submission is a fact: %+v", f)
		}
	}
}

// Ten thousand requests for one header, of anybody, are two facts, and both together say how many
// there were.
func TestRepeatedHeadersAreTwoFacts(t *testing.T) {
	var served []relay.HeaderServed // the journal's goroutine writes, the test reads after its end
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		c.Observe = func(fact relay.Fact) {
			if f, ok := fact.(relay.HeaderServed); ok {
				served = append(served, f)
			}
		}
	}})
	s := h.worth(t, 1, 1000)
	h.submitted(t, s)
	h.into(0)
	const requests = 10_000
	servetest.Send(t, strings.TrimPrefix(h.relayURL, "http://"), 8, "",
		servetest.Times(requests,
			[]byte("GET "+h.headerPath()+" HTTP/1.1\r\nHost: relay\r\nAccept: application/octet-stream\r\n\r\n")))
	must(t, h.stopRelay())
	if len(served) != 2 || served[0].Count() != 1 || served[1].Count() != requests-1 {
		t.Fatalf("%d headers were served as %+v", requests, served)
	}
	for _, f := range served {
		if f.BlockHash != s.trace.BlockHash || f.Slot != h.slot || f.ValueWei.Uint64() != 1000 {
			t.Errorf("%+v", f)
		}
	}
}
