package app

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/rpc"
)

// gauges return current values. A nil one is not exported. They are safe for concurrent use and do
// not wait.
type gauges struct {
	// Orders is the number of live orders.
	Orders func() float64
	// Head is the number of the newest block.
	Head func() float64
	// UnknownBuilders is how often an order named a builder that is not registered.
	UnknownBuilders func() float64
	// FactsLost is how many facts did not get into the journal so far. LedgerLag is how many
	// facts the ledger has not applied yet; -1 if it does not answer. Unacked is how many messages
	// the journal was given and never acked: it may lack them.
	FactsLost, Unacked, LedgerLag func() float64
	// JournalWorks is 1 while the journal stores what it is given. SyncedAgo is how many seconds
	// ago the disk of a journal in this process last synced a claim or state, or the journal was
	// opened; -1 for a journal in memory or in a cluster.
	JournalWorks, SyncedAgo func() float64
	// JournalFree is how many bytes are free on the disk of a journal in this process, -1 for
	// another journal. FactsBytes is how many bytes the facts take, -1 if the journal does not
	// answer.
	JournalFree, FactsBytes func() float64
	// ExecutionNodes says of each execution node whether it answers.
	ExecutionNodes func() []observe.Reading
}

// metrics count the service's calls and facts for Prometheus:
//
//	jsonrpc ──calls──▶ Call ──────┐
//	lifecycle, indexer ──facts──▶ Record ─▶ counters, histograms ─▶ registry ─▶ /metrics
//	pool, journal, ledger ◀── asked at each scrape ── gauges
//
// They are safe for concurrent use.
type metrics struct {
	calls                                                          *prometheus.CounterVec
	took                                                           *prometheus.HistogramVec
	orders, simulations, deliveries, ends, refunds, paid, reverted *prometheus.CounterVec
}

// tookBuckets go from 0.05 ms to about 6 s, each twice the one before.
var tookBuckets = prometheus.ExponentialBuckets(0.00005, 2, 18)

// newMetrics defines the metrics in a set.
func newMetrics(set *observe.Set, gauges gauges) *metrics {
	m := &metrics{
		calls: set.Counter("gavel_rpc_calls_total",
			"Calls by method and by the refusal they ended with, empty if they were answered.", "method", "refusal"),
		took: set.Histogram("gavel_rpc_call_seconds", "Time that a method took, without envelope and signature, in seconds.",
			tookBuckets, "method"),
		orders: set.Counter("gavel_rpc_orders_total", "Orders that were accepted, by kind.", "kind"),
		simulations: set.Counter("gavel_rpc_simulations_total", "Simulations of orders, by result: success or failure.",
			"result"),
		deliveries: set.Counter("gavel_rpc_deliveries_total", "Deliveries to builders, by result: taken or failed.",
			"builder", "result"),
		ends: set.Counter("gavel_rpc_orders_ended_total", "Orders that came to an end, by which.", "state"),
		refunds: set.Counter("gavel_rpc_refunds_total", "Refunds by status: pending when credited, received when paid.",
			"status"),
		paid:     set.Counter("gavel_rpc_refunds_credited_gwei_total", "Amount of refunds that were credited, in gwei."),
		reverted: set.Counter("gavel_rpc_blocks_reverted_total", "Blocks that the chain has left."),
	}
	set.GaugeFunc("gavel_rpc_orders", "Orders that live.", gauges.Orders)
	set.GaugeFunc("gavel_rpc_head", "Number of the newest block.", gauges.Head)
	set.GaugeFunc("gavel_rpc_unknown_builders",
		"How often an order named a builder that is not registered, since the start.", gauges.UnknownBuilders)
	set.GaugeFunc("gavel_rpc_facts_lost", "Facts that found no place in the journal since the start.", gauges.FactsLost)
	set.GaugeFunc("gavel_rpc_journal_unacked",
		"Messages of facts that the journal was given and never acked, since the start: it may lack them.", gauges.Unacked)
	set.GaugeFunc("gavel_rpc_journal_works",
		"1 while the journal keeps facts; 0 while the disk of one in this process is nearly full, or its engine has "+
			"stopped. A cluster's health is for its servers to tell.",
		gauges.JournalWorks)
	set.GaugeFunc("gavel_rpc_journal_synced_seconds_ago",
		"Seconds since the disk of the journal in this process last had a claim or state for good, or the start; -1 with "+
			"a cluster or in memory.", gauges.SyncedAgo)
	set.GaugeFunc("gavel_rpc_journal_free_bytes",
		"Bytes that are free on the disk of the journal in this process; -1 with a cluster.", gauges.JournalFree)
	set.GaugeFunc("gavel_rpc_journal_facts_bytes", "Bytes that facts take in the journal; -1 when it does not answer.",
		gauges.FactsBytes)
	set.GaugeFunc("gavel_rpc_ledger_lag", "Facts that the ledger has not taken up yet; -1 when it does not answer.",
		gauges.LedgerLag)
	set.Readings(prometheus.GaugeValue, "gavel_rpc_execution_node_answers",
		"1 for an execution node that answered the last request that it was sent, or was sent none; by host and port.",
		gauges.ExecutionNodes, "node")
	return m
}

// Call counts a call. method is a name of the table, empty for an unknown one.
func (m *metrics) Call(method, refusal string, took time.Duration) {
	m.calls.WithLabelValues(method, refusal).Inc()
	if method != "" {
		m.took.WithLabelValues(method).Observe(took.Seconds())
	}
}

// Record counts a fact.
func (m *metrics) Record(fact rpc.Fact) {
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		m.orders.WithLabelValues(string(f.Order.Kind)).Inc()
	case rpc.OrderSimulated:
		m.simulations.WithLabelValues(choose(f.Success, "success", "failure")).Inc()
	case rpc.OrderSent:
		m.deliveries.WithLabelValues(f.Builder, choose(f.Error == "", "taken", "failed")).Inc()
	case rpc.OrderEnded:
		m.ends.WithLabelValues(string(f.State)).Inc()
	case rpc.RefundCredited:
		m.refunds.WithLabelValues("pending").Inc()
		m.paid.WithLabelValues().Add(f.AmountWei.Float64() / 1e9)
	case rpc.RefundPaid:
		m.refunds.WithLabelValues("received").Inc()
	case rpc.BlockReverted:
		m.reverted.WithLabelValues().Inc()
	}
}

func choose(first bool, one, other string) string {
	if first {
		return one
	}
	return other
}
