// Package metrics is the view of the event stream that Prometheus reads. Its figures are counted in
// the rooms, and asked for when somebody looks.
//
//	audience, history, journal ◀── asked when somebody looks ── registry ─▶ /metrics
package metrics

import "github.com/gavel-relay/gavel/internal/observe"

// Gauges tell how things are at this moment. One that is nil is not shown. They are safe for
// concurrent use and do not wait.
type Gauges struct {
	// Listeners is how many listen, Published how many events were streamed, Delivered how often a
	// listener took one.
	Listeners, Published, Delivered func() float64
	// Refused is how many found no place, Cut how many were cut because they were behind, Resumed how
	// many came back by an id.
	Refused, Cut, Resumed func() float64
	// Long is how many events were above 60 KiB, Dropped how many were not streamed because of their
	// length.
	Long, Dropped func() float64
	// Stored is how many events the history has, Skipped how many facts could not be read, Lag how
	// many facts it has not taken up; -1 when it does not answer.
	Stored, Skipped, Lag func() float64
}

// New defines the metrics in a set.
func New(set *observe.Set, g Gauges) {
	for _, m := range []struct {
		name, help string
		read       func() float64
	}{
		{"gavel_stream_listeners", "Listeners that are connected.", g.Listeners},
		{"gavel_stream_published", "Events that were streamed since the start.", g.Published},
		{"gavel_stream_delivered", "How often a listener took an event, since the start.", g.Delivered},
		{"gavel_stream_refused", "Listeners that found no place, since the start.", g.Refused},
		{"gavel_stream_cut", "Listeners that were cut because they were behind, since the start.", g.Cut},
		{"gavel_stream_resumed", "Listeners that resumed after an id, since the start.", g.Resumed},
		{"gavel_stream_long_events", "Events above 60 KiB, which some clients lose, since the start.", g.Long},
		{"gavel_stream_dropped_events", "Events that were longer than may be streamed, since the start.", g.Dropped},
		{"gavel_stream_history_events", "Events that the history has; -1 when it does not answer.", g.Stored},
		{"gavel_stream_facts_skipped", "Facts that could not be read, since the start. Each is a mistake of ours.",
			g.Skipped},
		{"gavel_stream_history_lag",
			"Facts of the journal that the history has not taken up yet; -1 when one of them does not answer.", g.Lag},
	} {
		set.GaugeFunc(m.name, m.help, m.read)
	}
}
