package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// stopGrace is how long running requests go on undisturbed after the stop: a payload that is published should still be revealed.
const stopGrace = 3 * time.Second

// closeTimeout bounds the orderly closing of the stores.
const closeTimeout = 5 * time.Second

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Spec is the network that the relay found.
func (a *App) Spec() *eth.Spec { return a.spec }

// Serve answers requests on the listener and follows the chain until the context ends; then it lets running requests finish. It returns nil
// after an orderly stop.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return serve.Serve(ctx, listener, a.handler, serve.Options{Log: a.log, Grace: stopGrace})
	})
	group.Go(func() error { return untilDone(ctx, a.followChain(ctx)) })
	group.Go(func() error { return a.receive.Run(ctx) })
	group.Go(func() error { return untilDone(ctx, a.archive.Follow(ctx, a.journal)) })
	return group.Wait()
}

// untilDone forgets the error of a loop that ended because it was told to.
func untilDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Close closes the stores. It may be called on an App that New could not finish.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	if a.journal != nil {
		errs = append(errs, a.journal.Close(ctx))
	}
	if a.archive != nil {
		errs = append(errs, a.archive.Close())
	}
	return errors.Join(errs...)
}
