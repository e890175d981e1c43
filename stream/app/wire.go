package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	apihistory "github.com/gavel-relay/gavel/stream/api/history"
	"github.com/gavel-relay/gavel/stream/api/live"
	"github.com/gavel-relay/gavel/stream/audience"
	"github.com/gavel-relay/gavel/stream/hint"
	"github.com/gavel-relay/gavel/stream/history"
)

// App is an opened service. New opens it, Run keeps it going, Close closes it.
type App struct {
	cfg      Config
	journal  *journal.Journal
	history  *history.History
	audience *audience.Audience
	handler  http.Handler
	watched  observed
	opened   run.Opened
}

// New opens the stores.
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

func (a *App) open(ctx context.Context) (err error) {
	if a.journal = a.cfg.Source; a.journal == nil {
		from := a.cfg.Journal
		from.Log, from.ReadOnly = a.cfg.Log, from.URL != ""
		if a.cfg.DataDir != "" && from.URL == "" {
			from.Dir = filepath.Join(a.cfg.DataDir, "journal")
		}
		if a.journal, err = journal.Open(ctx, from); err != nil {
			return err
		}
		a.opened.Add(a.journal.Close)
	}
	if a.history, err = history.Open(ctx, a.database(), history.Config{Project: a.project, Publish: a.publish,
		Log: a.cfg.Log}); err != nil {
		return err
	}
	a.opened.AddCloser(a.history.Close)
	if err := a.history.CheckAtStart(ctx, a.journal); err != nil {
		return fmt.Errorf("open the history: %w", err)
	}
	return a.wire()
}

func (a *App) database() string {
	switch {
	case a.cfg.Database != "":
		return a.cfg.Database
	case a.cfg.DataDir != "":
		return "sqlite:" + filepath.Join(a.cfg.DataDir, "history.db")
	}
	return "sqlite::memory:"
}

func (a *App) project(shared *orderflow.Shared) ([]byte, error) {
	return hint.Project(shared, *a.cfg.Hints)
}

// publish is the history's, which learns of events only in Run.
func (a *App) publish(events []stream.Event) { a.audience.Publish(events) }

// wire draws every arrow between the rooms.
func (a *App) wire() error {
	a.audience = audience.New(audience.Config{
		Past: a.history, MaxListeners: a.cfg.Limits.Listeners, MaxPerAddress: a.cfg.Limits.ListenersPerAddress,
		QueueBytes: a.cfg.Limits.QueueBytes, MaxEventBytes: a.cfg.Limits.EventBytes, Log: a.cfg.Log,
	})
	if err := a.observe(); err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	mux := &serve.Mux{NotFound: stream.NotFound.Plain(), NotAllowed: stream.MethodNotAllowed.Plain(), Answer: a.refuse}
	byAddress := serve.ByClient(a.cfg.Limits.TrustedProxies)
	live.Mount(mux, live.Config{Audience: a.audience, Ping: a.cfg.Ping, Origin: a.cfg.Origin, Network: a.cfg.Network,
		AddressOf: byAddress})
	apihistory.Mount(mux, apihistory.Config{Past: a.history, MaxLimit: a.cfg.MaxLimit, Origin: a.cfg.Origin})
	a.handler = mux
	if perSecond := a.cfg.Limits.PerSecond; perSecond > 0 {
		limited := serve.Limit(mux, serve.NewLimiter(float64(perSecond), a.cfg.Limits.Burst, maxClients), byAddress,
			stream.RateLimited.Plain())
		a.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", a.cfg.Origin) // pages of other origins may read the refusal
			limited.ServeHTTP(w, r)
		})
	}
	return nil
}

// maxClients is how many addresses are remembered for their allowance.
const maxClients = 100_000

// refuse answers for paths and methods that nobody knows; pages of other origins may read that too.
func (a *App) refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Access-Control-Allow-Origin", a.cfg.Origin)
	apihistory.Refuse(w, r, err)
}
