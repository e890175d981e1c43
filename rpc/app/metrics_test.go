package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holiman/uint256"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/send"
)

func TestMetricsDocs(t *testing.T) {
	set := observe.NewSet(prometheus.NewRegistry())
	newMetrics(set, gauges{})
	newInstanceMetrics(set, instanceGauges{})
	golden.Section(t, "../../docs/metrics.md", "bundle RPC", set.Table())
}

func newTestMetrics(gauges gauges) (*metrics, *prometheus.Registry) {
	registry := prometheus.NewRegistry()
	return newMetrics(observe.NewSet(registry), gauges), registry
}

// factsOfADay is one fact of each kind and outcome; those that nothing counts are among them.
func factsOfADay() []rpc.Fact {
	gwei := uint256.NewInt(1e9)
	refund := func(amountGwei uint64) rpc.Refund {
		return rpc.Refund{AmountWei: new(uint256.Int).Mul(uint256.NewInt(amountGwei), gwei)}
	}
	return []rpc.Fact{
		rpc.OrderAccepted{Order: &rpc.Order{Kind: rpc.KindBundle}},
		rpc.OrderAccepted{Order: &rpc.Order{Kind: rpc.KindBundle}},
		rpc.OrderAccepted{Order: &rpc.Order{Kind: rpc.KindShare}},
		rpc.OrderAccepted{Order: &rpc.Order{Kind: rpc.KindPrivate}},
		rpc.OrderExtended{},
		rpc.OrderSimulated{Simulation: rpc.Simulation{Success: true}},
		rpc.OrderSimulated{Simulation: rpc.Simulation{Success: true}},
		rpc.OrderSimulated{Simulation: rpc.Simulation{Error: "tx failed"}},
		rpc.OrderSent{Delivery: rpc.Delivery{Builder: "default"}},
		rpc.OrderSent{Delivery: rpc.Delivery{Builder: "default", Error: "no answer"}},
		rpc.OrderSent{Delivery: rpc.Delivery{Builder: "alpha"}},
		rpc.OrderEnded{State: rpc.Landed},
		rpc.OrderEnded{State: rpc.Expired},
		rpc.OrderEnded{State: rpc.Expired},
		rpc.OrderEnded{State: rpc.Cancelled},
		rpc.OrderEnded{State: rpc.Failed},
		rpc.OrderReturned{},
		rpc.CancelNoted{},
		rpc.CallSimulated{},
		rpc.RefundCredited{Refund: refund(5)},
		rpc.RefundCredited{Refund: refund(2)},
		rpc.RefundPaid{},
		rpc.RecipientSet{},
		rpc.BlockIndexed{},
		rpc.BlockReverted{},
	}
}

// Each fact and each call moves its counter, and no other.
func TestMetricsAreAViewOfFactsAndCalls(t *testing.T) {
	is := func(value float64) func() float64 { return func() float64 { return value } }
	metrics, registry := newTestMetrics(gauges{Orders: is(7), Head: is(5), UnknownBuilders: is(2), FactsLost: is(3),
		Unacked: is(4), LedgerLag: is(-1)})
	for _, fact := range factsOfADay() {
		metrics.Record(fact)
	}
	metrics.Call("eth_sendBundle", "", 250*time.Millisecond)
	metrics.Call("eth_sendBundle", rpc.BundleEmpty.ID, 250*time.Millisecond)
	metrics.Call("", rpc.MethodNotFound.ID, time.Hour) // a name that nobody knows has no time of its own
	golden.File(t, "testdata/metrics.txt", golden.Metrics(t, registry))
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}

// A gauge that nobody answers is in the docs, and not on the page.
func TestGaugesMayBeMissing(t *testing.T) {
	_, registry := newTestMetrics(gauges{})
	if got := golden.Metrics(t, registry); got != "" {
		t.Errorf("there is\n%s", got)
	}
}

// The greatest refund that there can be is a number still.
func TestRefundsOfAnySize(t *testing.T) {
	metrics, _ := newTestMetrics(gauges{})
	metrics.Record(rpc.RefundCredited{Refund: rpc.Refund{AmountWei: new(uint256.Int).SetAllOne()}})
	if got := testutil.ToFloat64(metrics.paid.WithLabelValues()); got < 1.15e68 || got > 1.16e68 {
		t.Errorf("%v gwei", got)
	}
}

// nobody is a network without builders.
type nobody struct{}

func (nobody) RoundTrip(*http.Request) (*http.Response, error) { return nil, http.ErrServerClosed }

// Who sends orders to a thousand builders that nobody knows makes no series: deliveries go by the
// names of the registry.
func TestStrangersMakeNoSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that retries take no time
		metrics, registry := newTestMetrics(gauges{})
		sender := send.New(send.Config{Client: nobody{}, Builders: send.Registry{{Name: "default", URL: "http://a"},
			{Name: "Alpha", URL: "http://b"}}})
		go func() { _ = sender.Run(t.Context()) }() // returns nil
		var deliveries sync.WaitGroup
		for i := range 1000 {
			deliveries.Add(2)
			sender.Send(&rpc.Order{Builders: []string{fmt.Sprint("invented-", i), "ALPHA"}}, 7, func(d rpc.Delivery) {
				metrics.Record(rpc.OrderSent{Delivery: d})
				deliveries.Done()
			})
		}
		deliveries.Wait()
		if got := testutil.CollectAndCount(metrics.deliveries); got != 2 {
			t.Errorf("%d series", got)
		}
		if text := golden.Metrics(t, registry); strings.Contains(text, "invented") ||
			!strings.Contains(text, `builder="Alpha",result="failed"} 1000`) {
			t.Error(text)
		}
	})
}

// Every refusal of the catalogue has its own label, also where no method was found.
func TestEveryRefusalIsTold(t *testing.T) {
	metrics, _ := newTestMetrics(gauges{})
	for _, refusal := range rpc.Refusals {
		metrics.Call("", refusal.ID, 0)
	}
	if got := testutil.CollectAndCount(metrics.calls); got != len(rpc.Refusals) {
		t.Errorf("%d series for %d refusals", got, len(rpc.Refusals))
	}
}

func BenchmarkRecord(b *testing.B) {
	metrics, _ := newTestMetrics(gauges{})
	var fact rpc.Fact = rpc.OrderSent{Delivery: rpc.Delivery{Builder: "default"}}
	b.ReportAllocs()
	for b.Loop() {
		metrics.Record(fact)
	}
}
