package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/rpc/inclusion"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
	"github.com/gavel-relay/gavel/rpc/method"
	"github.com/gavel-relay/gavel/rpc/send"
)

// App is an opened service. New opens it, Run runs it, Close closes it.
type App struct {
	cfg    Config
	opened run.Opened
	// What openStores opens.
	journal *journal.Journal
	lease   *lease
	ledger  *ledger.Ledger
	// What wire makes, in its order. snapshots store what a start needs besides the facts.
	watched    observed
	facts      *facts
	reputation *ledger.Reputation
	refunds    *refundState
	snapshots  *snapshots
	keeper     keeper
	simulation simulation
	sender     *send.Sender
	indexer    *inclusion.Indexer
	lifecycle  *lifecycle.Lifecycle
	methods    []method.Method
	handler    http.Handler
}

// New opens the stores, restores what earlier runs knew, and catches up with the chain.
func New(ctx context.Context, cfg Config) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open(ctx context.Context) error {
	if err := a.openStores(ctx); err != nil {
		return err
	}
	if err := a.wire(); err != nil {
		return err
	}
	if err := a.restore(ctx); err != nil {
		return err
	}
	a.lifecycle.CountFrom(a.lease.term.Number << termShift)
	return a.lifecycle.Begin(ctx)
}

// openStores opens the ledger and the journal, which only this process may use.
func (a *App) openStores(ctx context.Context) (err error) {
	a.cfg.Journal.Log = a.cfg.Log
	if a.cfg.DataDir != "" {
		a.cfg.Journal.Dir = filepath.Join(a.cfg.DataDir, "journal")
	}
	if a.journal, err = journal.Open(ctx, a.cfg.Journal); err != nil {
		return err
	}
	a.opened.Add(a.journal.Close)
	if err := a.journal.KeepNetwork(ctx, a.cfg.network()); err != nil {
		return err
	}
	watch := time.Duration(0) // a journal in this process has a folder that only one process can open
	if a.cfg.Journal.URL != "" {
		watch = beatWatch
	}
	if a.lease, err = acquireLease(ctx, a.journal, watch); err != nil {
		return err
	}
	a.opened.Add(a.lease.release)
	if a.ledger, err = ledger.Open(ctx, a.database(), ledger.Config{
		EarliestBlock: a.cfg.EarliestBlock, DetailsDelay: a.cfg.DetailsDelay, TotalsEvery: a.cfg.TotalsEvery, Log: a.cfg.Log,
	}); err != nil {
		return err
	}
	a.opened.AddCloser(a.ledger.Close)
	if err := a.ledger.CheckAtStart(ctx, a.journal); err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	return nil
}

func (a *App) database() string {
	switch {
	case a.cfg.Database != "":
		return a.cfg.Database
	case a.cfg.DataDir != "":
		return "sqlite:" + filepath.Join(a.cfg.DataDir, "ledger.db")
	}
	return "sqlite::memory:"
}
