package builder

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay/client"
)

// submission is a signed bid.
type submission struct {
	slot          phase0.Slot
	request       *builderspec.VersionedSubmitBlockRequest
	v6            *gloas.SignedBidSubmissionV6 // from gloas on, in the place of request
	cancellations bool
	// sequence numbers the submission; 0 sends no number.
	sequence uint64
}

// sign makes the submission of a block for a value: the trace says what is bid, and the builder's
// key signs it under the builder domain. A cheating conduct changes block, trace or key before the
// signature.
func (b *Builder) sign(a Attributes, duty client.Duty, built *chain.Built, valueWei *uint256.Int) (submission, error) {
	message := duty.Registration.Message
	trace := &builderv1.BidTrace{
		Slot: uint64(a.Slot), ParentHash: a.ParentHash, BlockHash: built.Hash(), BuilderPubkey: b.Key.PublicKey(),
		ProposerPubkey: message.Pubkey, ProposerFeeRecipient: message.FeeRecipient, GasLimit: built.Payload.GasLimit,
		GasUsed: built.Payload.GasUsed, Value: valueWei,
	}
	changed, key := *built, b.Key
	if len(b.Conduct.Cheats) > 0 {
		block := *built.Payload
		changed.Payload = &block
		var err error
		if key, err = b.Conduct.cheat(a, trace, &changed, key); err != nil {
			return submission{}, err
		}
	}
	root, err := trace.HashTreeRoot()
	if err != nil {
		return submission{}, fmt.Errorf("hash bid trace: %w", err)
	}
	one, signature := submission{slot: a.Slot}, key.Sign(eth.SigningRoot(root, b.Spec.BuilderDomain()))
	if changed.Gloas != nil {
		one.v6 = changed.SubmissionV6(trace, signature)
	} else {
		one.request, err = changed.Submission(trace, signature)
	}
	if b.Numbered {
		one.sequence = b.sequence.Add(1)
	}
	return one, err
}

// line is the way to one relay. Bids go one after another, so that a relay gets them in their order
// and a slow one delays no other.
type line struct {
	// busy holds one element while a request is on its way; who has put it there may use the fields
	// below.
	busy chan struct{}
	// notBefore is until when the relay wants to be left alone. delivered is the newest slot whose
	// payload it has delivered.
	notBefore time.Time
	delivered phase0.Slot
}

var (
	errAskedToWait = errors.New("the relay has asked to wait")
	errDelivered   = errors.New("the slot's payload is delivered")
)

// submit sends a bid to each relay, behind what is on its way there, and returns as soon as one has
// accepted it, or all have refused it. What is still on its way then ends with the auction.
func (b *Builder) submit(ctx context.Context, one submission) error {
	results := make(chan error, len(b.Relays))
	for i := range b.Relays {
		b.sending.Go(func() { results <- b.sendInLine(ctx, i, one) })
	}
	var errs []error
	for range b.Relays {
		select {
		case err := <-results:
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errors.Join(errs...)
}

// sendInLine sends a bid to a relay when the bids before it are answered, unless the relay does not
// want it any more.
func (b *Builder) sendInLine(ctx context.Context, place int, one submission) error {
	relay, l := b.Relays[place], &b.lines[place]
	select {
	case l.busy <- struct{}{}:
		defer func() { <-l.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	switch now := b.Clock.Now(); {
	case l.delivered == one.slot && one.slot > 0:
		return fmt.Errorf("submit to %s: %w", relay.URL(), errDelivered)
	case now.Before(l.notBefore):
		return fmt.Errorf("submit to %s: %w", relay.URL(), errAskedToWait)
	}
	err := b.send(ctx, relay, one)
	refused := (*client.Error)(nil)
	if errors.As(err, &refused) {
		if refused.RetryAfter > 0 {
			l.notBefore = b.Clock.Now().Add(refused.RetryAfter)
		}
		if strings.Contains(refused.Message, "already delivered") { // relay-specs, blocks.yaml, 400
			l.delivered = one.slot
		}
	}
	return err
}

// send sends a bid to a relay.
func (b *Builder) send(ctx context.Context, relay Relay, one submission) error {
	options := client.SubmitOptions{Cancellations: one.cancellations, Sequence: one.sequence}
	var err error
	if one.v6 != nil {
		_, err = relay.SubmitBlockV6(ctx, one.v6, options)
	} else {
		_, err = relay.SubmitBlock(ctx, one.request, options)
	}
	if err != nil {
		b.tellRefused(one.slot, relay, err)
		return fmt.Errorf("submit to %s: %w", relay.URL(), err)
	}
	return nil
}

// submitAtOnce sends a bid to all relays, beside whatever is on its way there.
func (b *Builder) submitAtOnce(ctx context.Context, one submission) {
	var sending sync.WaitGroup
	for _, relay := range b.Relays {
		sending.Go(func() {
			_ = b.send(ctx, relay, one) // send reports what relays answer
		})
	}
	sending.Wait()
}

// tellRefused reports a relay's refusal, or that it did not answer.
func (b *Builder) tellRefused(slot phase0.Slot, relay Relay, err error) {
	e := devnet.Event{Actor: b.Name, At: relay.Name, Slot: int(slot), Subject: devnet.RequestFailed}
	refused := (*client.Error)(nil)
	switch {
	case errors.Is(err, context.Canceled):
		return
	case errors.As(err, &refused):
		e.Subject, e.Status, e.Refusal = devnet.RequestRefused, refused.Status, refused.Refusal
	}
	b.Tell(e)
}

// burstAtOnce is how many submissions of a burst are sent at a time.
const burstAtOnce = 32

// burst submits a block many times at once. Each submission bids one wei less than the one before.
func (b *Builder) burst(ctx context.Context, a Attributes, duty client.Duty, built *chain.Built) {
	var sending errgroup.Group
	sending.SetLimit(burstAtOnce)
	for i := range b.Conduct.Burst {
		one, err := b.sign(a, duty, built, new(uint256.Int).SubUint64(built.PaidWei, uint64(i)+1))
		if err != nil || ctx.Err() != nil {
			break
		}
		sending.Go(func() error {
			b.submitAtOnce(ctx, one)
			return nil
		})
	}
	_ = sending.Wait() // the functions return no errors
}

// submitKept sends the submissions of the last auction again.
func (b *Builder) submitKept(ctx context.Context) {
	for _, one := range b.kept {
		b.submitAtOnce(ctx, one)
	}
	b.kept = nil
}
