package sidecar

import (
	"fmt"
	"slices"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeSignedOnce adds specs about proposers: who has signed a blinded block proposes no other.
func describeSignedOnce(s *suite.Set) {
	s.Slow("CON-SIG-01", "proposes no second block when relays do not publish the first", func(t *suite.T) {
		list := append(findProposals(t, scripted.Refuses), findProposals(t, scripted.Withholds)...)
		signed := 0
		for _, one := range list {
			if len(one.Signed) == 0 {
				continue
			}
			signed++
			t.Check(!one.Block, "no block in a slot whose blinded block is signed, and was published by nobody",
				"one in "+name(one))
			for _, other := range one.Signed[1:] {
				t.Check(slices.Equal(one.Signed[0].Body, other.Body) || one.Signed[0].Header.Get("Content-Type") !=
					other.Header.Get("Content-Type"), "one signed block", "two that differ in "+name(one))
			}
		}
		if signed == 0 {
			t.Inconclusive("the client has signed no blinded block")
		}
	})
}

// describeBreaker adds specs about when relays are asked no more, and when they are.
func describeBreaker(s *suite.Set) {
	s.Slow("CON-BRK-01", "asks no relay any more after slots have been missed", func(t *suite.T) {
		missed := findProposals(t, scripted.Withholds)
		if !slices.ContainsFunc(missed, func(one scripted.Proposal) bool { return len(one.Signed) > 0 && !one.Block }) {
			t.Inconclusive("no slot was missed: the client has signed no block that relays withhold")
		}
		last := missed[len(missed)-1]
		withBlock := func(one scripted.Proposal) bool { return one.Block }
		if len(last.Asked) > 0 && (len(missed) < scripted.MostMissed ||
			slices.ContainsFunc(missed[len(missed)-scripted.MostMissed:], withBlock)) {
			t.Inconclusive("the client has not missed %d slots in a row: blocks were late", scripted.MostMissed)
		}
		t.Check(len(last.Asked) == 0, fmt.Sprintf("no request for a header after at most %d slots without a block",
			scripted.MostMissed), "one in "+name(last))
		watched := slices.DeleteFunc(findProposals(t, scripted.Unwelcome), func(one scripted.Proposal) bool {
			return one.Slot < last.Slot // blocks were withheld again after it
		})
		for _, one := range append(watched, last) {
			t.Check(len(one.Asked) == 0, "no request for a header while the circuit breaker is open", "one in "+name(one))
			t.Check(one.Block, "a block of the client's own", "none in "+name(one))
		}
	})
	s.Slow("CON-BRK-02", "goes on asking relays that have failed, as long as no slot is missed", func(t *suite.T) {
		for _, one := range runCourse(t) {
			if one.Relays == scripted.Refuses {
				return
			}
			wantAsked(t, one)
		}
	})
}
