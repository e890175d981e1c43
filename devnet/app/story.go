package app

import (
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// story turns the relay's facts and the chain's blocks into what is shown of each slot. It is not
// safe for concurrent use.
type story struct {
	spec     *eth.Spec
	builders map[phase0.BLSPubKey]string // names by public key
	slots    map[phase0.Slot]*chapter
	// lastDelivery is the wall time of the newest delivery. At that time its block is imported and
	// the next slot's attributes are announced.
	lastDelivery     time.Time
	lastDeliverySlot phase0.Slot
}

// Names of a slot's stages.
const (
	stageBid      = "attributes to bid"
	stageDelivery = "header to delivery"
)

// chapter is one slot that is not finished.
type chapter struct {
	display.Slot
	served    time.Time     // wall time at which the first header was served
	took      time.Duration // from served to the delivery
	delivered *relay.PayloadDelivered
	refusals  []string
}

func newStory(spec *eth.Spec, builders map[phase0.BLSPubKey]string) *story {
	return &story{spec: spec, builders: builders, slots: map[phase0.Slot]*chapter{}}
}

func (s *story) of(slot phase0.Slot) *chapter {
	c := s.slots[slot]
	if c == nil {
		c = &chapter{Slot: display.Slot{Number: uint64(slot), Fork: s.spec.ForkAt(slot), Open: true}}
		s.slots[slot] = c
	}
	return c
}

// seen is a fact with the wall time at which it came. Chain time would not do, because it stands
// while parts work.
type seen struct {
	fact relay.Fact
	at   time.Time
}

// observe takes a fact and returns the slot that it changed, or nil.
func (s *story) observe(one seen) *display.Slot {
	var c *chapter
	switch f := one.fact.(type) {
	case relay.SubmissionJudged:
		c = s.of(f.Slot)
		switch {
		case f.Refusal != "":
			c.refusals = append(c.refusals, f.Refusal)
		case f.Verified:
			if c.Bids == 0 && s.lastDeliverySlot+1 == f.Slot && !s.lastDelivery.IsZero() {
				c.Took = append(c.Took, display.Stage{Name: stageBid, Took: one.at.Sub(s.lastDelivery)})
			}
			c.Bids++
			c.Values = append(c.Values, f.ValueWei)
		}
	case relay.TopChanged:
		c = s.of(f.Slot)
		c.TopWei = f.ValueWei
		c.Winner = s.builders[f.Builder]
	case relay.HeaderServed:
		c = s.of(f.Slot)
		if c.served.IsZero() {
			c.served = one.at
		}
		return nil
	case relay.PayloadDelivered:
		c = s.of(f.Slot)
		c.delivered = &f
		s.lastDelivery, s.lastDeliverySlot, c.took = one.at, f.Slot, one.at.Sub(c.served)
		c.Delivered, c.TopWei, c.Winner, c.Txs, c.Blobs = true, f.ValueWei, s.builders[f.Builder], f.NumTx, f.NumBlobs
	case relay.PayloadRefused:
		c = s.of(f.Slot)
		c.Note = "payload refused: " + f.Refusal
	default:
		return nil
	}
	copied := c.Slot
	return &copied
}

// finish completes a slot with what the chain has for it, and forgets it.
func (s *story) finish(slot phase0.Slot, has network.Slot) (display.Slot, *relay.PayloadDelivered) {
	c := s.of(slot)
	delete(s.slots, slot)
	c.Open, c.Proposer = false, uint64(has.Proposer)
	full := has.Sale == nil || has.Sale.Full
	if has.Sale != nil {
		c.Payload = &display.Payload{
			Full: full, Votes: has.Sale.Present, Members: has.Sale.Members, ValueGwei: uint64(has.Sale.ValueGwei),
			PaymentGwei: uint64(has.Sale.PaymentGwei),
		}
	}
	switch {
	case c.delivered != nil:
		c.Landed = has.Canonical && full && has.BlockHash == c.delivered.BlockHash
		if !c.served.IsZero() {
			c.Took = append(c.Took, display.Stage{Name: stageDelivery, Took: c.took})
		}
		if !c.Landed {
			c.note("delivered, but not on the chain")
		}
	case has.Sale != nil && has.Sale.Builder != gloas.SelfBuild:
		c.note("sold, but not delivered")
	case has.Canonical:
		c.Winner, c.Txs, c.Blobs, c.TopWei = display.Local, has.Txs, has.Blobs, nil
		c.note("local block")
	default:
		c.Winner, c.TopWei = "", nil
		c.note("missed")
	}
	if len(c.refusals) > 0 {
		slices.Sort(c.refusals)
		c.note("refused: " + slices.Compact(c.refusals)[0])
	}
	return c.Slot, c.delivered
}

func (c *chapter) note(text string) {
	if c.Note != "" {
		text = c.Note + ", " + text
	}
	c.Note = text
}

// tally adds up finished slots for the summary.
type tally struct {
	display.Summary
	trips []time.Duration
}

// add counts a finished slot. paidWei is what the block's builder paid to the proposer according to
// the chain; nil means nothing.
func (t *tally) add(s display.Slot, paidWei *uint256.Int) {
	t.Add(s, paidWei)
	for _, stage := range s.Took {
		if stage.Name == stageDelivery {
			t.trips = append(t.trips, stage.Took)
		}
	}
}

// done returns the summary of all slots that were added.
func (t *tally) done() display.Summary {
	if len(t.trips) > 0 {
		slices.Sort(t.trips)
		t.RoundTripMedian = t.trips[len(t.trips)/2]
	}
	return t.Summary
}
