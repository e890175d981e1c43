package proposer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	builderapi "github.com/attestantio/go-builder-client/api"
	"github.com/attestantio/go-eth2-client/api"
)

// Healthy returns nil if a relay says that it is healthy.
func (a *Aggregator) Healthy(ctx context.Context) error {
	return a.enough("ask for the status", forEach(a.Relays, func(_ int, r Relay) error {
		return r.Client.Status(ctx)
	}))
}

// Publish does what Submit does, and returns as soon as one relay has published the block. The
// other relays go on, each for at most the timeout, so that more than one publishes it.
func (a *Aggregator) Publish(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock,
	timeout time.Duration) error {
	relays, hash, err := a.offering(block)
	if err != nil {
		return err
	}
	_, err = first(ctx, timeout, relays, func(ctx context.Context, r Relay) (struct{}, error) {
		return struct{}{}, publish(ctx, r.Client, block, hash)
	})
	return err
}

// Reveal sends the block to the relays that offered its header by version 1 of the endpoint. It
// returns the first payload that is the one of the header; the other relays go on, as in Publish.
func (a *Aggregator) Reveal(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock,
	timeout time.Duration) (*builderapi.VersionedSubmitBlindedBlockResponse, error) {
	relays, hash, err := a.offering(block)
	if err != nil {
		return nil, err
	}
	return first(ctx, timeout, relays,
		func(ctx context.Context, r Relay) (*builderapi.VersionedSubmitBlindedBlockResponse, error) {
			return unblind(ctx, r.Client, block, hash)
		})
}

// first calls a function for all relays at once, and returns the first result. If no call succeeds,
// it returns all errors. The other calls go on after it has returned, until the timeout.
func first[T any](ctx context.Context, timeout time.Duration, relays []Relay,
	do func(context.Context, Relay) (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	outcomes := make(chan outcome, len(relays))
	var group sync.WaitGroup
	for _, r := range relays {
		group.Go(func() {
			value, err := do(detached, r)
			if err != nil {
				err = fmt.Errorf("%s: %w", r.Client.URL(), err)
			}
			outcomes <- outcome{value, err}
		})
	}
	go func() {
		group.Wait()
		cancel()
	}()
	var errs []error
	for range relays {
		o := <-outcomes
		if o.err == nil {
			return o.value, nil
		}
		errs = append(errs, o.err)
	}
	var none T
	return none, errors.Join(errs...)
}
