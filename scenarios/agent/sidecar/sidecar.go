// Package sidecar stands between the lab's validators and their relays and plays the games that a
// plan tells it to: it asks late, asks often, hands signed blocks over late, twice or changed.
// Where a plan says nothing it is honest.
//
//	proposer ─Header─▶ wait for the plan's time ─▶ relays (once, or again and again)
//	         ─Submit─▶ wait ─▶ as it is, never, thrice, spoiled, or with a second block beside it ─▶ relays
package sidecar

import (
	"context"
	"log/slog"
	"sync"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/scenarios/plan"
)

// Config says what the sidecar does, and for whom.
type Config struct {
	// Honest is the sidecar that really speaks to relays.
	Honest proposer.Sidecar
	Spec   *eth.Spec
	Clock  clock.Clock
	// Keys sign the second blocks of validators that equivocate, and the spoiled ones of those that
	// unbundle.
	Keys  map[phase0.ValidatorIndex]*bls.SecretKey
	Plans []plan.ProposerPlan
	Log   *slog.Logger
}

// Sidecar is a proposer.Sidecar. It is safe for concurrent use.
type Sidecar struct{ Config }

var _ proposer.Sidecar = (*Sidecar)(nil)

// New returns a sidecar.
func New(cfg Config) *Sidecar { return &Sidecar{Config: cfg} }

// moves are what the plan says of a slot.
func (s *Sidecar) moves(slot phase0.Slot) []plan.Move {
	for _, one := range s.Plans {
		if one.Slots.Has(int(slot)) {
			return one.Strategy
		}
	}
	return nil
}

// move is the move of a slot that begins with a word.
func (s *Sidecar) move(slot phase0.Slot, word string) (plan.Move, bool) {
	for _, m := range s.moves(slot) {
		if m.Is(word) {
			return m, true
		}
	}
	return plan.Move{}, false
}

// Register implements proposer.Sidecar: a registration storm is the same registrations again and
// again.
func (s *Sidecar) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	err := s.Honest.Register(ctx, batch)
	for _, one := range s.Plans {
		for _, m := range one.Strategy {
			if m.Is("register") {
				s.storm(ctx, batch, m.Count)
			}
		}
	}
	return err
}

// stormAtOnce is how many registrations are under way at a time.
const stormAtOnce = 16

func (s *Sidecar) storm(ctx context.Context, batch []*builderv1.SignedValidatorRegistration, times int) {
	var sending sync.WaitGroup
	places := make(chan struct{}, stormAtOnce)
	for range times {
		places <- struct{}{}
		sending.Go(func() {
			if err := s.Honest.Register(ctx, batch); err != nil && ctx.Err() == nil {
				s.Log.Warn("registration of a storm failed", "error", err)
			}
			<-places
		})
	}
	sending.Wait()
}

// apart is the time between repeated requests.
const apart = 100 * time.Millisecond

// Header implements proposer.Sidecar.
func (s *Sidecar) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32,
	validator phase0.BLSPubKey) (*proposer.Bid, error) {
	if _, local := s.move(slot, "local"); local {
		return nil, nil
	}
	if m, ok := s.move(slot, "request"); ok {
		if err := s.Clock.Until(ctx, s.Spec.SlotStart(slot).Add(m.Time)); err != nil {
			return nil, err
		}
	}
	best, err := s.Honest.Header(ctx, slot, parent, validator)
	if m, ok := s.move(slot, "repeat"); ok {
		for range m.Count - 1 {
			if s.Clock.Until(ctx, s.Clock.Now().Add(apart)) != nil {
				break
			}
			if later, problem := s.Honest.Header(ctx, slot, parent, validator); problem == nil && later != nil {
				best, err = later, nil
			}
		}
	}
	return best, err
}

// Submit implements proposer.Sidecar.
func (s *Sidecar) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	slot, err := block.Slot()
	if err != nil {
		return err
	}
	if m, ok := s.move(slot, "submit"); ok {
		if err := s.Clock.Until(ctx, s.Spec.SlotStart(slot).Add(m.Time)); err != nil {
			return err
		}
	}
	if _, silent := s.move(slot, "silent"); silent {
		return nil
	}
	if _, ok := s.move(slot, "unbundle"); ok {
		spoiled, err := s.changed(block, func(b *beaconBlock) { b.stateRoot[0] ^= 1 })
		if err != nil {
			return err
		}
		return s.Honest.Submit(ctx, spoiled)
	}
	err = s.Honest.Submit(ctx, block)
	if _, again := s.move(slot, "replay"); again {
		for range 2 {
			err = s.Honest.Submit(ctx, block)
		}
	}
	if m, twice := s.move(slot, "equivocate"); twice {
		if err := s.Clock.Until(ctx, s.Spec.SlotStart(slot).Add(m.Time)); err != nil { // without a time it is now
			return err
		}
		second, problem := s.changed(block, func(b *beaconBlock) { copy(b.graffiti[:], "a second block") })
		if problem != nil {
			return problem
		}
		_ = s.Honest.Submit(ctx, second) // what relays say of it is told by those who listen on the connection
	}
	return err
}
