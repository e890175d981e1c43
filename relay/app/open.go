package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/beacon"
)

// open opens the relay's stores, and asks a beacon node for the network. Close closes the stores in
// the opposite order.
func (a *App) open(ctx context.Context) (err error) {
	cfg := a.cfg
	cfg.Journal.Dir, cfg.Journal.Log, cfg.Journal.StartTimeout = within(cfg.DataDir, "journal"), cfg.Log, cfg.StartTimeout
	cfg.Journal.AuctionLog = true
	if a.journal, err = journal.Open(ctx, cfg.Journal); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	a.opened.Add(a.journal.Close)
	if a.archive, err = archive.Open(ctx, databaseOf(cfg), cfg.Log); err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	a.opened.AddCloser(a.archive.Close)
	if err := a.archive.CheckAtStart(ctx, a.journal); err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	if a.nodes, err = beacon.New(beacon.Config{URLs: cfg.BeaconURLs}, cfg.Log); err != nil {
		return err
	}
	if a.spec, err = a.waitForSpec(ctx); err != nil {
		return err
	}
	if err := eth.CheckNetwork(cfg.Network, a.spec); err != nil {
		return err
	}
	if err := a.journal.KeepNetwork(ctx, networkOf(a.spec)); err != nil {
		return err
	}
	a.warnOfForks()
	if cfg.Journal.URL != "" {
		a.instance = rand.Text()[:12]
		a.log.Info("this is one instance of a cluster", "instance", a.instance)
	}
	a.state = newState(a.journal, factEncoder{a.instance}, a.log)
	a.opened.Add(a.state.Close)
	if a.instance != "" {
		if a.others, err = newInstances(ctx, a); err != nil {
			return err
		}
	}
	a.topSync = newTopSync(escrow{a.journal}.sync, a.log)
	a.alerts = newAlerts(alertConfig{URLs: cfg.Webhooks, Log: a.log})
	return a.observe()
}

// databaseOf returns the URL of the archive.
func databaseOf(cfg Config) string {
	switch {
	case cfg.Database != "":
		return cfg.Database
	case cfg.DataDir == "":
		return "sqlite::memory:"
	default:
		return "sqlite:" + filepath.Join(cfg.DataDir, "archive.db")
	}
}

// within returns a folder in the data folder; empty if there is no data folder.
func within(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
