package app

import (
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/gavel-relay/gavel/internal/observe"
)

// instanceMetrics measure what an instance does besides the owner's work, which its App measures.
type instanceMetrics struct {
	registry             *prometheus.Registry
	http                 *observe.HTTP
	forwarded, recovered *prometheus.CounterVec
}

// instanceGauges return current values. A nil one is not exported.
type instanceGauges struct {
	// Owns is 1 while this instance owns the orders; HasOwner is 1 while it knows who does.
	Owns, HasOwner func() float64
}

func newInstanceMetrics(set *observe.Set, gauges instanceGauges) instanceMetrics {
	m := instanceMetrics{
		forwarded: set.Counter("gavel_rpc_forwarded_requests_total",
			"Requests that were handed to the instance that owns the orders, by outcome: answered; no-owner, so that nothing "+
				"was done; unknown, when the owner ended or was not heard; too-long for the cluster. With --journal only.",
			"outcome"),
		recovered: set.Counter("gavel_rpc_takeovers_total",
			"How often this instance has taken over the orders and recovered them. With --journal only."),
	}
	set.GaugeFunc("gavel_rpc_owner",
		"1 while this instance owns the orders and has recovered them, 0 while it hands requests to the owner. With "+
			"--journal only.", gauges.Owns)
	set.GaugeFunc("gavel_rpc_owner_known",
		"1 while this instance owns the orders or knows who does, 0 while it refuses requests with no-owner. With --journal "+
			"only.", gauges.HasOwner)
	return m
}

// observe sets up the measurement of an instance.
func (i *Instance) observe(tracer trace.Tracer) {
	registry := observe.NewRegistry()
	set := observe.NewSet(registry)
	observe.Build(set, "rpc", i.cfg.Region)
	i.watched = newInstanceMetrics(set, instanceGauges{
		Owns:     func() float64 { return oneIf(i.own.Load() != nil) },
		HasOwner: func() float64 { return oneIf(i.own.Load() != nil || i.owner.Load() != nil) },
	})
	i.watched.registry, i.watched.http = registry, observe.NewHTTP(set, tracer)
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// metrics serves the instance's metrics, and those of the owner's App while there is one.
func (i *Instance) metrics(log *slog.Logger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		all := prometheus.Gatherers{i.watched.registry}
		if own := i.own.Load(); own != nil {
			all = append(all, own.watched.registry)
		}
		observe.Handler(all, log).ServeHTTP(w, r)
	}
}
