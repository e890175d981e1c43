package builder

import (
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeFailures adds specs about relays that fail: what one does wrong takes nothing from the
// others, and nothing from itself in later slots.
func describeFailures(s *suite.Set) {
	s.Slow("BLD-REL-01", "bids at each relay that lists the proposer", func(t *suite.T) {
		slot, stop := claim(t)
		defer stop()
		waitSlotOver(t, slot)
		checkSubmittedTo(t, slot, 1, t.Auctions.All...)
	})
	for _, row := range []struct {
		clause, title string
		answer        scripted.Answer
	}{
		{"BLD-REL-02", "refuses", scripted.Refuse(http.StatusBadRequest)},
		{"BLD-REL-02", "has enough of it", scripted.Refuse(http.StatusTooManyRequests)},
		{"BLD-REL-02", "fails", scripted.Refuse(http.StatusInternalServerError)},
		{"BLD-REL-02", "is not available", scripted.Refuse(http.StatusServiceUnavailable)},
		{"BLD-REL-02", "closes the connection", scripted.HangUp},
		{"BLD-REL-02", "answers garbage", scripted.Raw(http.StatusOK, jsonType, "", []byte("<html>busy"))},
		{"BLD-REL-03", "keeps silent", scripted.Hang},
		{"BLD-REL-03", "takes half a slot to answer", scripted.HalfASlotLater},
	} {
		s.Slow(row.clause, "goes on bidding elsewhere while a relay "+row.title, func(t *suite.T) {
			a := t.Auctions
			usual, stop := claim(t)
			defer stop()
			slot, stopToo := claim(t)
			defer stopToo()
			defer a.All[1].OnSlot(slot, row.answer)()
			waitSlotOver(t, max(usual, slot))
			// what counts is that bids go on, not how many a strategy makes
			checkSubmittedTo(t, slot, min(2, len(a.For(a.All[0], usual))), a.All[0], a.All[2])
		})
	}
	for _, row := range []struct {
		title  string
		answer scripted.Answer
	}{
		{"has failed", scripted.Refuse(http.StatusInternalServerError)},
		{"has closed connections", scripted.HangUp},
		{"has kept silent", scripted.Hang},
	} {
		s.Slow("BLD-REL-04", "bids in a later slot at a relay that "+row.title, func(t *suite.T) {
			a := t.Auctions
			slot, stop := claim(t)
			defer stop()
			defer a.All[2].OnSlot(slot, row.answer)()
			waitSlotOver(t, slot)
			checkSubmittedTo(t.Preparing(), slot, 1, a.All[2])
			for later := slot + 1; later <= slot+patience(a); later++ {
				waitSlotOver(t, later)
				if len(a.For(a.All[2], later)) > 0 {
					return
				}
			}
			t.Check(false, "a submission at relay c in one of the slots after the failure", "none")
		})
	}
	for _, row := range []struct {
		title  string
		answer func(over <-chan struct{}) scripted.Answer
	}{
		{"fails to list proposers", answerAlways(scripted.Refuse(http.StatusInternalServerError))},
		{"lists garbage", answerAlways(scripted.Raw(http.StatusOK, jsonType, "", []byte(`[{"slot":"x","entry":null}]`)))},
		{"does not answer who proposes", scripted.HangUntil},
	} {
		s.Slow("BLD-REL-05", "goes on bidding elsewhere while a relay "+row.title, func(t *suite.T) {
			a := t.Auctions
			defer a.Watch()()
			// a builder may ask who proposes up to two slots ahead, and bids for the next slot already
			slot, err := a.ClaimAround(t, 2, 1)
			t.Ready(err, "wait for a slot of a registered proposer")
			t.Until(a.Network.Start(slot - 2))
			ended := make(chan struct{})
			defer close(ended)
			defer a.All[0].On(scripted.Duties, nil, row.answer(ended))()
			waitSlotOver(t, slot)
			checkSubmittedTo(t, slot, 1, a.All[1], a.All[2])
		})
	}
}

// answerAlways is an answer that does not depend on when the spec ends.
func answerAlways(answer scripted.Answer) func(<-chan struct{}) scripted.Answer {
	return func(<-chan struct{}) scripted.Answer { return answer }
}

// checkSubmittedTo fails the spec unless each of the relays got so many submissions for a slot. It
// is inconclusive if that is none, because then the builder does not bid at all.
func checkSubmittedTo(t *suite.T, slot phase0.Slot, least int, relays ...*scripted.Relay) {
	if least == 0 {
		t.Inconclusive("the builder does not bid in slots in which relays do as they should")
	}
	for _, relay := range relays {
		got := len(t.Auctions.For(relay, slot))
		t.Check(got >= least, fmt.Sprintf("%d submissions at relay %s for slot %d", least, relay.Name, slot), got)
	}
}
