package stakedbid

import (
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/gloas/check"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/bid"
)

// attempt is a bid with what it is compared with.
type attempt struct {
	check.BidCase
	signed     *bid.Signed
	contents   *gloas.BidContents // nil for a bid that comes alone
	duty       *relay.RegisteredDuty
	attributes *relay.Attributes
	wanted     []*gloas.ProposerPreferences // by the proposer, on each branch of the chain
	from       string
	taken      bool // exactly this bid was taken before
}

// admit refuses what is not worth a closer look: a bid for no slot that runs, of no builder, or of
// one that has bid as much. It costs look-ups in memory alone.
func (t *Taker) admit(offer *Offer) (*attempt, *relay.Refused) {
	m, now := offer.Bid.Message, t.Spec.SlotAt(t.Clock.Now())
	if t.Spec.ForkAt(m.Slot).HasBlindedBlocks() {
		return nil, relay.BeforeGloas.With("slot %d", m.Slot)
	}
	if head := t.Chain.Head().Slot; m.Slot <= head || m.Slot < now || m.Slot > now+1 {
		return nil, relay.StakedBidSlot.With("slot %d, it is slot %d, the head is at slot %d", m.Slot, now, head)
	}
	if t.Slots.Delivered(m.Slot) {
		return nil, relay.SubmissionDelivered.Plain()
	}
	c := &attempt{duty: t.Chain.Duty(m.Slot), attributes: t.Chain.Attributes(m.Slot, m.ParentBlockHash), from: offer.From}
	if c.duty == nil || c.duty.Registration == nil {
		return nil, relay.SubmissionNoDuty.With("slot %d", m.Slot)
	}
	c.Builder = t.builder(m.BuilderIndex)
	switch {
	case m.BuilderIndex == t.Own:
		return nil, relay.StakedBidBuilder.With("builder %d is the relay's own", m.BuilderIndex)
	case c.Builder == nil:
		return nil, relay.StakedBidBuilder.With("builder %d is not known; the relay asks again with the next head",
			m.BuilderIndex)
	case t.Builders.Of(c.Builder.Pubkey).Blocked:
		return nil, relay.SubmissionBlocked.Plain()
	}
	c.Spec, c.Bid, c.NowSlot = t.Spec, offer.Bid, now
	c.wanted = t.Chain.Preferences(m.Slot)
	c.signed = &bid.Signed{SignedExecutionPayloadBid: offer.Bid, Builder: c.Builder.Pubkey, ReceivedAt: offer.ReceivedAt}
	if t.hasNotSigned(c.signed) {
		return nil, relay.StakedBidPromise.With("the builder has not signed the envelope of a payload that was sold")
	}
	if len(offer.Contents) > 0 {
		c.contents = offer.Contents[0]
	}
	known := t.Sold(offer.Bid)
	if c.taken = known != nil && (known.HasPayload() || c.contents == nil); c.taken {
		return c, nil
	}
	if known == nil {
		if refused := t.mayEnter(c.signed); refused != nil {
			return nil, refused
		}
	}
	return c, nil
}

// refusalOf says by what a bid is refused that breaks a rule of check.RelayRules.
var refusalOf = map[string]relay.Refusal{
	"slot":          relay.StakedBidSlot,
	"block hash":    relay.StakedBidTerms,
	"blobs":         relay.StakedBidTerms,
	"preferences":   relay.StakedBidPreferences,
	"fee recipient": relay.StakedBidTerms,
	"randao":        relay.StakedBidTerms,
	"builder":       relay.StakedBidBuilder,
	"balance":       relay.StakedBidBalance,
	"signature":     relay.StakedBidSignature,
}

// checkTerms applies the rules of a bid, the signature last.
func (c *attempt) checkTerms() *relay.Refused {
	m := c.Bid.Message
	agreed, why := bid.Agreed(c.wanted)
	if why != "" {
		return relay.StakedBidPreferences.With("%s", why)
	}
	c.Preferences = agreed
	switch worth := bid.WorthWei(m); {
	case c.attributes == nil || c.attributes.ParentRoot != m.ParentBlockRoot:
		return relay.StakedBidParent.With("block %#x with execution block %#x", m.ParentBlockRoot[:], m.ParentBlockHash[:])
	case worth.IsZero():
		return relay.StakedBidTerms.With("value and execution payment are 0")
	case m.Value+m.ExecutionPayment < m.Value:
		return relay.StakedBidTerms.With("value and execution payment together have more than 64 bits")
	case m.ExecutionPayment > 0 && c.contents == nil:
		return relay.StakedBidPromise.With("execution payment %d", m.ExecutionPayment)
	}
	c.PrevRandao = c.attributes.PrevRandao
	if verdict := c.JudgeBy(check.RelayRules); verdict.Rule != "" {
		return refusalOf[verdict.Rule].With("%s", verdict.Detail)
	}
	return nil
}
