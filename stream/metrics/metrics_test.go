package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/observe"
)

func TestDocs(t *testing.T) {
	set := observe.NewSet(prometheus.NewRegistry())
	New(set, Gauges{})
	golden.Section(t, "../../docs/metrics.md", "event stream", set.Table())
}

// What somebody tells is shown under its name; what nobody tells is not.
func TestGauges(t *testing.T) {
	registry := prometheus.NewRegistry()
	New(observe.NewSet(registry), Gauges{Listeners: func() float64 { return 3 }, Lag: func() float64 { return -1 }})
	families, err := registry.Gather()
	if err != nil || len(families) != 2 || families[0].GetName() != "gavel_stream_history_lag" ||
		families[1].GetName() != "gavel_stream_listeners" {
		t.Errorf("%v, %v", families, err)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
