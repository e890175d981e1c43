package stakedbid

import (
	"fmt"
	"maps"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// sold is a bid that stands in a block which was published here.
type sold struct {
	slot    phase0.Slot
	builder gloas.BuilderIndex
	value   phase0.Gwei
}

// Bids returns the bids that may be served on a parent: of each builder the last one, while the
// builder may bid and can pay it. They are in no order.
func (t *Taker) Bids(slot phase0.Slot, parentRoot phase0.Root, parentHash phase0.Hash32) (list []*bid.Signed) {
	for _, s := range t.standing(slot, parentRoot, parentHash) {
		c := check.BidCase{Spec: t.Spec, Bid: s.SignedExecutionPayloadBid, Builder: t.builder(s.Message.BuilderIndex)}
		if c.JudgeBy(check.CoverRules).Outcome == check.Taken && c.Builder.Pubkey == s.Builder &&
			!t.Builders.Of(s.Builder).Blocked && !t.hasNotSigned(s) {
			list = append(list, s)
		}
	}
	return list
}

func (t *Taker) standing(slot phase0.Slot, parentRoot phase0.Root, parentHash phase0.Hash32) (list []*bid.Signed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.slots[slot] == nil {
		return nil
	}
	for at, s := range t.slots[slot].stands {
		if at.parentRoot == parentRoot && at.parentHash == parentHash {
			list = append(list, s)
		}
	}
	return list
}

// Sold returns a bid of a block as it was taken; nil for one that was not. With the payload, if the
// bid came both alone and with it.
func (t *Taker) Sold(signed *gloas.SignedExecutionPayloadBid) *bid.Signed {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(signed.Message)
	if err != nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if of := t.slots[signed.Message.Slot]; of != nil {
		if s := of.byRoot[root]; s != nil && s.Signature == signed.Signature {
			return s
		}
	}
	return nil
}

// distrust is for how many slots a builder may promise nothing within its payloads after it has not
// signed the envelope of one that was sold: a day of mainnet.
const distrust = 7200

// NoteLeft notes a payload that was left to its builder. One that has not signed the envelope, so
// that its proposer was not paid what the payload pays, is not believed for a while.
func (t *Taker) NoteLeft(left relay.PayloadLeft) {
	if left.Reason != relay.LeftUnsigned {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsigned[left.Builder] = max(t.unsigned[left.Builder], left.Slot)
}

// hasNotSigned says whether a bid's promise within its payload is not believed.
func (t *Taker) hasNotSigned(s *bid.Signed) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	slot, once := t.unsigned[s.Builder]
	return once && s.Message.ExecutionPayment > 0 && s.Message.Slot < slot+distrust
}

// MarkSold notes that a block with a bid was published: its builder owes the value.
func (t *Taker) MarkSold(s *bid.Signed) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := sold{s.Message.Slot, s.Message.BuilderIndex, s.Message.Value}
	if next.value > 0 && !slices.Contains(t.sold, next) {
		t.sold = append(t.sold, next)
	}
}

// builder returns a builder with what it owes for blocks that were published here; nil if there is
// none. No beacon node tells what else it owes.
func (t *Taker) builder(index gloas.BuilderIndex) *check.Builder {
	b := t.Table.Of(index)
	if b == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sold {
		if s.builder == index {
			b.Owed += s.value
		}
	}
	return b
}

// mayEnter refuses a bid that is not more than its builder's last one, and one too many.
func (t *Taker) mayEnter(s *bid.Signed) *relay.Refused {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocks(s)
}

// blocks is mayEnter for a caller that holds mu.
func (t *Taker) blocks(s *bid.Signed) *relay.Refused {
	m := s.Message
	of := t.slots[m.Slot]
	if of == nil {
		return nil
	}
	if before := of.stands[placeOf(m)]; before != nil {
		if why := bid.Replaces(s, before); why != "" {
			return relay.StakedBidNotHigher.With("worth %s wei, the one before %s", bid.WorthWei(m).Dec(),
				bid.WorthWei(before.Message).Dec())
		}
	}
	if of.bids[m.BuilderIndex] >= maxBids {
		return relay.StakedBidTooMany.With("at most %d bids of a builder for a slot", maxBids)
	}
	return nil
}

// enter lets a bid count.
func (t *Taker) enter(s *bid.Signed) *relay.Refused {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(s.Message)
	if err != nil {
		return relay.Malformed.With("hash bid: %v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	of := t.of(s.Message.Slot)
	refused := t.blocks(s)
	if before := of.byRoot[root]; before == nil || s.HasPayload() {
		of.byRoot[root] = s // it is stored, so that a block with it is known whether it counts or not
	}
	if refused != nil {
		return refused
	}
	of.bids[s.Message.BuilderIndex]++
	at := placeOf(s.Message)
	if before := of.stands[at]; before != nil && before.HasPayload() && payloadOf(before) != payloadOf(s) {
		t.Payloads.LetGo(payloadOf(before))
	}
	of.stands[at] = s
	return nil
}

// of returns what is known of a slot. The caller holds mu.
func (t *Taker) of(slot phase0.Slot) *slotBids {
	if t.slots[slot] == nil {
		t.slots[slot] = &slotBids{
			byRoot: map[phase0.Root]*bid.Signed{}, stands: map[place]*bid.Signed{}, bids: map[gloas.BuilderIndex]int{},
			envelopes: map[envelopeKey]*gloas.SignedBlindedExecutionPayloadEnvelope{},
			signed:    map[gloas.BuilderIndex]int{},
		}
	}
	return t.slots[slot]
}

// Adopt takes a bid from the journal: of an earlier process, or of another instance. It was checked
// there.
func (t *Taker) Adopt(taken relay.StakedBidTaken) error {
	if taken.Slot < t.Chain.Head().Slot {
		return nil // its block, if it has one, is no longer to be revealed
	}
	signed, err := gloas.Mainnet.SignedExecutionPayloadBid.FromJSON(taken.Bid)
	if err != nil {
		return fmt.Errorf("decode a staked builder's bid: %w", err)
	}
	s := &bid.Signed{SignedExecutionPayloadBid: signed, Builder: taken.Builder, PayloadRoot: taken.PayloadRoot,
		ReceivedAt: taken.ReceivedAt}
	if refused := t.enter(s); refused != nil && refused.ID == relay.Malformed.ID {
		return fmt.Errorf("take up a staked builder's bid: %w", refused)
	}
	return nil // one that does not count here is known all the same
}

// Close forgets what is of slots before the given one. What builders owe is remembered for two
// epochs, until when a payment may be pending.
func (t *Taker) Close(before phase0.Slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.slots, func(slot phase0.Slot, _ *slotBids) bool { return slot < before })
	maps.DeleteFunc(t.unsigned, func(_ phase0.BLSPubKey, slot phase0.Slot) bool { return slot+distrust < before })
	t.sold = slices.DeleteFunc(t.sold, func(s sold) bool {
		return t.Spec.EpochOf(s.slot)+2 <= t.Spec.EpochOf(before)
	})
}
