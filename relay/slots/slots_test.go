package slots

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// A delivery ends its slot and all before it, for good; its block is remembered until its slot is
// forgotten, and the last one after that too.
func TestDelivered(t *testing.T) {
	var s Slots
	if _, any := s.LastDelivered(); any || s.Delivered(0) || s.IsDelivered(phase0.Hash32{}) {
		t.Error("delivered before anything was")
	}
	s.MarkDelivered(4, phase0.Hash32{4})
	s.MarkDelivered(5, phase0.Hash32{5})
	s.MarkDelivered(3, phase0.Hash32{3}) // an older one, published late
	for slot, want := range map[phase0.Slot]bool{0: true, 5: true, 6: false} {
		if got := s.Delivered(slot); got != want {
			t.Errorf("slot %d is over: %v", slot, got)
		}
	}
	s.Close(5)
	for block, want := range map[byte]bool{3: true, 4: false, 5: true, 6: false} {
		if got := s.IsDelivered(phase0.Hash32{block}); got != want {
			t.Errorf("block %d is delivered: %v", block, got)
		}
	}
	if last, any := s.LastDelivered(); last != 5 || !any {
		t.Errorf("last %d, %v", last, any)
	}
}

// Who asks for a payload that has to follow waits until that ends, however it does; nobody waits
// for one that nobody expects, or when they go away.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Slots
		block := phase0.Hash32{1}
		if s.Await(t.Context(), block) {
			t.Error("waited for what nobody expects")
		}
		first, second := s.Expect(block), s.Expect(block)
		waited := make(chan bool, 2)
		for range 2 {
			go func() { waited <- s.Await(t.Context(), block) }()
		}
		synctest.Wait()
		if len(waited) != 0 {
			t.Error("did not wait")
		}
		first.End()
		second.End()
		second.End()
		for range 2 {
			if !<-waited {
				t.Error("told that nothing changed")
			}
		}
		<-first.Ended()
		if s.Await(t.Context(), block) {
			t.Error("waited for what is no longer expected")
		}
		s.Expect(block)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if s.Await(gone, block) {
			t.Error("told somebody who went away")
		}
	})
}

// What a block pays is proven by a valid execution, for the recipient that was paid last, up to the
// most that was found.
func TestPaid(t *testing.T) {
	var s Slots
	message := func(wei uint64, recipient byte) *relay.BidTrace {
		return &relay.BidTrace{Slot: 1, Value: uint256.NewInt(wei), ProposerFeeRecipient: relay.FeeRecipient{recipient}}
	}
	id := PayloadOf(message(0, 0))
	if s.Paid(id) != nil || s.ProvenPayment(message(0, 1)) != nil {
		t.Error("something is known of nothing")
	}
	s.NoteShortfall(message(9, 1), nil)
	s.NoteShortfall(message(9, 1), uint256.NewInt(5))
	if s.Paid(id).Uint64() != 5 || s.ProvenPayment(message(5, 1)) != nil {
		t.Error("a block that breaks a rule proves a payment")
	}
	s.NotePaid(message(7, 1), nil) // valid, and the execution does not say how much
	for wei, want := range map[uint64]bool{6: true, 7: true, 8: false} {
		if got := s.ProvenPayment(message(wei, 1)) != nil; got != want {
			t.Errorf("%d wei are proven: %v", wei, got)
		}
	}
	if s.ProvenPayment(message(6, 2)) != nil {
		t.Error("proven for another recipient")
	}
	s.NotePaid(message(3, 2), uint256.NewInt(4))
	if s.ProvenPayment(message(4, 2)) == nil || s.ProvenPayment(message(6, 1)) != nil {
		t.Error("want what the last recipient is paid")
	}
	s.Close(2)
	if s.Paid(id) != nil {
		t.Error("remembered after the slot")
	}
}
