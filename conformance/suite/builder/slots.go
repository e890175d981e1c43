package builder

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// describeBidSlots adds specs about for which slots and when a builder bids, and by which
// registration.
func describeBidSlots(s *suite.Set) {
	s.Slow("BLD-SLT-01", "leaves out slots whose proposer is not listed", func(t *suite.T) {
		a := t.Auctions
		defer a.Watch()()
		slot := waitForSlot(t, a.Now()+2, func(slot phase0.Slot) bool {
			_, _, known := a.Proposer(slot)
			return known && !a.Listed(slot)
		})
		watchReadable(t)
		waitSlotOver(t, slot)
		for _, relay := range a.All {
			for _, one := range a.For(relay, slot) {
				judge(t, one, &finding{fmt.Sprintf("nothing for slot %d, whose proposer has not registered", slot), "a submission"})
			}
		}
	})
	s.Slow("BLD-SLT-02", "goes by the newest registration an epoch later", func(t *suite.T) {
		a := t.Auctions
		defer a.Watch()()
		index := phase0.ValidatorIndex(a.World.Facts.Restless())
		waitSlotOver(t, a.Now()+1) // so that the builder has seen the old one
		newest := a.Renew(index)
		later := a.Now() + phase0.Slot(a.World.Facts.SlotsPerEpoch)
		slot, err := a.ClaimOf(t, index, later)
		if err != nil {
			t.Inconclusive("no slot of validator %d came that no other spec has: %v", index, err)
		}
		waitSlotOver(t, slot)
		judged := 0
		for _, relay := range a.All {
			for _, one := range a.For(relay, slot) {
				if one.Block == nil {
					continue
				}
				judged++
				judge(t, one, compareField("proposer_fee_recipient", newest.FeeRecipient, one.Block.Message.ProposerFeeRecipient))
				parent, err := a.ParentGasLimit(t, one.Block.ExecutionPayload.ParentHash)
				t.Ready(err, "ask for the parent's gas limit")
				judge(t, one, compareField("gas_limit", eth.ExpectedGasLimit(parent, newest.GasLimit), one.Block.Message.GasLimit))
			}
		}
		if judged == 0 {
			t.Inconclusive("the builder has submitted nothing that can be read for slot %d", slot)
		}
	})
	judgeContent(s, "BLD-SLT-03", "sends nothing for a slot that is over", func(t *suite.T,
		s *scripted.Submission) *finding {
		if at := sinceSlotStart(t.Auctions, s.Slot, s.At); at >= t.Auctions.Network.Slot {
			return &finding{"nothing for a slot that is over", fmt.Sprintf("a submission %v after its start", at)}
		}
		return nil
	})
}

// waitForSlot waits until a slot from the given one on is known to fit, and returns it.
func waitForSlot(t *suite.T, from phase0.Slot, fits func(phase0.Slot) bool) phase0.Slot {
	a := t.Auctions
	for {
		for slot := max(from, a.Now()+1); slot < a.Now()+2*phase0.Slot(a.World.Facts.SlotsPerEpoch); slot++ {
			if fits(slot) {
				return slot
			}
		}
		t.Until(a.Clock.Now().Add(a.Network.Slot))
	}
}
