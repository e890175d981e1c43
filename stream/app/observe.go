package app

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/view"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/audience"
	"github.com/gavel-relay/gavel/stream/metrics"
)

// observed is what is measured, and traced if somebody wants it.
type observed struct {
	registry *prometheus.Registry
	http     *observe.HTTP
}

// observe measures requests, listeners and the history.
func (a *App) observe() error {
	tracer, shutdown, err := observe.Tracing(context.Background(), a.cfg.TraceEndpoint, "gavel-stream")
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	a.opened.Add(shutdown)
	registry := observe.NewRegistry()
	set := observe.NewSet(registry)
	a.watched = observed{registry: registry, http: observe.NewHTTP(set, tracer)}
	of := func(figure func(audience.Stats) uint64) func() float64 {
		return func() float64 { return float64(figure(a.audience.Stats())) }
	}
	metrics.New(set, metrics.Gauges{
		Listeners: func() float64 { return float64(a.audience.Stats().Listeners) },
		Published: of(func(s audience.Stats) uint64 { return s.Published }),
		Delivered: of(func(s audience.Stats) uint64 { return s.Delivered }),
		Refused:   of(func(s audience.Stats) uint64 { return s.Refused }),
		Cut:       of(func(s audience.Stats) uint64 { return s.Cut }),
		Resumed:   of(func(s audience.Stats) uint64 { return s.Resumed }),
		Long:      of(func(s audience.Stats) uint64 { return s.Long }),
		Dropped:   of(func(s audience.Stats) uint64 { return s.Dropped }),
		Stored:    a.stored,
		Skipped:   func() float64 { return float64(a.history.Skipped()) },
		Lag:       a.lag,
	})
	return nil
}

func (a *App) stored() float64 {
	info, err := a.history.Info()
	if err != nil {
		return -1
	}
	return float64(info.Count)
}

// lag is how many facts the history has not taken up; -1 when it or the journal does not answer.
func (a *App) lag() float64 { return view.Lag(a.journal, a.history) }

// Admin is health and metrics, for the operator.
func (a *App) Admin() http.Handler {
	mux := &serve.Mux{NotFound: stream.NotFound.Plain(), NotAllowed: stream.MethodNotAllowed.Plain()}
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", serve.Readyz(a.readiness))
	mux.Handle(http.MethodGet, "/metrics", observe.Handler(a.watched.registry, a.cfg.Log).ServeHTTP)
	return mux
}

// readiness says why the service is not ready, if it is not: the history or the journal does not
// answer.
func (a *App) readiness() error {
	if _, err := a.history.Info(); err != nil || a.lag() < 0 {
		return stream.NotReady.Plain()
	}
	return nil
}

// ServeAdmin answers the operator until the context ends.
func (a *App) ServeAdmin(ctx context.Context, listener net.Listener) error {
	return serve.Serve(ctx, listener, a.Admin(), serve.Options{Log: a.cfg.Log})
}
