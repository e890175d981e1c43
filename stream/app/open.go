package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/history"
)

// New opens the journal and the history, and connects the packages to them.
func New(ctx context.Context, cfg Config) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.wire()
	return a, nil
}

// open opens everything that must be closed.
func (a *App) open(ctx context.Context) error {
	if err := a.openJournal(ctx); err != nil {
		return err
	}
	if err := a.openHistory(ctx); err != nil {
		return err
	}
	if err := a.openTracing(ctx); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}

// openJournal opens a journal, unless the caller has given an open one.
func (a *App) openJournal(ctx context.Context) (err error) {
	if a.journal = a.cfg.Source; a.journal != nil {
		return nil
	}
	from := a.cfg.Journal
	from.Log, from.ReadOnly = a.cfg.Log, from.URL != ""
	if a.cfg.DataDir != "" && from.URL == "" {
		from.Dir = filepath.Join(a.cfg.DataDir, "journal")
	}
	if a.journal, err = journal.Open(ctx, from); err != nil {
		return err
	}
	a.opened.Add(a.journal.Close)
	return nil
}

// openHistory opens the history, and refuses a database of another journal.
func (a *App) openHistory(ctx context.Context) (err error) {
	config := history.Config{Project: a.project, Log: a.cfg.Log}
	if a.history, err = history.Open(ctx, a.databaseURL(), config); err != nil {
		return err
	}
	a.opened.AddCloser(a.history.Close)
	if err := a.history.CheckAtStart(ctx, a.journal); err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	return nil
}

// project makes an order's public line; nil if nothing of it is shared.
func (a *App) project(shared *orderflow.Shared) ([]byte, error) {
	return stream.ProjectHints(shared, *a.cfg.Hints)
}

func (a *App) databaseURL() string {
	switch {
	case a.cfg.Database != "":
		return a.cfg.Database
	case a.cfg.DataDir != "":
		return "sqlite:" + filepath.Join(a.cfg.DataDir, "history.db")
	}
	return "sqlite::memory:"
}
