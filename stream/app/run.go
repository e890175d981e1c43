package app

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
)

const (
	// closeTimeout bounds the orderly closing of the stores.
	closeTimeout = 5 * time.Second
	// listenersGrace is how long listeners have to read what was published before the stop.
	listenersGrace = time.Second
)

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Run reads the journal, writes the history and publishes events, until the context ends. It
// returns nil after an orderly stop.
func (a *App) Run(ctx context.Context) error { return run.Together(ctx, a.parts()...) }

func (a *App) parts() []func(context.Context) error {
	return []func(context.Context) error{
		func(ctx context.Context) error { return a.history.Follow(ctx, a.journal) },
		func(ctx context.Context) error {
			a.history.Keep(ctx, a.cfg.Clock.Now, a.cfg.Retention)
			return nil
		},
	}
}

// Serve is Run that also answers requests on the listener. When the context ends, listeners get
// what was published, and then their streams end.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	return run.Behind(ctx, func(serving context.Context) error {
		return serve.Serve(serving, listener, a.handler, serve.Options{
			Log: a.cfg.Log, Grace: listenersGrace, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections,
			ConnsPerAddress: a.cfg.Limits.ConnectionsPerAddress, Watcher: a.watched.http,
			TrustedProxies: a.cfg.Limits.TrustedProxies, HTTP2: true,
		})
	}, append(a.parts(), func(behind context.Context) error { return a.closeListeners(ctx, behind) })...)
}

// closeListeners waits for the stop and for Linger, and then ends the streams, which would not end
// by themselves. Slow listeners are cut after listenersGrace.
func (a *App) closeListeners(ctx, behind context.Context) error {
	select {
	case <-ctx.Done():
	case <-behind.Done():
		return nil
	}
	select {
	case <-time.After(a.cfg.Limits.Linger):
	case <-behind.Done():
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), listenersGrace)
	defer cancel()
	if err := a.broadcast.Close(leaving); err != nil {
		a.cfg.Log.Info("some listeners did not take what was published before the stop", "listeners",
			a.broadcast.Stats().Listeners)
	}
	return nil
}

// Close closes what New has opened, also if New has failed.
func (a *App) Close() error { return a.opened.Close(closeTimeout) }
