package builder

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// mostSame is how often the same body may come to a relay that refuses it. A few times make sense:
	// a relay may hear of a slot later than the builder.
	mostSame = 8
	// mostAfter is how many submissions may come after a relay has said that the slot's payload is
	// delivered: they were on their way.
	mostAfter = 2
	// retryAfter is the wait that a relay asks for.
	retryAfter = time.Second
)

// describeRefusals adds specs about what a builder does after a relay has said no, or yes.
func describeRefusals(s *suite.Set) {
	for _, row := range []struct{ title, text string }{
		{"that it knows no payload attributes", "payload attributes not (yet) known"},
		{"that the signature is wrong", "invalid signature"},
		{"that the simulation failed", "simulation failed: invalid merkle root"},
	} {
		s.Slow("BLD-RFS-01", "does not send the same again and again when all relays say "+row.title, func(t *suite.T) {
			checkCalm(t, refuse(http.StatusBadRequest, row.text))
		})
	}
	s.Slow("BLD-RFS-01", "does not send the same again and again when all relays fail", func(t *suite.T) {
		checkCalm(t, refuse(http.StatusInternalServerError, "internal error"))
	})
	for _, row := range []struct {
		clause string
		status int
	}{{"BLD-RFS-02", http.StatusTooManyRequests}, {"BLD-RFS-03", http.StatusServiceUnavailable}} {
		s.Slow(row.clause, fmt.Sprintf("waits as long as %d says", row.status), func(t *suite.T) {
			a := t.Auctions
			slot, stop := claim(t)
			defer stop()
			relay := a.All[1]
			defer relay.OnSlot(slot, func(ctx context.Context, w http.ResponseWriter, asked scripted.Asked) {
				w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
				refuse(row.status, "later")(ctx, w, asked)
			})()
			waitSlotOver(t, slot+1)
			first := a.For(relay, slot)
			if len(first) == 0 {
				t.Inconclusive("the builder has submitted nothing to relay b for slot %d", slot)
			}
			refused := first[0].At
			for _, one := range append(first[1:], a.For(relay, slot+1)...) {
				if wait := one.At.Sub(refused); wait < retryAfter {
					judge(t, one, &finding{fmt.Sprintf("no submission to relay b for %v", retryAfter),
						fmt.Sprintf("one after %v", wait)})
				}
				if one.Slot == slot { // this one was refused, too
					refused = one.At
				}
			}
		})
	}
	s.Slow("BLD-RFS-04", "sends no more for a slot whose payload is delivered", func(t *suite.T) {
		a := t.Auctions
		slot, stop := claim(t)
		defer stop()
		relay := a.All[1]
		defer relay.OnSlot(slot, refuse(http.StatusBadRequest, "payload for this slot was already delivered"))()
		waitSlotOver(t, slot)
		list := a.For(relay, slot)
		if len(list) == 0 {
			t.Inconclusive("the builder has submitted nothing to relay b for slot %d", slot)
		}
		t.Check(len(list) <= 1+mostAfter, fmt.Sprintf("at most %d submissions after the refusal", mostAfter), len(list)-1)
	})
	s.Slow("BLD-RFS-05", "sends what was taken only once", func(t *suite.T) {
		slot, stop := claim(t)
		defer stop()
		waitSlotOver(t, slot)
		if len(t.Auctions.For(t.Auctions.All[0], slot)) == 0 {
			t.Inconclusive("the builder has submitted nothing to relay a for slot %d", slot)
		}
		checkAtMost(t, slot, 1)
	})
	s.Slow("BLD-RFS-06", "sends whole blocks to a relay that knows no other way", func(t *suite.T) {
		list := watch(t)
		for _, relay := range t.Auctions.All {
			for _, asked := range relay.Heard(scripted.Other, nil) {
				if asked.Method != http.MethodPost {
					continue
				}
				for _, one := range list {
					if one.Relay == relay {
						return
					}
				}
				t.Check(false, "whole blocks at relay "+relay.Name+", which answers 404 to "+asked.Path, "none")
			}
		}
		if len(list) == 0 {
			t.Inconclusive("the builder has submitted nothing")
		}
		t.NotRun("the builder submits whole blocks only")
	})
}

// refuse answers with builder-specs' ErrorMessage.
func refuse(status int, text string) scripted.Answer {
	return scripted.Raw(status, jsonType, "", fmt.Appendf(nil, `{"code":%d,"message":%q}`, status, text))
}

// checkCalm has all relays answer a slot's submissions with a refusal, and fails the spec if a body
// comes too often.
func checkCalm(t *suite.T, answer scripted.Answer) {
	a := t.Auctions
	slot, stop := claim(t)
	defer stop()
	for _, relay := range a.All {
		defer relay.OnSlot(slot, answer)()
	}
	waitSlotOver(t, slot)
	if len(a.For(a.All[0], slot)) == 0 {
		t.Inconclusive("the builder has submitted nothing to relay a for slot %d", slot)
	}
	checkAtMost(t, slot, mostSame)
}

// checkAtMost fails the spec if a relay got the same body more often than this for a slot.
func checkAtMost(t *suite.T, slot phase0.Slot, times int) {
	for _, relay := range t.Auctions.All {
		same := map[[32]byte]int{}
		for _, one := range t.Auctions.For(relay, slot) {
			key := sha256.Sum256(one.Plain)
			if same[key]++; same[key] > times {
				judge(t, one, &finding{fmt.Sprintf("the same body at most %d times", times), "once more"})
			}
		}
	}
}
