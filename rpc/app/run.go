package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

const (
	// stopGrace is how long running requests go on undisturbed after the stop.
	stopGrace = 3 * time.Second
	// closeTimeout bounds the orderly closing of the stores.
	closeTimeout = 5 * time.Second
	// bodyPatience is how long a body waits for memory.
	bodyPatience = 250 * time.Millisecond
)

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Journal is where the service's facts are: an event stream in the same process reads it as its Source. It is open until Close.
func (a *App) Journal() *journal.Journal { return a.journal }

// Head is the newest block that the service knows.
func (a *App) Head() rpc.Head { return a.desk.Head() }

// Run follows the chain, simulates and sends orders, and keeps the ledger, until the context ends. It returns nil after an orderly stop.
func (a *App) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range []func(context.Context) error{
		a.desk.Run, a.sender.Run, func(ctx context.Context) error { return a.ledger.Follow(ctx, a.journal) }, a.keepLedger,
	} {
		group.Go(func() error {
			if err := part(ctx); ctx.Err() == nil {
				return err
			}
			return nil
		})
	}
	return group.Wait()
}

// Serve answers requests on the listener and works until the context ends; then it lets running requests finish, and only after them stops what
// they need.
func (a *App) Serve(ctx context.Context, listener net.Listener) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, behind := errgroup.WithContext(behind)
	group.Go(func() error {
		defer stop()
		serving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(behind, cancel)() // a part that broke down ends the service
		return serve.Serve(serving, listener, a.handler, serve.Options{
			Log: a.cfg.Log, Grace: stopGrace, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections, Watcher: a.watched.http,
			Bodies: serve.NewBodyBudget(a.cfg.Limits.BodyBytes, bodyPatience), TrustedProxies: a.cfg.Limits.TrustedProxies,
		})
	})
	group.Go(func() error { return a.Run(behind) })
	return group.Wait()
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
	if a.ledger != nil {
		errs = append(errs, a.ledger.Close())
	}
	return errors.Join(errs...)
}

// pruneEvery is how often the ledger forgets what the operator does not want to keep (wall time).
const pruneEvery = time.Hour

// keepLedger has the ledger forget orders that ended long ago.
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
