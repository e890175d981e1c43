package submit

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// counting is a pipeline that writes no fact of what strangers send in vain; it returns how many
// were only counted.
func counting(t *testing.T) (h *pipelineUnderTest, unrecorded func() int) {
	h = newPipeline(t)
	n := 0
	h.pipeline.Unrecorded = func(relay.SubmissionJudged) { n++ }
	return h, func() int { return n }
}

// judgedFacts is how many submissions are facts.
func (h *pipelineUnderTest) judgedFacts() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fact := range h.facts {
		if _, is := fact.(relay.SubmissionJudged); is {
			n++
		}
	}
	return n
}

// A throwaway key's signature is right, and costs nothing. What it sends is a fact if it counts in
// the auction, and only counted otherwise.
func TestStrangersInVainAreNoFacts(t *testing.T) {
	h, unrecorded := counting(t)
	h.accept(h.submission(1, 200), accepted)
	if h.judgedFacts() != 1 || unrecorded() != 0 {
		t.Fatalf("a bid that counts: %d facts", h.judgedFacts())
	}
	low := h.submission(2, 100)
	for range 20 {
		h.accept(low, belowFloor)
	}
	low.Cancellable = true // there is nothing to take back
	h.accept(low, belowFloor)
	invalid := h.submission(2, 300)
	invalid.Payload.StateRoot[0] ^= 1
	if _, err := h.pipeline.Submit(t.Context(), invalid, nil); err == nil {
		t.Fatal("an invalid block was taken")
	}
	forged := h.submission(2, 300)
	forged.Signature[5] ^= 1
	if _, err := h.pipeline.Submit(t.Context(), forged, nil); err == nil {
		t.Fatal("a forged submission was taken")
	}
	if h.judgedFacts() != 1 || unrecorded() != 23 {
		t.Errorf("%d facts, %d counted", h.judgedFacts(), unrecorded())
	}
}

// A bid that counted may be taken back by one below the floor. That changes the auction, so it is a
// fact; a second one takes nothing back.
func TestStrangersCancellationIsAFact(t *testing.T) {
	h, unrecorded := counting(t)
	h.accept(h.submission(1, 200), accepted)
	high := h.submission(2, 300)
	high.Cancellable = true
	h.accept(high, accepted)
	h.top(high)
	for i, want := range []int{3, 3} {
		low := h.submission(2, 100)
		low.Cancellable, low.ReceivedAt = true, high.ReceivedAt.Add(1)
		h.accept(low, belowFloor)
		if h.judgedFacts() != want || unrecorded() != i {
			t.Errorf("after %d cancellations: %d facts, %d counted", i+1, h.judgedFacts(), unrecorded())
		}
	}
}

// What a listed builder, or one with an API key, sends is a fact whatever becomes of it.
func TestKnownBuildersAreFacts(t *testing.T) {
	h, unrecorded := counting(t)
	h.trust(2)
	h.accept(h.submission(1, 2000), accepted)
	h.accept(h.submission(2, 100), belowFloor)
	identified := h.submission(3, 100)
	identified.Identified = true
	h.accept(identified, belowFloor)
	if h.judgedFacts() != 3 || unrecorded() != 0 {
		t.Errorf("%d facts, %d counted", h.judgedFacts(), unrecorded())
	}
}

// Bids of strangers are facts up to a share of each slot, by key and by address, and beyond it if
// they lead. They count all the same. Others have no share.
func TestStrangersHaveAShareOfASlot(t *testing.T) {
	h, unrecorded := counting(t)
	h.trust(3)
	from := func(builder int, address string, wei uint64) *relay.Submission {
		s := h.submission(builder, wei)
		s.From, s.Cancellable = address, true // so that none of them is a floor
		return s
	}
	want := func(what string, s *relay.Submission, facts, counted int) {
		t.Helper()
		h.accept(s, accepted)
		if h.judgedFacts() != facts || unrecorded() != counted {
			t.Errorf("%s: %d facts, %d counted", what, h.judgedFacts(), unrecorded())
		}
	}
	want("the first bid", from(9, "c", 5000), 1, 0)
	mine := from(1, "a", 1000)
	for range keyShare {
		h.pipeline.factShares.add(mine)
	}
	want("a key that has had its share", from(1, "b", 1001), 1, 1)
	want("another address", from(5, "b", 1002), 2, 1)
	want("a bid that leads", from(1, "b", 6000), 3, 1)
	want("a listed builder", from(3, "a", 1003), 4, 1)
	h.pipeline.Close(phase0.Slot(2))
	if len(h.pipeline.factShares.slots) != 0 {
		t.Error("a slot that is over is remembered")
	}
}

// Keys are cheap: those of one address share its share.
func TestStrangersOfAnAddressShareItsShare(t *testing.T) {
	var sh factShares
	within := 0
	for i := range 2 * addressShare {
		s := &relay.Submission{Trace: new(relay.BidTrace), From: "a"}
		s.Trace.Slot, s.Trace.BuilderPubkey = 7, phase0.BLSPubKey{byte(i), byte(i >> 8)}
		if sh.add(s) {
			within++
		}
	}
	other := &relay.Submission{Trace: new(relay.BidTrace), From: "b"}
	other.Trace.Slot = 7
	next := &relay.Submission{Trace: new(relay.BidTrace), From: "a"}
	next.Trace.Slot = 8
	if within != addressShare || !sh.add(other) || !sh.add(next) {
		t.Errorf("%d of an address were within its share", within)
	}
}
