package app

import (
	"context"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
)

// stopGrace is how long running requests go on undisturbed after the stop at least. answerTime is
// what their answers are given on top.
const (
	stopGrace  = 3 * time.Second
	answerTime = 2 * time.Second
)

// closeTimeout bounds the orderly closing of the stores.
const closeTimeout = 5 * time.Second

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Spec is the network that the relay found.
func (a *App) Spec() *eth.Spec { return a.spec }

// Serve answers requests on the listener and follows the chain until the context ends; then it lets
// running requests finish, and only after them stops what they need. It returns nil after an
// orderly stop.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	return a.ServeBoth(ctx, listener, nil)
}

// ServeBoth is Serve with a second listener, unless it is nil, for proposers alone: it has as many
// connections as the public one, and allowances of its own, so that nobody at the public one can
// take them.
func (a *App) ServeBoth(ctx context.Context, public, proposers net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		a.stopping.Store(true)
		a.sayGoodbye(context.WithoutCancel(ctx))
	})()
	return run.Behind(ctx, func(ctx context.Context) error {
		options := a.serving()
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return serve.Serve(ctx, public, a.handler, options) })
		if proposers != nil {
			group.Go(func() error { return serve.Serve(ctx, proposers, a.proposers, options) })
		}
		return group.Wait()
	}, a.followChain, a.submit.Run, a.alerts.Run, a.topSync.Run, a.keepRegistrations, a.probe.Run, a.watchArchive,
		func(ctx context.Context) error { return a.archive.Follow(ctx, a.journal) }, a.keepArchive)
}

// serving is how the public API is served. A payload whose block is being published when the stop
// comes is still revealed, however long the beacon nodes may take.
func (a *App) serving() serve.Options {
	grace := max(stopGrace, a.cfg.PublishTimeout+a.cfg.RevealDelay)
	return serve.Options{
		Log: a.log, Grace: grace, Drain: grace + answerTime, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections,
		ConnsPerAddress: a.cfg.Limits.ConnectionsPerAddress,
		Watcher:         a.watched.http, Bodies: a.bodies(), TrustedProxies: a.cfg.Limits.TrustedProxies,
	}
}

// sayGoodbye ends the WebSockets, which the server does not know any more.
func (a *App) sayGoodbye(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if err := a.broadcast.Close(ctx); err != nil {
		a.log.Warn("some listeners to the leading bids did not leave", "error", err)
	}
}

// keepRegistrations verifies and records what registrations leave for later; what waits when the
// context ends is recorded then.
func (a *App) keepRegistrations(ctx context.Context) error {
	a.registry.Run(ctx, a.cfg.Clock)
	a.registry.Flush(a.cfg.Clock.Now())
	return nil
}

// keepArchive forgets what the operator does not want to keep.
func (a *App) keepArchive(ctx context.Context) error {
	if a.cfg.ReceivedFor > 0 {
		a.archive.Keep(ctx, a.cfg.Clock.Now, a.cfg.ReceivedFor)
	}
	return nil
}

// Close closes the stores. It may be called on an App that New could not finish.
func (a *App) Close() error { return a.opened.Close(closeTimeout) }
