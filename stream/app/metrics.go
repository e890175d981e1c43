package app

import (
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// defineMetrics adds the service's metrics to a set. The packages count the figures, which are read
// when the metrics are collected.
//
//	broadcast, history, journal ◀── asked when somebody looks ── registry ─▶ /metrics
func (a *App) defineMetrics(set *observe.Set) {
	of := func(figure func(broadcast.Stats) uint64) func() float64 {
		return func() float64 { return float64(figure(a.broadcast.Stats())) }
	}
	for _, m := range []struct {
		name, help string
		read       func() float64
	}{
		{"gavel_stream_listeners", "Listeners that are connected.",
			of(func(s broadcast.Stats) uint64 { return uint64(s.Listeners) })},
		{"gavel_stream_published", "Events that were streamed since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Published })},
		{"gavel_stream_delivered", "How often a listener took an event, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Delivered })},
		{"gavel_stream_refused", "Listeners that found no place, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Refused })},
		{"gavel_stream_cut", "Listeners that were cut because they were behind, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Cut })},
		{"gavel_stream_resumed", "Listeners that resumed after an id, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Resumed })},
		{"gavel_stream_long_events", "Events above 60 KiB, which some clients lose, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Long })},
		{"gavel_stream_dropped_events", "Events that were longer than may be streamed, since the start.",
			of(func(s broadcast.Stats) uint64 { return s.Dropped })},
		{"gavel_stream_history_events", "Events that the history has; -1 when it does not answer.", a.stored},
		{"gavel_stream_facts_skipped", "Facts that could not be read, since the start. Each is a defect of the services.",
			func() float64 { return float64(a.history.Skipped()) }},
		{"gavel_stream_history_lag",
			"Facts of the journal that the history has not taken up yet; -1 when one of them does not answer.", a.lag},
	} {
		set.GaugeFunc(m.name, m.help, m.read)
	}
}

// stored is how many events the history has; -1 if it does not answer.
func (a *App) stored() float64 {
	info, err := a.history.Info()
	if err != nil {
		return -1
	}
	return float64(info.Count)
}

// lag is how many facts the history has not applied yet; -1 if it or the journal does not answer.
func (a *App) lag() float64 { return projection.Lag(a.journal, a.history) }
