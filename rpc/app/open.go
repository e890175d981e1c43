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
	// A service that has the journal for itself has a lease, one of several instances a seat.
	lease  *soleLease
	seat   *seat
	ledger *ledger.Ledger
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

// newOwner is New for an instance that has taken the lease.
func newOwner(ctx context.Context, cfg Config, s *seat) (*App, error) {
	a := &App{cfg: cfg, seat: s}
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
	a.lifecycle.CountFrom(a.term() << termShift)
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
	if err := a.openTerm(ctx); err != nil {
		return err
	}
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

// openTerm makes sure that nobody else works with the journal.
func (a *App) openTerm(ctx context.Context) (err error) {
	if a.seat != nil {
		if err := a.journal.BeginTerm(ctx, factScope, a.seat.number); err != nil {
			return err
		}
		return ownState{a.journal, a.seat}.claimLists(ctx)
	}
	watch := time.Duration(0) // a journal in this process has a folder that only one process can open
	if a.cfg.Journal.URL != "" {
		watch = beatWatch
	}
	if a.lease, err = acquireLease(ctx, a.journal, watch); err != nil {
		return err
	}
	a.opened.Add(a.lease.release)
	return nil
}

// term is the number of this run, or of this instance's ownership.
func (a *App) term() uint64 {
	if a.seat != nil {
		return a.seat.number
	}
	return a.lease.term.Number
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
