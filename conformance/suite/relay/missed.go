package relay

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
)

// mostMissed is after how many missed slots in a row bids must still be served: those after which
// circuit breakers of clients open by default, and one more.
const mostMissed = 6

// describeMissedSlots adds specs about slots that stay empty although there are bids for them.
func describeMissedSlots(r *specs) {
	r.It("REL-GEN-08", "serves bids after one missed slot and after five", func(t *suite.T) {
		first := r.openToPropose(t) // the spec proposes no block either
		empty := &gap{t: t}
		defer empty.end()
		empty.reach(first.slot.Slot + ahead)
		first.checkServed(first.prepareSubmitted(first.block("a", gwei(1000))))
		for {
			a := r.openFor(t, world.Wanted{Kind: world.Registered, Propose: true, Hurry: true})
			if a.slot.ParentHash != first.slot.ParentHash {
				t.Inconclusive("a block came between the missed slots")
			}
			if a.slot.Slot < first.slot.Slot+mostMissed {
				empty.reach(a.slot.Slot + ahead)
			}
			a.checkServed(a.prepareSubmitted(a.block("a", gwei(1000))))
			if a.slot.Slot >= first.slot.Slot+mostMissed {
				return
			}
		}
	})
}

// ahead is how many slots after one in which a spec bids are kept empty. Two of them may be those
// of validators for whom no spec bids, and a busy machine may lose one.
const ahead = 4

// gap is a row of slots whose blocks the beacon node refuses.
type gap struct {
	t    *suite.T
	last phase0.Slot
}

// reach makes the gap longer, up to the given slot.
func (g *gap) reach(slot phase0.Slot) {
	for n := max(g.last, slot-ahead) + 1; n <= slot; n++ {
		_, err := g.t.World.Refuse(g.t, n)
		g.t.Ready(err, "have the beacon node refuse the next blocks")
		g.last = n
	}
}

// end waits until the gap is over, so that no other spec proposes a block in it.
func (g *gap) end() {
	_ = g.t.Clock().Until(g.t, g.t.World.Facts.At(g.last+1)) // the spec may be over
}
