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

// stopGrace is how long running requests may go on after the stop, at least. answerTime is how much
// longer the server waits for their answers to be sent.
const (
	stopGrace  = 3 * time.Second
	answerTime = 2 * time.Second
)

// closeTimeout bounds the closing of the stores.
const closeTimeout = 5 * time.Second

// Handler returns the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Spec returns the network that the beacon nodes are on.
func (a *App) Spec() *eth.Spec { return a.spec }

// Serve answers requests on the listener and follows the chain until the context ends. Then it lets
// running requests finish, and after them stops the parts that they need. It returns nil after an
// orderly stop.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	return a.ServeBoth(ctx, listener, nil)
}

// ServeBoth is Serve with a second listener for proposers only, unless it is nil. That one has as
// many connections as the public one, and allowances of its own, so that clients of the public one
// cannot use them up.
func (a *App) ServeBoth(ctx context.Context, public, proposers net.Listener) error {
	defer context.AfterFunc(ctx, func() {
		a.stopping.Store(true)
		a.closeListeners(context.WithoutCancel(ctx))
	})()
	return run.Behind(ctx, func(ctx context.Context) error {
		options := a.serving()
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return serve.Serve(ctx, public, a.handler, options) })
		if proposers != nil {
			group.Go(func() error { return serve.Serve(ctx, proposers, a.proposers, options) })
		}
		return group.Wait()
	}, a.followChain, a.submit.Run, a.alerts.Run, a.topSync.Run, a.keepRegistrations, a.probe.Run,
		a.watchArchive, a.runSite, a.resumeSales,
		func(ctx context.Context) error { return a.archive.Follow(ctx, a.journal) }, a.keepArchive)
}

// serving returns the options of the public listeners. Its times are long enough that a payload is
// still revealed if its block is being published when the stop comes.
func (a *App) serving() serve.Options {
	grace := max(stopGrace, a.cfg.PublishTimeout+a.cfg.RevealDelay)
	return serve.Options{
		Log: a.log, Grace: grace, Drain: grace + answerTime, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections,
		ConnsPerAddress: a.cfg.Limits.ConnectionsPerAddress,
		Watcher:         a.watched.http, Bodies: a.bodies(), TrustedProxies: a.cfg.Limits.TrustedProxies,
	}
}

// closeListeners ends the WebSockets, and the streams of the website's viewers. The HTTP server
// does not do this: it has handed over the connections of the former, and waits for the latter.
func (a *App) closeListeners(ctx context.Context) {
	if a.site != nil {
		a.site.live.close()
	}
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	if err := a.broadcast.Close(ctx); err != nil {
		a.log.Warn("some listeners to the leading bids did not leave", "error", err)
	}
}

// keepRegistrations verifies renewals and records changes that wait, until the context ends. Then
// it records all changes that still wait.
func (a *App) keepRegistrations(ctx context.Context) error {
	a.registry.Run(ctx, a.cfg.Clock)
	a.registry.Flush(a.cfg.Clock.Now())
	return nil
}

// keepArchive deletes received blocks that are older than the operator wants to keep.
func (a *App) keepArchive(ctx context.Context) error {
	if a.cfg.ReceivedFor > 0 {
		a.archive.Keep(ctx, a.cfg.Clock.Now, a.cfg.ReceivedFor)
	}
	return nil
}

// Close closes the stores. New calls it too if it fails.
func (a *App) Close() error { return a.opened.Close(closeTimeout) }
