package app_test

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// Whoever has no key at all makes no facts, however much he sends: what is refused before its signature was found right is counted only. What a builder
// with an API key sends is a fact, also when it is refused.
func TestStrangersMakeNoFacts(t *testing.T) {
	judged := make(chan relay.SubmissionJudged, 1000)
	h := open(t, eth.Capella, houseOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Observe = func(fact relay.Fact) {
			if f, ok := fact.(relay.SubmissionJudged); ok {
				judged <- f
			}
		}
	}})
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
		if strings.HasPrefix(f.Refusal, "submission-") {
			t.Errorf("a stranger's submission is a fact: %s", f.Refusal)
		}
	}
}
