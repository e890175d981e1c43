package proposer

import (
	"context"
	"log/slog"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// Conduct is what a sidecar does for the proposer of a slot. The zero value is honest: it asks when
// the slot begins and submits the signed block at once. Times are relative to the slot's start.
type Conduct struct {
	// Local asks no relay. Silent asks for a header, but submits no block.
	Local, Silent bool
	// RequestAt is the earliest time at which the header is requested, SubmitAt the earliest time
	// at which the block is submitted.
	RequestAt, SubmitAt time.Duration
	// Requests is how often the header is requested; the last answer with a bid counts. 0 means 1.
	Requests int
	// Unbundle submits a block that cannot be published, to learn the payload.
	Unbundle bool
	// Replay submits the same block three times.
	Replay bool
	// Equivocate signs a second block of the slot and submits it after the first one, at
	// EquivocateAt at the earliest.
	Equivocate   bool
	EquivocateAt time.Duration
	// Withhold does not reveal a payload of the proposer's own beacon node, from gloas on.
	Withhold bool
	// MaxPayment is how much of a payment within the payload counts, from gloas on; nil means all. It
	// is also sent to builders beforehand, unless it is Secret.
	MaxPayment *phase0.Gwei
	Secret     bool
	// MinBid is the least that a bid must count for, from gloas on. Boost is the percentage at which
	// bids are weighed against the own payload; nil means that of all slots.
	MinBid phase0.Gwei
	Boost  *uint64
	// StaleAuth asks builders by their URL in the place of its host, from gloas on. Unheard tells
	// nobody what the proposer prefers. Contradict asks for another fee recipient on each branch.
	StaleAuth, Unheard, Contradict bool
}

// Games is a sidecar that misbehaves as its strategy says. It stands between validators and an
// honest sidecar: it requests headers late or often, and submits signed blocks late, several times
// or changed. It is safe for concurrent use.
//
//	proposer ─Header─▶ wait for the time ─▶ relays (once, or again and again)
//	         ─Submit─▶ wait ─▶ as it is, never, thrice, spoiled, or with a second block beside it ─▶ relays
type Games struct {
	Honest Sidecar
	// Strategy is pure: the conduct in a slot depends on the slot only.
	Strategy func(phase0.Slot) Conduct
	// Storm is how many more times registrations are sent.
	Storm int
	Spec  *eth.Spec
	Clock clock.Clock
	// Keys sign the second blocks of validators that equivocate, and the spoiled blocks of those
	// that unbundle.
	Keys map[phase0.ValidatorIndex]*bls.SecretKey
	Log  *slog.Logger
}

var _ Sidecar = (*Games)(nil)

// Register implements Sidecar. It sends the same registrations Storm more times.
func (g *Games) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	err := g.Honest.Register(ctx, batch)
	g.storm(ctx, batch)
	return err
}

// stormAtOnce is how many requests of a storm run at a time.
const stormAtOnce = 16

func (g *Games) storm(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) {
	var sending sync.WaitGroup
	places := make(chan struct{}, stormAtOnce)
	for range g.Storm {
		places <- struct{}{}
		sending.Go(func() {
			if err := g.Honest.Register(ctx, batch); err != nil && ctx.Err() == nil {
				g.Log.Warn("registration of a storm failed", "error", err)
			}
			<-places
		})
	}
	sending.Wait()
}

// apart is the time between repeated requests.
const apart = 100 * time.Millisecond

// Header implements Sidecar.
func (g *Games) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32,
	validator phase0.BLSPubKey) (*Bid, error) {
	conduct := g.Strategy(slot)
	if conduct.Local {
		return nil, nil
	}
	if err := g.until(ctx, slot, conduct.RequestAt); err != nil {
		return nil, err
	}
	best, err := g.Honest.Header(ctx, slot, parent, validator)
	for range conduct.Requests - 1 {
		if g.Clock.Until(ctx, g.Clock.Now().Add(apart)) != nil {
			break
		}
		if later, problem := g.Honest.Header(ctx, slot, parent, validator); problem == nil && later != nil {
			best, err = later, nil
		}
	}
	return best, err
}

// until waits for a time in a slot. A zero moment does not wait, whatever the clock says.
func (g *Games) until(ctx context.Context, slot phase0.Slot, moment time.Duration) error {
	if moment == 0 {
		return nil
	}
	return g.Clock.Until(ctx, g.Spec.SlotStart(slot).Add(moment))
}

// Submit implements Sidecar.
func (g *Games) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	slot, err := block.Slot()
	if err != nil {
		return err
	}
	conduct := g.Strategy(slot)
	if err := g.until(ctx, slot, conduct.SubmitAt); err != nil {
		return err
	}
	switch {
	case conduct.Silent:
		return nil
	case conduct.Unbundle:
		spoiled, err := g.changed(block, func(b *beaconBlock) { b.stateRoot[0] ^= 1 })
		if err != nil {
			return err
		}
		return g.Honest.Submit(ctx, spoiled)
	}
	err = g.Honest.Submit(ctx, block)
	if conduct.Replay {
		for range 2 {
			err = g.Honest.Submit(ctx, block)
		}
	}
	if conduct.Equivocate {
		if err := g.equivocate(ctx, slot, block, conduct.EquivocateAt); err != nil {
			return err
		}
	}
	return err
}

// equivocate submits a second block of the slot. It ignores the answer: a refusal is expected, and
// the Witness on the connection reports it.
func (g *Games) equivocate(ctx context.Context, slot phase0.Slot, block *api.VersionedSignedBlindedBeaconBlock,
	at time.Duration) error {
	if err := g.until(ctx, slot, at); err != nil {
		return err
	}
	second, err := g.changed(block, func(b *beaconBlock) { copy(b.graffiti[:], "a second block") })
	if err != nil {
		return err
	}
	_ = g.Honest.Submit(ctx, second) // see the function's comment
	return nil
}
