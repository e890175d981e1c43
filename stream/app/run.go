package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/serve"
)

const (
	// closeTimeout bounds the orderly closing of the stores.
	closeTimeout = 5 * time.Second
	// goodbye is how long listeners may take what was published before the stop.
	goodbye = time.Second
)

// Handler is the public API.
func (a *App) Handler() http.Handler { return a.handler }

// Run reads the journal, keeps the history and tells the listeners, until the context ends. It returns nil after an orderly stop.
func (a *App) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := a.history.Follow(ctx, a.journal); ctx.Err() == nil {
			return err
		}
		return nil
	})
	group.Go(func() error {
		a.history.Keep(ctx, a.cfg.Clock.Now, a.cfg.Retention)
		return nil
	})
	return group.Wait()
}

// Serve answers requests on the listener and works until the context ends; then listeners get what was published and are let go.
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
			Log: a.cfg.Log, Grace: goodbye, Linger: a.cfg.Limits.Linger, MaxConns: a.cfg.Limits.Connections, Watcher: a.watched.http,
			TrustedProxies: a.cfg.Limits.TrustedProxies, HTTP2: true,
		})
	})
	group.Go(func() error { return a.Run(behind) })
	group.Go(func() error { return a.dismiss(ctx, behind) })
	return group.Wait()
}

// dismiss waits for the stop and ends the streams, which would not end by themselves; those who are slow are cut a moment later.
func (a *App) dismiss(ctx, behind context.Context) error {
	select {
	case <-ctx.Done():
	case <-behind.Done():
		return nil
	}
	select {
	case <-time.After(a.cfg.Limits.Linger):
	case <-behind.Done():
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if err := a.audience.Close(leaving); err != nil {
		a.cfg.Log.Info("some listeners did not take what was published before the stop", "listeners", a.audience.Stats().Listeners)
	}
	return nil
}

// Close closes the stores. It may be called on an App that New could not finish.
func (a *App) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	if a.watched.shutdown != nil {
		errs = append(errs, a.watched.shutdown(ctx))
	}
	if a.journal != nil && a.cfg.Source == nil {
		errs = append(errs, a.journal.Close(ctx))
	}
	if a.history != nil {
		errs = append(errs, a.history.Close())
	}
	return errors.Join(errs...)
}
