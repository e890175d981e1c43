package submit

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
)

// bounded gives the escrow room for some blocks of about one size, of which a listed builder has a
// quarter of three quarters.
func (h *pipelineUnderTest) bounded(blocks int, like *relay.Submission) {
	h.pipeline.escrowShares.bytes = int64(blocks * like.Contents().Size())
	h.pipeline.escrowShares.least = 1
}

// A builder that replaces its bids without end has its share of the escrow, and no more: its oldest
// payloads go, and neither what leads nor what was served, whoever's it is.
func TestManyBlocksTakeNobodysRoom(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	h.trustUpTo(2, 1_000_000)
	served := h.submission(1, 5000)
	served.Cancellable = true
	h.bounded(16, served) // three for each builder
	honest := h.submission(2, 100)
	h.accept(honest, accepted)
	h.accept(served, accepted)
	h.mu.Lock()
	h.needed = map[relay.PayloadID]bool{slots.PayloadOf(served.Trace): true}
	h.mu.Unlock()
	var last *relay.Submission
	for n := range 20 {
		for h.executeNext() {
		}
		last = h.submission(1, uint64(1000-n))
		last.Cancellable, last.ReceivedAt = true, served.ReceivedAt.Add(time.Duration(n+1)*time.Second)
		h.accept(last, accepted)
		h.deliverable(t, honest.Key())
	}
	h.top(last)
	kept := func(s *relay.Submission) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.escrowed[slots.PayloadOf(s.Trace)] != nil
	}
	if !kept(served) || !kept(honest) || !kept(last) {
		t.Errorf("kept: served %v, another builder's %v, leading %v; want all", kept(served), kept(honest), kept(last))
	}
	if len(h.escrowed) > 4 {
		t.Errorf("%d payloads are kept, want three of the one builder and one of the other", len(h.escrowed))
	}
}

// When nothing of a builder's can go, since it waits for its execution, the next is refused; a
// block that has gone may come again.
func TestBlocksThatHaveToStay(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	first := h.submission(1, 100)
	h.bounded(16, first)
	h.accept(first, accepted)
	for wei := range uint64(2) {
		h.accept(h.submission(1, 101+wei), accepted)
	}
	h.refuse(h.submission(1, 200), relay.SubmissionEscrowCrowded)
	for h.executeNext() {
	}
	better := h.submission(1, 300)
	h.accept(better, accepted)
	h.top(better)
	if h.escrowed[slots.PayloadOf(first.Trace)] != nil {
		t.Fatal("the oldest is still there")
	}
	again := h.at(first, 1, 400)
	h.accept(again, accepted)
	h.top(again)
}

// Strangers have half of the room together; when they fill it, the one who has most makes room, and
// listed builders have theirs.
func TestStrangersShareTheEscrow(t *testing.T) {
	r := escrowShares{bytes: 1600, least: 1} // 1,200: 600 for strangers, 150 for an address, 300 for a builder
	number := byte(0)
	add := func(sender string, stranger bool) string {
		number++
		if whose := r.over(sender, stranger, 50); whose != "" {
			return whose
		}
		r.add(relay.PayloadID{Slot: 1, BlockHash: phase0.Hash32{number}}, sender, stranger, 50)
		return ""
	}
	for sender, payloads := range map[string]int{"most": 3, "1": 2, "2": 2, "3": 2, "4": 2, "5": 1} {
		for range payloads {
			if whose := add(sender, true); whose != "" {
				t.Fatalf("%s has to go for %s", whose, sender)
			}
		}
	}
	for _, who := range []string{"most", "new", "5"} {
		if whose := add(who, true); whose != "most" {
			t.Errorf("%q has to go for %s, want the one who has most", whose, who)
		}
	}
	for range 6 {
		if whose := add("listed", false); whose != "" {
			t.Errorf("%s has to go for a listed builder", whose)
		}
	}
	if whose := add("listed", false); whose != "listed" {
		t.Errorf("%q has to go for a builder's seventh, want its own", whose)
	}
	r.close(2)
	if len(r.held) != 0 || len(r.holders) != 0 {
		t.Errorf("after the slot: %+v", r)
	}
}

// Whoever sends what, no sender has more than its share, and the books are right.
func TestRoomHolds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := escrowShares{bytes: rapid.Int64Range(1000, 5000).Draw(rt, "bytes"), least: 1}
		usable := r.bytes / 4 * 3
		for n := range rapid.IntRange(0, 200).Draw(rt, "payloads") {
			sender := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "sender")
			stranger := sender > "b"
			bytes := rapid.Int64Range(1, 100).Draw(rt, "size")
			id := relay.PayloadID{Slot: 1, BlockHash: phase0.Hash32{byte(n)}}
			for whose := r.over(sender, stranger, bytes); whose != ""; whose = r.over(sender, stranger, bytes) {
				r.remove(r.holders[whose].order[0])
			}
			r.add(id, sender, stranger, bytes)
			var all int64
			for name, h := range r.holders {
				var sum int64
				for _, id := range h.order {
					sum += r.held[id].bytes
				}
				share := usable / 4
				if h.stranger {
					share = usable / 8
				}
				if all += h.bytes; sum != h.bytes || h.bytes > max(share, 100) {
					rt.Fatalf("%s has %d bytes, counted %d, of %d", name, sum, h.bytes, share)
				}
			}
			if all > usable {
				rt.Fatalf("%d bytes of %d", all, usable)
			}
		}
	})
}
