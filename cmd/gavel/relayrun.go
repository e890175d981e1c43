package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay/app"
)

// serveRelay opens the listeners first, so that a port in use is reported at once. Then it opens
// the relay, and serves it until the context ends.
func serveRelay(ctx context.Context, cfg relayConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	doors, err := openDoors(cfg.listen, cfg.adminListen, cfg.proposerListen)
	if err != nil {
		return err
	}
	defer doors.close()
	pool, err := node.New(node.Config{
		URLs: cfg.validationNodes, PerNode: cfg.validationConcurrency, Timeout: cfg.relay.ValidationTimeout * 2 / 3, Log: log,
	})
	if err != nil {
		return run.Usage(err)
	}
	cfg.relay.Validator, cfg.relay.ValidatorLive, cfg.relay.Log = pool, pool.Live, log
	cfg.relay.ValidationNodes, cfg.relay.Settings = pool.Works, cfg.settings
	key := cfg.relay.Key.PublicKey()
	log.Info("relay starts", "pubkey", fmt.Sprintf("%#x", key[:]), "network", cfg.relay.Network, "beacon_nodes",
		len(cfg.relay.BeaconURLs))
	var relay *app.App
	err = doors.whileOpening("a beacon node (--beacon)", func(tell func(string)) (err error) {
		cfg.relay.Journal.Waiting = tell
		relay, err = app.New(ctx, cfg.relay)
		return err
	})
	if err != nil {
		return err
	}
	defer logStop(ctx, log, "relay")()
	log.Info("relay serves", "address", doors.public.Addr().String(), "admin", cfg.adminListen, "proposers",
		cfg.proposerListen)
	return errors.Join(doors.serve(ctx, withProposers{relay, doors.proposers}), relay.Close())
}

// withProposers is a relay that serves proposers at a listener of their own as well, unless that is
// nil.
type withProposers struct {
	*app.App
	listener net.Listener
}

// Serve implements service.
func (r withProposers) Serve(ctx context.Context, public net.Listener) error {
	return r.ServeBoth(ctx, public, r.listener)
}
