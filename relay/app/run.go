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

// Serve answers requests on the listener and follows the chain until the context ends; then it lets running requests finish, and only after
// them stops what they need. It returns nil after an orderly stop.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		a.stopping.Store(true)
		a.sayGoodbye(context.WithoutCancel(ctx))
	})()
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, behind := errgroup.WithContext(behind)
	group.Go(func() error {
		defer stop()
		serving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(behind, cancel)() // a part that broke down ends the service
		return serve.Serve(serving, listener, a.handler, serve.Options{
			Log: a.log, Grace: stopGrace, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections,
			Watcher: a.watched.http, Bodies: serve.NewBodyBudget(a.cfg.Limits.BodyBytes, bodyPatience), TrustedProxies: a.cfg.Limits.TrustedProxies,
		})
	})
	for _, part := range []func(context.Context) error{
		a.followChain, a.receive.Run, a.alerts.Run,
		func(ctx context.Context) error { return a.archive.Follow(ctx, a.journal) }, a.keepArchive,
	} {
		group.Go(func() error { return untilDone(behind, part(behind)) })
	}
	return group.Wait()
}

// sayGoodbye ends the WebSockets, which the server does not know any more.
func (a *App) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if err := a.feed.Close(ctx); err != nil {
		a.log.Warn("some listeners to the leading bids did not leave", "error", err)
	}
}

// keepArchive forgets what the operator does not want to keep.
func (a *App) keepArchive(ctx context.Context) error {
	if a.cfg.ReceivedFor > 0 {
		a.archive.Keep(ctx, a.cfg.Clock.Now, a.cfg.ReceivedFor)
	}
	return nil
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
	if a.watched.shutdown != nil {
		errs = append(errs, a.watched.shutdown(ctx))
	}
	if a.facts != nil {
		errs = append(errs, a.facts.Close(ctx))
	}
	if a.journal != nil {
		errs = append(errs, a.journal.Close(ctx))
	}
	if a.archive != nil {
		errs = append(errs, a.archive.Close())
	}
	return errors.Join(errs...)
}
