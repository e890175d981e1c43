package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
)

// observed is what measures the service, and traces it if an endpoint is configured.
type observed struct {
	registry *prometheus.Registry
	http     *observe.HTTP
	metrics  *metrics
}

// observe sets up the measurement of requests and facts.
func (a *App) observe() error {
	tracer, shutdown, err := observe.Tracing(context.Background(), a.cfg.TraceEndpoint, "gavel-rpc")
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	a.opened.Add(shutdown) // sends the last traces
	a.watched.registry = observe.NewRegistry()
	if a.seat != nil { // the instance has the process' metrics and those of HTTP
		a.watched.registry = prometheus.NewRegistry()
	}
	set := observe.NewSet(a.watched.registry)
	if a.seat == nil {
		observe.Build(set, "rpc", a.cfg.Region)
		a.watched.http = observe.NewHTTP(set, tracer)
	}
	a.watched.metrics = newMetrics(set, gauges{
		Orders:          func() float64 { return float64(a.lifecycle.Orders()) },
		Head:            func() float64 { return float64(a.lifecycle.Head().Number) },
		UnknownBuilders: func() float64 { return float64(a.sender.Unknown()) },
		FactsLost:       func() float64 { return float64(a.facts.Lost()) },
		Unacked:         func() float64 { return float64(a.journal.Unacked()) },
		LedgerLag:       a.ledgerLag,
		JournalWorks:    func() float64 { return works(a.journal) },
		SyncedAgo:       func() float64 { return a.journal.SyncedAgo().Seconds() },
		JournalFree:     func() float64 { return float64(a.journal.FreeBytes()) },
		FactsBytes:      func() float64 { return float64(a.journal.Bytes(journal.Facts)) },
		ExecutionNodes:  a.executionNodes,
	})
	return nil
}

// executionNodes are the readings of nodes that are asked for the chain and its state.
func (a *App) executionNodes() []observe.Reading {
	if a.cfg.ExecutionNodes == nil {
		return nil // the chain is in this process
	}
	return observe.Nodes(a.cfg.ExecutionNodes())
}

// observeFact applies a fact that is in the journal to its projections in this process.
func (a *App) observeFact(fact rpc.Fact) {
	a.reputation.Apply(fact)
	a.refunds.observe(fact)
	a.snapshots.observe(fact)
	a.watched.metrics.Record(fact)
	if a.cfg.Observe != nil {
		a.cfg.Observe(fact)
	}
}

// ledgerLag is how many facts the ledger has not applied yet; -1 if the ledger or the journal does
// not answer.
func (a *App) ledgerLag() float64 { return projection.Lag(a.journal, a.ledger) }

// Admin serves health and metrics, for the operator.
func (a *App) Admin() http.Handler {
	mux := &serve.Mux{NotFound: jsonrpc.Statuses.Of(rpc.NotFound.Plain()),
		NotAllowed: jsonrpc.Statuses.Of(rpc.MethodNotAllowed.Plain())}
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", jsonrpc.Statuses.Readyz(a.readiness))
	mux.Handle(http.MethodGet, "/metrics", observe.Handler(a.watched.registry, a.cfg.Log).ServeHTTP)
	return mux
}

// readiness says why the service is not ready, nil if it is. If the newest block is old, the
// execution node is unreachable or behind.
func (a *App) readiness() error {
	if lag := a.ledgerLag(); lag < -1 { // -1 is no answer: orders do not need the ledger
		return rpc.NotReady.With("the journal has lost %d facts that the ledger has: refunds will be missing there",
			int(-lag))
	}
	head := a.lifecycle.Head()
	if behind := a.cfg.Clock.Now().Sub(time.Unix(int64(head.Timestamp), 0)); behind > a.cfg.StaleAfter {
		return rpc.NotReady.With("the newest block, %d, is %s old", head.Number, behind.Round(time.Second))
	}
	return nil
}

// ServeAdmin serves Admin until the context ends.
func (a *App) ServeAdmin(ctx context.Context, listener net.Listener) error {
	return serve.Serve(ctx, listener, a.Admin(), serve.Options{Log: a.cfg.Log})
}

// works is 1 while a journal stores what it is given.
func works(j *journal.Journal) float64 {
	if j.Health() != nil {
		return 0
	}
	return 1
}
