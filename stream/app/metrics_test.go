package app

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

func TestMetricsDocs(t *testing.T) {
	set := observe.NewSet(prometheus.NewRegistry())
	new(App).defineMetrics(set)
	golden.Section(t, "../../docs/metrics.md", "event stream", set.Table())
}

// Each metric is shown as the room counts it, under a good name.
func TestMetricsShowWhatRoomsCount(t *testing.T) {
	a, err := New(t.Context(), Config{Limits: Limits{ListenersPerAddress: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for range 2 { // the second has no place
		if l, err := a.broadcast.Listen(t.Context(), broadcast.Subscription{Address: "here"}); err == nil {
			defer l.Leave()
		}
	}
	shown := map[string]float64{}
	families, err := a.watched.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if gauge := family.GetMetric()[0].GetGauge(); gauge != nil {
			shown[family.GetName()] = gauge.GetValue()
		}
	}
	for name, want := range map[string]float64{
		"gavel_stream_listeners": 1, "gavel_stream_refused": 1, "gavel_stream_published": 0,
		"gavel_stream_history_events": 0, "gavel_stream_history_lag": 0,
	} {
		if got, known := shown[name]; !known || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if problems, err := testutil.GatherAndLint(a.watched.registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
