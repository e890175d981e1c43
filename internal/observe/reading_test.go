package observe

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
)

// Readings are taken anew with each collection, and the definition is there also without a reader.
func TestReadings(t *testing.T) {
	registry := prometheus.NewRegistry()
	set, nodes := NewSet(registry), map[string]bool{"a:1": true, "b:2": false}
	set.Readings(prometheus.GaugeValue, "gavel_node_works", "Nodes.", func() []Reading { return Nodes(nodes) }, "node")
	set.Readings(prometheus.CounterValue, "gavel_items_total", "Items.",
		func() []Reading { return []Reading{{Value: 7, Labels: []string{"found"}}} }, "result")
	set.Readings(prometheus.CounterValue, "gavel_none_total", "Nothing.", nil, "result")
	want := `gavel_items_total{result="found"} 7
gavel_node_works{node="a:1"} 1
gavel_node_works{node="b:2"} 0
`
	if got := golden.Metrics(t, registry); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if nodes["b:2"] = true; testutil.CollectAndCount(registry) != 3 {
		t.Error("not three series")
	}
	if got := golden.Metrics(t, registry); got == want {
		t.Error("the node works again, and the metric does not say so")
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if d := set.Definitions[2]; d.Type != "counter" || d.Name != "gavel_none_total" || d.Labels[0] != "result" {
		t.Errorf("%+v", d)
	}
}
