package app

import (
	"context"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/api"
	"github.com/gavel-relay/gavel/stream/broadcast"
	"github.com/gavel-relay/gavel/stream/history"
)

// App is an open service. New opens it, Run runs it, Close closes it.
type App struct {
	cfg       Config
	journal   *journal.Journal
	history   *history.History
	broadcast *broadcast.Broadcast
	handler   http.Handler
	watched   observed
	opened    run.Opened
}

// wire connects the packages, in the order in which an event passes them. Only the first step, from
// the journal to the history, is made by Run.
//
//	journal ─order─▶ history ─stored event─▶ broadcast ─▶ listeners of GET /
//	                    ▲  └──── past events ────┘ (listeners that resume)
//	                    └─ pages ─▶ GET /api/v1/history
func (a *App) wire() {
	a.broadcast = broadcast.New(broadcast.Config{
		History: a.history, Newest: a.newestFact, MaxListeners: a.cfg.Limits.Listeners,
		MaxPerAddress: a.cfg.Limits.ListenersPerAddress,
		QueueBytes:    a.cfg.Limits.QueueBytes, MaxEventBytes: a.cfg.Limits.EventBytes, Log: a.cfg.Log,
	})
	a.history.Subscribe(a.broadcast.Publish)
	a.defineMetrics(a.watched.set)

	byAddress := serve.ByClient(a.cfg.Limits.TrustedProxies)
	mux := &serve.Mux{NotFound: api.Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: api.Statuses.Of(stream.MethodNotAllowed.Plain()), Answer: a.refuse}
	api.MountLive(mux, api.LiveConfig{Broadcast: a.broadcast, Ping: a.cfg.Ping, Origin: a.cfg.Origin,
		Network: a.cfg.Network, AddressOf: byAddress})
	api.MountHistory(mux, api.HistoryConfig{History: a.history, MaxLimit: a.cfg.MaxLimit, Origin: a.cfg.Origin})
	a.handler = a.limit(mux, byAddress)
}

// newestFact is the number of the newest fact in the journal; 0 if the journal does not answer.
func (a *App) newestFact(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, newestPatience)
	defer cancel()
	newest, err := a.journal.Last(ctx)
	if err != nil {
		return 0
	}
	return newest
}

// newestPatience is how long a listener that resumes waits for the journal (wall time).
const newestPatience = time.Second

// maxClients is how many addresses the limiter remembers.
const maxClients = 100_000

// limit bounds how many requests each address may send.
func (a *App) limit(next http.Handler, byAddress func(*http.Request) string) http.Handler {
	perSecond := a.cfg.Limits.PerSecond
	if perSecond <= 0 {
		return next
	}
	limiter := serve.NewLimiter(float64(perSecond), a.cfg.Limits.Burst, maxClients)
	limited := serve.Limit(next, limiter, byAddress, api.Statuses.Of(stream.RateLimited.Plain()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", a.cfg.Origin) // pages of other origins may read the refusal
		limited.ServeHTTP(w, r)
	})
}

// refuse answers requests for unknown paths and methods. Pages of other origins may read that, too.
func (a *App) refuse(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Access-Control-Allow-Origin", a.cfg.Origin)
	api.Refuse(w, r, err)
}
