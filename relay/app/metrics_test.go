package app

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
)

var _ relay.Facts = (*factMetrics)(nil)

func TestMetricsDocs(t *testing.T) {
	set := observe.NewSet(prometheus.NewRegistry())
	newMetrics(set, metricsConfig{})
	golden.Section(t, "../../docs/metrics.md", "relay", set.Table())
}

var listed = phase0.BLSPubKey{1}

func nameOf(key phase0.BLSPubKey) string {
	if key == listed {
		return "alpha"
	}
	return ""
}

func measured(gauges gauges) (*factMetrics, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	return newMetrics(observe.NewSet(registry), metricsConfig{Builder: nameOf, Gauges: gauges}), registry
}

var received = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// day is one fact of each kind and outcome.
func day() []relay.Fact {
	of := func(builder phase0.BLSPubKey, valueWei uint64) relay.Trace {
		return relay.Trace{Builder: builder, ValueWei: uint256.NewInt(valueWei)}
	}
	eligible := received.Add(250 * time.Millisecond)
	return []relay.Fact{
		relay.RegistrationStored{},
		relay.SubmissionJudged{Trace: of(listed, 5), ReceivedAt: received, EligibleAt: eligible, Verified: true},
		relay.SubmissionJudged{Trace: of(listed, 5), ReceivedAt: received, EligibleAt: eligible, Optimistic: true},
		relay.SubmissionJudged{Trace: of(listed, 5), ReceivedAt: received},
		relay.SubmissionJudged{Trace: of(listed, 5), ReceivedAt: received, Refusal: relay.SubmissionPastSlot.ID},
		relay.SubmissionJudged{Trace: of(phase0.BLSPubKey{2}, 5), ReceivedAt: received, EligibleAt: eligible, Verified: true},
		relay.TopChanged{Trace: of(listed, 5)},
		relay.TopChanged{},
		relay.HeaderServed{},
		relay.HeaderServed{Times: 41},
		relay.PayloadRefused{Refusal: relay.PayloadUnknown.ID},
		relay.PayloadDelivered{Trace: of(listed, 3_500_000_000), MsIntoSlot: 1200},
		relay.PayloadDelivered{MsIntoSlot: -100},
		relay.SubmissionExecuted{Builder: listed, Class: "valid"},
		relay.SubmissionExecuted{Builder: listed, Class: "invalid"},
		relay.BuilderDemoted{Name: "alpha", Demotion: relay.Demotion{Rule: "state"}},
		relay.KillSwitchChanged{On: true},
		relay.DeliveryPathChanged{Part: "guard"},
		relay.DeliveryPathChanged{Part: "escrow"},
		relay.DeliveryPathChanged{Part: "escrow", Works: true},
	}
}

func TestMetricsAreAViewOfTheFacts(t *testing.T) {
	is := func(value float64) func() float64 { return func() float64 { return value } }
	metrics, registry := measured(gauges{Validators: is(7), Registrations: is(5), HeadSlot: is(42), FactsLost: is(3),
		Unacked: is(4),
		BeaconNodesFollow: func() []observe.Reading {
			return observe.Nodes(map[string]bool{"cl-1:5052": true, "cl-2:5052": false})
		}})
	for _, fact := range day() {
		metrics.Record(fact)
	}
	golden.File(t, "testdata/metrics.txt", golden.Metrics(t, registry))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// The keys of a thousand unknown builders and as many invented refusals make no more series than
// one of each.
func TestStrangersMakeNoSeries(t *testing.T) {
	metrics, registry := measured(gauges{})
	for i := range 1000 {
		var key phase0.BLSPubKey
		binary.LittleEndian.PutUint64(key[8:], uint64(i))
		id := "invented-" + strings.Repeat("x", i)
		metrics.Record(relay.SubmissionJudged{Trace: relay.Trace{Builder: key}, Refusal: id})
		metrics.Record(relay.PayloadDelivered{Trace: relay.Trace{Builder: key}})
		metrics.Record(relay.PayloadRefused{Refusal: id})
	}
	for _, counter := range []*prometheus.CounterVec{metrics.submissions, metrics.delivered, metrics.deliveredGwei,
		metrics.refused} {
		if got := testutil.CollectAndCount(counter); got != 1 {
			t.Errorf("%d series", got)
		}
	}
	if text := golden.Metrics(t, registry); strings.Contains(text, "invented") {
		t.Error(text)
	}
}

// Every refusal of the catalogue has its own label.
func TestEveryRefusalIsTold(t *testing.T) {
	metrics, _ := measured(gauges{})
	for _, refusal := range relay.Refusals {
		metrics.Record(relay.PayloadRefused{Refusal: refusal.ID})
	}
	if got := testutil.CollectAndCount(metrics.refused); got != len(relay.Refusals) {
		t.Errorf("%d series for %d refusals", got, len(relay.Refusals))
	}
}

// A builder may bid all that a number can hold; the sum stays a number.
func TestGwei(t *testing.T) {
	greatest := new(uint256.Int).SetAllOne()
	for _, row := range []struct {
		valueWei *uint256.Int
		want     float64
	}{
		{nil, 0},
		{uint256.NewInt(0), 0},
		{uint256.NewInt(1), 1e-9},
		{uint256.NewInt(math.MaxUint64), 18446744073.709551615},
		{greatest, 1.157920892373162e68},
	} {
		if got := gwei(row.valueWei); math.Abs(got-row.want) > row.want*1e-12 {
			t.Errorf("%v wei are %v gwei, want %v", row.valueWei, got, row.want)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	metrics, _ := measured(gauges{})
	var fact relay.Fact = relay.SubmissionJudged{ReceivedAt: received, EligibleAt: received, Verified: true}
	b.ReportAllocs()
	for b.Loop() {
		metrics.Record(fact)
	}
}
