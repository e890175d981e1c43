package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/app"
)

// serveRelay opens the listeners first, so that a port that is taken is said at once, then the relay, and runs both until the context ends.
func serveRelay(ctx context.Context, cfg relayConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	public, err := serve.Listen(cfg.listen)
	if err != nil {
		return err
	}
	defer public.Close() //nolint:errcheck // closed by its server already, unless the relay could not be opened
	var admin net.Listener
	if cfg.adminListen != "" {
		if admin, err = serve.Listen(cfg.adminListen); err != nil {
			return err
		}
		defer admin.Close() //nolint:errcheck // as above
	}
	pool, err := node.New(node.Config{
		URLs: cfg.validationNodes, PerNode: cfg.validationConcurrency, Timeout: cfg.relay.ValidationTimeout * 2 / 3, Log: log,
	})
	if err != nil {
		return run.Usage(err)
	}
	cfg.relay.Validator, cfg.relay.ValidatorLive, cfg.relay.Log = pool, pool.Live, log
	key := cfg.relay.Key.PublicKey()
	log.Info("relay starts", "pubkey", fmt.Sprintf("%#x", key[:]), "network", cfg.relay.Network, "beacon_nodes", len(cfg.relay.BeaconURLs))
	relay, err := app.New(ctx, cfg.relay)
	if err != nil {
		return err
	}
	log.Info("relay serves", "address", public.Addr().String(), "admin", cfg.adminListen)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return relay.Serve(ctx, public) })
	if admin != nil {
		group.Go(func() error { return relay.ServeAdmin(ctx, admin) })
	}
	return errors.Join(group.Wait(), relay.Close())
}
