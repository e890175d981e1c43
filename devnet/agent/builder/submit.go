package builder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// submission is a signed bid.
type submission struct {
	slot          phase0.Slot
	request       *builderspec.VersionedSubmitBlockRequest
	cancellations bool
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
	request, err := changed.Submission(trace, key.Sign(eth.SigningRoot(root, b.Spec.BuilderDomain())))
	return submission{slot: a.Slot, request: request}, err
}

// submit sends a bid to all relays at once. It is enough if one accepts it.
func (b *Builder) submit(ctx context.Context, one submission) error {
	errs := make([]error, len(b.Relays))
	var sending sync.WaitGroup
	for i, relay := range b.Relays {
		sending.Go(func() {
			options := client.SubmitOptions{Cancellations: one.cancellations}
			if _, err := relay.SubmitBlock(ctx, one.request, options); err != nil {
				errs[i] = fmt.Errorf("submit to %s: %w", relay.URL(), err)
				b.tellRefused(one.slot, relay, err)
			}
		})
	}
	sending.Wait()
	err := errors.Join(errs...)
	for _, e := range errs {
		if e == nil {
			if err != nil {
				b.Log.Warn("bid not taken by all relays", "builder", b.Name, "error", err)
			}
			return nil
		}
	}
	return err
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
			_ = b.submit(ctx, one) // submit reports what relays answer
			return nil
		})
	}
	_ = sending.Wait() // the functions return no errors
}

// submitKept sends the submissions of the last auction again.
func (b *Builder) submitKept(ctx context.Context) {
	for _, one := range b.kept {
		_ = b.submit(ctx, one) // submit reports what relays answer
	}
	b.kept = nil
}
