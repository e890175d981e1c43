package app

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

const (
	// stopGrace is how long running requests may continue after the stop.
	stopGrace = 3 * time.Second
	// closeTimeout bounds the time to close the stores in order.
	closeTimeout = 5 * time.Second
	// bodyPatience is how long a body waits for memory.
	bodyPatience = 250 * time.Millisecond
	// leastBodyBytes is the least memory for bodies that makes sense.
	leastBodyBytes = 64 << 20
)

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Journal is the journal of the service's facts: an event stream in the same process reads it as
// its Source. It is open until Close.
func (a *App) Journal() *journal.Journal { return a.journal }

// Head is the newest block that the service knows.
func (a *App) Head() rpc.Head { return a.lifecycle.Head() }

// Run follows the chain, simulates and sends orders, and updates the ledger, until the context
// ends. It returns nil after an orderly stop.
func (a *App) Run(ctx context.Context) error {
	return run.Together(ctx, a.parts()...)
}

func (a *App) parts() []func(context.Context) error {
	parts := []func(context.Context) error{
		a.lifecycle.Run, a.sender.Run, func(ctx context.Context) error {
			return a.ledger.Follow(ctx, a.journal)
		}, a.keepLedger, a.keepState, a.snapshots.keep,
	}
	if a.lease != nil {
		parts = append(parts, a.lease.renew)
	}
	return parts
}

// Serve serves requests on the listener, and does what Run does, until the context ends. Then it
// lets running requests finish, and only after that stops the parts that they need.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	return run.Behind(ctx, func(ctx context.Context) error {
		return serve.Serve(ctx, listener, a.handler, a.cfg.serving(a.watched.http))
	}, a.parts()...)
}

// serving bounds what clients can cost.
func (c *Config) serving(watcher serve.Watcher) serve.Options {
	return serve.Options{
		Log: c.Log, Grace: stopGrace, Linger: c.Limits.Linger, MaxConns: c.Limits.Connections,
		ConnsPerAddress: c.Limits.ConnectionsPerAddress, Watcher: watcher,
		Bodies: c.bodies(), TrustedProxies: c.Limits.TrustedProxies,
	}
}

// bodies bounds the memory for request bodies, and the time in which they must arrive.
func (c *Config) bodies() *serve.BodyBudget {
	bodies := serve.NewBodyBudget(max(c.Limits.BodyBytes, leastBodyBytes), bodyPatience, c.Limits.TrustedProxies...)
	bodies.LeastRate = c.Limits.BodyBytesPerSecond
	return bodies
}

// Close closes the stores. It may be called on an App that New could not finish.
func (a *App) Close() error { return a.opened.Close(closeTimeout) }

// pruneEvery is how often the ledger forgets old orders (wall time).
const pruneEvery = time.Hour

// keepLedger makes the ledger forget orders that ended longer ago than OrdersFor.
func (a *App) keepLedger(ctx context.Context) error {
	if a.cfg.OrdersFor <= 0 {
		return nil
	}
	for {
		forgotten, err := a.ledger.Prune(ctx, a.cfg.Clock.Now().Add(-a.cfg.OrdersFor))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			a.cfg.Log.Warn("the ledger could not forget old orders", "error", err)
		case forgotten > 0:
			a.cfg.Log.Info("the ledger forgot old orders", "orders", forgotten)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pruneEvery):
		}
	}
}
