package sidecar

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// tolerance is BUILDER_PROPOSAL_DELAY_TOLERANCE: how long a proposer waits for a bid.
	tolerance = time.Second
	// short is the patience of a beacon node that waits less.
	short = 500 * time.Millisecond
	// network is how much longer an answer may take on its way.
	network = 250 * time.Millisecond
)

// timingHeaders are what a beacon node says of its patience.
func timingHeaders(patience time.Duration) map[string]string {
	return map[string]string{
		"Date-Milliseconds": strconv.FormatInt(time.Now().UnixMilli(), 10),
		"X-Timeout-Ms":      strconv.FormatInt(patience.Milliseconds(), 10),
	}
}

// describeTiming adds specs about getHeader and time.
func describeTiming(s *suite.Set) {
	s.It("SID-HDR-23", "answers in time beside a relay that hangs", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(1, low)
		a.offer(0, scripted.Hang)
		answer := a.ask(nil)
		t.Check(answer.Took <= tolerance+network, "an answer within "+tolerance.String(), answer.Took)
		a.checkSame(want, a.read(answer))
	})
	s.It("SID-HDR-24", "answers before a beacon node of less patience gives up", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(1, low)
		a.offer(0, scripted.Hang)
		answer := a.ask(timingHeaders(short))
		t.Check(answer.Took <= short+network, "an answer within "+short.String(), answer.Took)
		a.checkSame(want, a.read(answer))
	})
	s.It("SID-HDR-25", "waits for a better bid that is late", func(t *suite.T) {
		a := open(t)
		a.offerHonest(1, low)
		best := a.makeHonestBid(a.relay(0), "late", high)
		a.offer(0, scripted.After(200*time.Millisecond, a.answerBid(best)))
		a.checkHandsOn(best)
	})
	s.It("SID-HDR-26", "tells relays when it asks", func(t *suite.T) {
		a := open(t)
		a.prepareHandsOn(a.offerHonest(0, low))
		for _, relay := range t.Relays.All {
			asked := relay.Heard(scripted.Header, a.Parent[:])
			t.Check(len(asked) > 0, "a request for the header at relay "+relay.Name, "none")
			text := asked[0].Header.Get("Date-Milliseconds")
			sent, err := strconv.ParseInt(text, 10, 64)
			t.Check(err == nil && asked[0].At.Sub(time.UnixMilli(sent)).Abs() < tolerance,
				"Date-Milliseconds with the time of the request", strconv.Quote(text))
		}
	})
	s.It("SID-HDR-27", "tells relays how long it waits", func(t *suite.T) {
		a := open(t)
		a.prepareHandsOn(a.offerHonest(0, low))
		a.checkTellsPatience(tolerance)
	})
	s.It("SID-HDR-27", "tells relays of no more patience than the beacon node has", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(0, low)
		a.checkSame(want, a.read(a.ask(timingHeaders(short))))
		a.checkTellsPatience(short)
	})
	s.It("SID-HDR-28", "asks when the beacon node asks a moment before the slot", func(t *suite.T) {
		n := t.Relays.Network
		a := openIn(t, n.At(time.Now())+1)
		want := a.offerHonest(0, low)
		t.Until(n.Start(a.Slot).Add(-100 * time.Millisecond))
		a.checkHandsOn(want)
	})
}

// checkTellsPatience fails the spec unless each relay was told of a wait, and of at most this one.
func (s *sale) checkTellsPatience(most time.Duration) {
	for _, relay := range s.t.Relays.All {
		asked := relay.Heard(scripted.Header, s.Parent[:])
		s.t.Check(len(asked) > 0, "a request for the header at relay "+relay.Name, "none")
		text := asked[0].Header.Get("X-Timeout-Ms")
		waits, err := strconv.ParseInt(text, 10, 64)
		s.t.Check(err == nil && waits > 0 && waits <= most.Milliseconds(),
			fmt.Sprintf("X-Timeout-Ms of 1 to %d", most.Milliseconds()), strconv.Quote(text))
	}
}
