package relay

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// mostMissed is after how many missed slots in a row bids must still be served: those after which
// circuit breakers of clients open by default, and one more.
const mostMissed = 6

// missed: slots that stay empty although there are bids for them.
func missed(r *room) {
	r.It("REL-GEN-08", "serves bids after one missed slot and after five", func(t *suite.T) {
		first := r.openToPropose(t) // the spec proposes no block either
		for n := phase0.Slot(1); n <= mostMissed+2; n++ {
			_, err := t.World.Refuse(t, first.slot.Slot+n)
			t.Ready(err, "have the beacon node refuse the next blocks")
		}
		first.serves(first.submitted(first.block("a", gwei(1000))))
		for {
			a := r.openFor(t, world.Wanted{Kind: world.Registered, Propose: true, Hurry: true})
			if a.slot.ParentHash != first.slot.ParentHash {
				t.Inconclusive("a block came between the missed slots")
			}
			a.serves(a.submitted(a.block("a", gwei(1000))))
			if a.slot.Slot >= first.slot.Slot+mostMissed {
				return
			}
		}
	})
}
