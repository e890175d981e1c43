package app

import (
	"context"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/projection"
)

// observed holds the metrics, and the traces if an endpoint for them is configured.
type observed struct {
	registry *prometheus.Registry
	http     *observe.HTTP
	metrics  *factMetrics
}

// observe sets up the metrics of requests and facts, and the traces.
func (a *App) observe() error {
	tracer, shutdown, err := observe.Tracing(context.Background(), a.cfg.TraceEndpoint, "gavel-relay")
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	a.opened.Add(shutdown) // sends the last traces
	registry := observe.NewRegistry()
	set := observe.NewSet(registry)
	observe.Build(set, "relay", a.cfg.Region)
	a.watched = observed{registry: registry, http: observe.NewHTTP(set, tracer), metrics: newMetrics(set, metricsConfig{
		Builder: func(key phase0.BLSPubKey) string { return a.builders.Of(key).Name },
		Gauges: gauges{
			Validators:        func() float64 { return float64(a.registry.Validators()) },
			Registrations:     func() float64 { return float64(a.registry.Registrations()) },
			HeadSlot:          func() float64 { return float64(a.registry.Head().Slot) },
			MayBid:            a.staked.reading,
			BeaconNodes:       func() float64 { return float64(a.nodes.Following()) },
			FactsLost:         func() float64 { return float64(a.facts.Lost()) },
			Unacked:           func() float64 { return float64(a.journal.Unacked()) },
			ListenersCut:      func() float64 { return float64(a.broadcast.Cut()) },
			Listeners:         func() float64 { return float64(a.broadcast.Listeners()) },
			ArchiveLag:        a.archiveLag,
			JournalWorks:      func() float64 { return works(a.journal) },
			SyncedAgo:         func() float64 { return a.journal.SyncedAgo().Seconds() },
			JournalFree:       func() float64 { return float64(a.journal.FreeBytes()) },
			FactsBytes:        func() float64 { return float64(a.journal.Bytes(journal.Facts)) },
			EscrowBytes:       func() float64 { return float64(a.journal.Bytes(journal.Escrow)) },
			EvidenceBytes:     func() float64 { return float64(a.journal.Bytes(journal.Evidence)) },
			BeaconNodesFollow: func() []observe.Reading { return observe.Nodes(a.nodes.Follows()) },
			BeaconNodesAnswer: func() []observe.Reading { return observe.Nodes(a.nodes.Answers()) },
			ValidationNodes:   a.validationNodes,
			Hydration:         a.readHydration,
		},
	})}
	return nil
}

// validationNodes are the readings of nodes that execute blocks.
func (a *App) validationNodes() []observe.Reading {
	if a.cfg.ValidationNodes == nil {
		return nil // blocks are executed in this process
	}
	return observe.Nodes(a.cfg.ValidationNodes())
}

// readHydration returns the readings of what dehydrated submissions left out.
func (a *App) readHydration() []observe.Reading {
	found, missing := a.hydration.Counts()
	return []observe.Reading{
		{Value: float64(found), Labels: []string{"found"}}, {Value: float64(missing), Labels: []string{"missing"}},
	}
}

// archiveLag is how many facts the archive has not applied; -1 when it or the journal does not
// answer.
func (a *App) archiveLag() float64 { return projection.Lag(a.journal, a.archive) }

// works is 1 while a journal keeps what it is given.
func works(j *journal.Journal) float64 {
	if j.Health() != nil {
		return 0
	}
	return 1
}
