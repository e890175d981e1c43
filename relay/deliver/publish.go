package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// publishOnce publishes a block the first time that it comes; repeats wait for that and share the
// answer. A block that is new is refused if a block of a later slot was published already. It
// returns the contents that were published.
func (d *Deliverer) publishOnce(
	ctx context.Context, at time.Time, block *relay.BlindedBlock, begun publication,
) (*relay.Contents, *relay.Refused) {
	d.mu.Lock()
	p, repeated := d.running[block.Root]
	if last, any := d.Slots.LastDelivered(); !repeated && any && block.Slot < last {
		d.mu.Unlock()
		return nil, relay.PayloadEarlierSlot.With("slot %d, published is slot %d", block.Slot, last)
	}
	if !repeated {
		begun.done = make(chan struct{})
		p = &begun
		d.running[block.Root] = p
	}
	d.mu.Unlock()
	if repeated {
		<-p.done
		return p.contents, p.refused
	}

	p.refused = relay.Internal.Plain() // the answer to those who wait, if publish panics
	defer d.finishPublication(block, p)
	p.refused = d.publish(ctx, at, block, p)
	return p.contents, p.refused
}

// finishPublication ends a publication and wakes the requests that wait for it.
func (d *Deliverer) finishPublication(block *relay.BlindedBlock, p *publication) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.refused == nil {
		p.at = d.Clock.Now()
		d.Slots.MarkDelivered(block.Slot, block.Header.BlockHash)
	} else {
		delete(d.running, block.Root) // so that the proposer may try again
	}
	close(p.done)
}

// claim claims the slot at the guard, within StoreTimeout.
func (d *Deliverer) claim(ctx context.Context, block *relay.BlindedBlock) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, d.StoreTimeout)
	defer cancel()
	return d.Guard.Claim(ctx, block.Slot, block.Root)
}

// publish claims the slot, puts the payload in place of its header, and hands the block to the
// beacon nodes.
func (d *Deliverer) publish(ctx context.Context, at time.Time, block *relay.BlindedBlock,
	p *publication) *relay.Refused {
	guard := observe.Stage(ctx, observe.Guard)
	won, err := d.claim(ctx, block)
	p.stages.Add(observe.Guard, guard())
	if err != nil {
		d.Log.Error("claim slot", "slot", block.Slot, "error", err)
		return relay.PayloadGuardDown.Plain()
	}
	if !won {
		return relay.PayloadOther.With("slot %d", block.Slot)
	}
	published := observe.Stage(ctx, observe.Publish)
	err = d.publishAny(ctx, block, p)
	p.stages.Add(observe.Publish, published())
	if err != nil {
		return relay.PayloadNotPublished.Plain()
	}
	trace, paidWei := d.findPromised(block.Slot, p.contents)
	d.Facts.Record(relay.PayloadDelivered{
		At: d.Clock.Now(), Trace: trace, PaidWei: paidWei, BlockRoot: block.Root,
		MsIntoSlot: at.Sub(d.Spec.SlotStart(block.Slot)).Milliseconds(),
		Stages:     p.stages,
	})
	return nil
}

// publishAny publishes the block. If no node accepts it, it tries again with the blobs that another
// builder has sent for the same header. A header and its commitments do not show whether blobs and
// proofs are right, so those of the builder that was served last may be wrong. The block itself
// stays the one that was claimed.
func (d *Deliverer) publishAny(ctx context.Context, block *relay.BlindedBlock, p *publication) error {
	ctx, cancel := context.WithTimeout(ctx, d.PublishTimeout)
	defer cancel()
	for tried := []*relay.Contents(nil); ; {
		err := d.publishAs(ctx, block, p.contents)
		if err == nil {
			return nil
		}
		d.Log.Error("publish block", "slot", block.Slot, "builder", p.contents.Trace.BuilderPubkey, "error", err)
		tried = append(tried, p.contents)
		other := d.otherBlobs(ctx, block, tried)
		if other == nil {
			return err
		}
		p.contents = other
	}
}

func (d *Deliverer) publishAs(ctx context.Context, block *relay.BlindedBlock, contents *relay.Contents) error {
	ssz, err := wire.Unblind(block, contents)
	if err != nil {
		return fmt.Errorf("unblind block: %w", err)
	}
	return d.Publisher.Publish(ctx, block.Fork, block.Root, ssz)
}

// otherBlobs returns a payload of the signed header whose blobs or proofs were not tried yet; nil
// if there is none.
func (d *Deliverer) otherBlobs(ctx context.Context, block *relay.BlindedBlock,
	tried []*relay.Contents) *relay.Contents {
	if !block.Fork.HasBlobs() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d.StoreTimeout)
	defer cancel()
	other, err := d.Payloads.Find(ctx, block.Slot, block.Header.BlockHash, func(contents *relay.Contents) bool {
		same := func(before *relay.Contents) bool {
			return slices.Equal(before.Blobs.Blobs, contents.Blobs.Blobs) &&
				slices.Equal(before.Blobs.Proofs, contents.Blobs.Proofs)
		}
		return checkHeader(block, contents) == nil && !slices.ContainsFunc(tried, same)
	})
	if err != nil {
		d.Log.Error("look for another payload of the block", "slot", block.Slot, "error", err)
		return nil
	}
	return other
}

// findPromised returns the bid that the proposer signed for, and what its block is known to pay.
// The escrow is not enough for this: it has a builder's block once, with the message that came
// first, while the same block may have been offered by others, and at other values.
func (d *Deliverer) findPromised(slot phase0.Slot, contents *relay.Contents) (relay.Trace, *uint256.Int) {
	trace := contents.FlatTrace()
	if d.Headers != nil {
		if given := d.Headers.LastServed(slot, contents.Payload.BlockHash); given != nil {
			trace.Builder, trace.ValueWei = given.Builder, given.ValueWei
			if given.FeeRecipient != (relay.FeeRecipient{}) {
				trace.FeeRecipient = given.FeeRecipient
			}
		}
	}
	return trace, d.Slots.Paid(contents.ID())
}

func (d *Deliverer) publishedAt(root phase0.Root) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.running[root]; p != nil {
		return p.at
	}
	return time.Time{} // Close has forgotten it meanwhile, so it was published long ago
}

// maxRecordedRefusals is how many refusals of one validator's blocks become facts between two
// heads.
const maxRecordedRefusals = 16

// recordRefusal records that a block was refused. It ignores errors that are no refusals, as when
// the client went away.
func (d *Deliverer) recordRefusal(at time.Time, block *relay.BlindedBlock, err error, signed bool) {
	var refused *relay.Refused
	if !errors.As(err, &refused) {
		return
	}
	fact := relay.PayloadRefused{At: at, Slot: block.Slot, BlockHash: block.Header.BlockHash, Refusal: refused.ID,
		Detail: refused.Detail}
	if d.Unrecorded == nil || (signed && d.mayRecord(block.ProposerIndex)) {
		d.Facts.Record(fact)
	} else {
		d.Unrecorded(fact)
	}
}

// mayRecord says whether one more refusal of a validator becomes a fact.
func (d *Deliverer) mayRecord(proposer phase0.ValidatorIndex) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.recorded[proposer] >= maxRecordedRefusals {
		return false
	}
	if d.recorded == nil {
		d.recorded = map[phase0.ValidatorIndex]int{}
	}
	d.recorded[proposer]++
	return true
}
