package main

import (
	"context"
	"errors"
	"net"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream/app"
)

// serveStream opens the listeners first, so that a port that is taken is said at once, then the service, and runs both until the context ends.
func serveStream(ctx context.Context, cfg streamConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	public, err := serve.Listen(cfg.listen)
	if err != nil {
		return err
	}
	defer public.Close() //nolint:errcheck // closed by its server already, unless the service could not be opened
	var admin net.Listener
	if cfg.adminListen != "" {
		if admin, err = serve.Listen(cfg.adminListen); err != nil {
			return err
		}
		defer admin.Close() //nolint:errcheck // as above
	}
	cfg.stream.Log = log
	service, err := app.New(ctx, cfg.stream)
	if err != nil {
		return err
	}
	log.Info("stream serves", "address", public.Addr().String(), "admin", cfg.adminListen, "network", cfg.stream.Network)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return service.Serve(ctx, public) })
	if admin != nil {
		group.Go(func() error { return service.ServeAdmin(ctx, admin) })
	}
	return errors.Join(group.Wait(), service.Close())
}
