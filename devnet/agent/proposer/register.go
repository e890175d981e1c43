package proposer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

const (
	// registrationBatch is how many registrations go into one request.
	registrationBatch = 500
	// registerTimeout bounds each request to the sidecar, in wall time.
	registerTimeout = 3 * time.Second
)

// keepRegistered registers all validators in the given slot and then in each epoch, until the
// context ends. After a failure it tries again in the next slot. Validators can propose local
// blocks without being registered. Preferences of gloas are told again when the chain has been
// re-organised.
func (p *Proposer) keepRegistered(ctx context.Context, slot phase0.Slot) {
	for due := p.Spec.EpochOf(slot); p.Clock.Until(ctx, p.Spec.SlotStart(slot)) == nil; slot = max(slot+1,
		p.Spec.SlotAt(p.Clock.Now())) {
		epoch := p.Spec.EpochOf(slot)
		if epoch < due {
			if err := p.prefer(ctx, true); err != nil && ctx.Err() == nil {
				p.Log.Warn("preferences could not be told again", "slot", slot, "error", err)
			}
			continue
		}
		if err := p.prepare(ctx); err == nil {
			due = epoch + 1
		} else if ctx.Err() == nil {
			p.Log.Warn("registration failed", "slot", slot, "error", err)
		}
	}
}

// prepare sends all validators' fee recipients to the beacon node and registers them with the
// sidecar; from gloas on it sends preferences instead. If one of these fails, it still does the
// others.
func (p *Proposer) prepare(ctx context.Context) error {
	errs := []error{p.prefer(ctx, false)}
	if err := p.beacon.prepare(ctx, p.indices(), p.FeeRecipient); err != nil {
		errs = append(errs, fmt.Errorf("tell the beacon node fee recipients: %w", err))
	}
	if !p.Spec.ForkAt(p.Spec.SlotAt(p.Clock.Now())).HasBlindedBlocks() {
		return errors.Join(errs...) // nobody registers any more
	}
	if err := p.register(ctx); err != nil {
		errs = append(errs, fmt.Errorf("register validators: %w", err))
	}
	return errors.Join(errs...)
}

// indices returns the indices of all validators, in order.
func (p *Proposer) indices() []phase0.ValidatorIndex { return slices.Sorted(maps.Keys(p.Keys)) }

// register sends all validators' registrations to the sidecar, dated now.
func (p *Proposer) register(ctx context.Context) error {
	at := p.Clock.Now().Truncate(time.Second)
	var errs []error
	for indices := range slices.Chunk(p.indices(), registrationBatch) {
		batch := make([]*builderv1.SignedValidatorRegistration, len(indices))
		for i, index := range indices {
			var err error
			if batch[i], err = p.registration(index, at); err != nil {
				return err
			}
		}
		errs = append(errs, p.sendRegistrations(ctx, batch))
	}
	return errors.Join(errs...)
}

func (p *Proposer) sendRegistrations(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	return p.Sidecar.Register(ctx, batch)
}

// registration returns a validator's registration, signed under the builder domain. at must be
// whole seconds.
func (p *Proposer) registration(index phase0.ValidatorIndex,
	at time.Time) (*builderv1.SignedValidatorRegistration, error) {
	key := p.Keys[index]
	message := &builderv1.ValidatorRegistration{
		FeeRecipient: p.FeeRecipient(index), GasLimit: p.GasLimit, Timestamp: at, Pubkey: key.PublicKey(),
	}
	root, err := message.HashTreeRoot()
	if err != nil {
		return nil, fmt.Errorf("hash registration: %w", err)
	}
	return &builderv1.SignedValidatorRegistration{Message: message,
		Signature: key.Sign(eth.SigningRoot(root, p.Spec.BuilderDomain()))}, nil
}
