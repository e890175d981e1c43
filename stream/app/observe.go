package app

import (
	"context"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/api"
)

// observed has the service's metrics, and its traces if a collector is configured.
type observed struct {
	registry *prometheus.Registry
	set      *observe.Set
	http     *observe.HTTP
}

// openTracing makes the registry of metrics, and the tracer if a collector is configured.
func (a *App) openTracing(ctx context.Context) error {
	tracer, shutdown, err := observe.Tracing(ctx, a.cfg.TraceEndpoint, "gavel-stream")
	if err != nil {
		return err
	}
	a.opened.Add(shutdown)
	registry := observe.NewRegistry()
	set := observe.NewSet(registry)
	observe.Build(set, "stream", a.cfg.Region)
	a.watched = observed{registry: registry, set: set, http: observe.NewHTTP(set, tracer)}
	return nil
}

// Admin is the operator's API: health and metrics.
func (a *App) Admin() http.Handler {
	mux := &serve.Mux{NotFound: api.Statuses.Of(stream.NotFound.Plain()),
		NotAllowed: api.Statuses.Of(stream.MethodNotAllowed.Plain())}
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", api.Statuses.Readyz(a.readiness))
	mux.Handle(http.MethodGet, "/metrics", observe.Handler(a.watched.registry, a.cfg.Log).ServeHTTP)
	return mux
}

// readiness is an error if the service is not ready, because the history or the journal does not
// answer.
func (a *App) readiness() error {
	if _, err := a.history.Info(); err != nil || a.lag() < 0 {
		return stream.NotReady.Plain()
	}
	return nil
}

// ServeAdmin serves the operator's API until the context ends.
func (a *App) ServeAdmin(ctx context.Context, listener net.Listener) error {
	return serve.Serve(ctx, listener, a.Admin(), serve.Options{Log: a.cfg.Log})
}
