package app

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
)

// metricsConfig is what the metrics need besides the facts.
type metricsConfig struct {
	// Builder returns the name of a builder that the operator lists; empty for all others. Those are
	// counted together, as "other", because senders choose their keys freely, and each label costs
	// memory for ever.
	Builder func(phase0.BLSPubKey) string
	// Gauges are read with each request to /metrics. One that is nil is not shown. They must be safe
	// for concurrent use and must not wait.
	Gauges gauges
}

// gauges are values of the present moment.
type gauges struct {
	// Validators and Registrations count those that the relay knows.
	Validators, Registrations func() float64
	// HeadSlot is the slot of the beacon chain's head.
	HeadSlot func() float64
	// BeaconNodes counts the nodes that announce the chain's head and are not behind the others.
	BeaconNodes func() float64
	// MayBid is 1 if the staked builder may bid, 0 if not, and -1 if nobody has asked.
	MayBid func() float64
	// FactsLost counts the facts that could not be written to the journal so far.
	FactsLost func() float64
	// Unacked counts the messages that the journal was given and never acked: it may lack them.
	Unacked func() float64
	// ArchiveLag counts the facts that the archive has not applied yet; -1 when it does not answer.
	ArchiveLag func() float64
	// JournalWorks is 1 while the journal keeps what it is given. SyncedAgo is how long ago, in
	// seconds, its disk was last synced; -1 if the journal is a cluster or in memory.
	JournalWorks, SyncedAgo func() float64
	// JournalFree is how many bytes are free on the disk of a journal in this process; -1 for a
	// cluster. FactsBytes, EscrowBytes and EvidenceBytes are the sizes of its parts; -1 when it does
	// not answer.
	JournalFree, FactsBytes, EscrowBytes, EvidenceBytes func() float64
	// Listeners counts those that follow the top bids now. ListenersCut counts those that were cut so
	// far because they were behind.
	Listeners, ListenersCut func() float64
	// BeaconNodesFollow and BeaconNodesAnswer say of each beacon node whether it announces the chain's
	// head, and whether it answered its last request. ValidationNodes says of each node whether it
	// answers.
	BeaconNodesFollow, BeaconNodesAnswer, ValidationNodes func() []observe.Reading
	// Hydration counts transactions and blobs that dehydrated submissions left out, by whether they
	// were found.
	Hydration func() []observe.Reading
}

// factMetrics counts the relay's facts for Prometheus, as they are recorded.
//
//	submit, top, deliver, registry ──facts──▶ Record ─▶ counters, histograms ─▶ registry ─▶ /metrics
//	registry, journal, archive ◀──────read with each GET /metrics──── gauges
type factMetrics struct {
	nameOf   func(phase0.BLSPubKey) string
	refusals map[string]bool

	submissions, bids, topChanges, headers, delivered, deliveredGwei, refused, registrations, executed,
	demotions, withheld, left, gloasBids, stakedBids *prometheus.CounterVec

	eligible, intoSlot, reveal *prometheus.HistogramVec
	killSwitch                 prometheus.Gauge
	deliveryPath               *prometheus.GaugeVec
}

// eligibleBuckets go from 0.1 ms to about 13 s, each twice the one before.
var eligibleBuckets = prometheus.ExponentialBuckets(0.0001, 2, 18)

// intoSlotBuckets are dense where proposers ask, in the first four seconds of a slot.
var intoSlotBuckets = []float64{0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3, 3.5, 4, 6, 8, 12}

// newMetrics defines the relay's metrics in a set.
func newMetrics(set *observe.Set, cfg metricsConfig) *factMetrics {
	m := &factMetrics{nameOf: cfg.Builder, refusals: make(map[string]bool)}
	for _, refusal := range relay.Refusals {
		m.refusals[refusal.ID] = true
	}
	m.submissions = set.Counter("gavel_relay_submissions_total",
		"Submissions by what became of them: eligible (the bid counts), kept (taken, but it does not count) or refused, "+
			"then with the refusal.",
		"builder", "outcome", "refusal")
	m.bids = set.Counter("gavel_relay_bids_total",
		"Bids that count, by why they do: verified (the block was executed first) or optimistic (the collateral stands "+
			"for it).",
		"builder", "because")
	m.topChanges = set.Counter("gavel_relay_top_changes_total",
		"How often another bid was served from then on, by whether there was one (bid) or the last was taken back (none).",
		"to")
	m.headers = set.Counter("gavel_relay_headers_served_total",
		"Headers that were given to proposers. The same header again is counted when another bid leads, or with the next "+
			"head.")
	m.delivered = set.Counter("gavel_relay_payloads_delivered_total", "Blocks that were published for a proposer.",
		"builder")
	m.deliveredGwei = set.Counter("gavel_relay_payloads_delivered_value_gwei_total",
		"Value of those blocks' bids, in gwei.", "builder")
	m.refused = set.Counter("gavel_relay_payloads_refused_total",
		"Signed headers for which no payload was given, by refusal.", "refusal")
	m.registrations = set.Counter("gavel_relay_registrations_stored_total", "Registrations that were new or changed.")
	m.executed = set.Counter("gavel_relay_trusted_blocks_executed_total",
		"Blocks whose bids counted before they were executed, by what their execution found: valid, invalid, or "+
			"infrastructure when nobody could find out.",
		"builder", "class")
	m.demotions = set.Counter("gavel_relay_demotions_total", "Demotions of builders, by the rule that was broken.",
		"builder", "rule")
	m.killSwitch = set.Gauge("gavel_relay_kill_switch", "1 while no headers are served by the operator's wish.")
	m.deliveryPath = set.GaugeVec("gavel_relay_delivery_path_works",
		"1 for each part that a delivery needs (guard, escrow, journal) while it answers the relay's own tests; while one "+
			"is 0 no headers are served.", "part")
	for _, part := range relay.DeliveryParts {
		m.deliveryPath.WithLabelValues(part).Set(1)
	}
	m.eligible = set.Histogram("gavel_relay_submission_eligible_seconds",
		"Time from the last byte of a submission to the moment from which its bid counts, in seconds.",
		eligibleBuckets, "because")
	m.intoSlot = set.Histogram("gavel_relay_delivery_into_slot_seconds",
		"When in the slot the proposer's request for a delivered payload came, in seconds.", intoSlotBuckets)
	m.defineGloas(set)
	defineGauges(set, cfg.Gauges)
	return m
}

// revealBuckets go from 10 ms to about 5 s, each twice the one before.
var revealBuckets = prometheus.ExponentialBuckets(0.01, 2, 10)

// defineGloas defines what is counted from gloas on.
func (m *factMetrics) defineGloas(set *observe.Set) {
	m.gloasBids = set.Counter("gavel_relay_gloas_bids_total",
		"Valid requests of proposers for bids, by result: bid, signed (by a staked builder itself), or why "+
			"there was none (relay/bid, Reason; closed: the relay "+
			"bids nobody then, unknown-parent: no beacon node has told of it).", "result")
	m.withheld = set.Counter("gavel_relay_payloads_withheld_total",
		"Payloads that were sold in gloas and are not revealed: equivocation (the proposer has signed two blocks), "+
			"past-deadline or fault.", "reason")
	for _, reason := range relay.WithheldReasons {
		m.withheld.WithLabelValues(reason)
	}
	m.left = set.Counter("gavel_relay_gloas_payloads_left_total",
		"Payloads of blocks with a staked builder's own bid that are for the builder to reveal: bid-alone (the relay never "+
			"had it), not-signed (the builder has not signed its envelope here in time) or not-head (its block was not the "+
			"head in time).", "reason")
	for _, reason := range relay.LeftReasons {
		m.left.WithLabelValues(reason)
	}
	m.stakedBids = set.Counter("gavel_relay_gloas_staked_bids_total",
		"Bids that staked builders have signed themselves, by result: taken, or the refusal.", "result")
	m.reveal = set.Histogram("gavel_relay_gloas_reveal_seconds",
		"Time from a proposer's block to the moment when a beacon node had taken the payload's envelope, in seconds.",
		revealBuckets)
}

func defineGauges(set *observe.Set, gauges gauges) {
	set.GaugeFunc("gavel_relay_validators", "Validators of the beacon chain that the relay knows.", gauges.Validators)
	set.GaugeFunc("gavel_relay_registrations", "Validators that have registered.", gauges.Registrations)
	set.GaugeFunc("gavel_relay_head_slot", "Slot of the beacon chain's head.", gauges.HeadSlot)
	set.GaugeFunc("gavel_relay_gloas_may_bid",
		"1 if the relay's staked builder may bid in gloas, 0 if not, -1 without one or before the fork is near.",
		gauges.MayBid)
	set.GaugeFunc("gavel_relay_beacon_nodes_following", "Beacon nodes that announce heads, and are not behind the others.",
		gauges.BeaconNodes)
	set.GaugeFunc("gavel_relay_facts_lost", "Facts that found no place in the journal since the start.", gauges.FactsLost)
	set.GaugeFunc("gavel_relay_journal_unacked",
		"Messages of facts that the journal was given and never acked, since the start: it may lack them.", gauges.Unacked)
	set.GaugeFunc("gavel_relay_journal_works",
		"1 while the journal keeps facts; 0 while the disk of one in this process is nearly full, or its engine has "+
			"stopped. A cluster's health is for its servers to tell.",
		gauges.JournalWorks)
	set.GaugeFunc("gavel_relay_journal_synced_seconds_ago",
		"Seconds since the disk of the journal in this process last had a claim or state for good, or the start; -1 with "+
			"a cluster or in memory.", gauges.SyncedAgo)
	set.GaugeFunc("gavel_relay_journal_free_bytes",
		"Bytes that are free on the disk of the journal in this process; -1 with a cluster.", gauges.JournalFree)
	set.GaugeFunc("gavel_relay_journal_facts_bytes", "Bytes that facts take in the journal; -1 when it does not answer.",
		gauges.FactsBytes)
	set.GaugeFunc("gavel_relay_journal_escrow_bytes",
		"Bytes that payloads take in the escrow; -1 when it does not answer.", gauges.EscrowBytes)
	set.GaugeFunc("gavel_relay_journal_evidence_bytes",
		"Bytes that evidence takes in the journal; -1 when it does not answer.", gauges.EvidenceBytes)
	set.GaugeFunc("gavel_relay_archive_lag", "Facts that the archive has not taken up yet; -1 when it does not answer.",
		gauges.ArchiveLag)
	set.GaugeFunc("gavel_relay_top_bid_listeners", "Listeners to the leading bids.", gauges.Listeners)
	set.GaugeFunc("gavel_relay_top_bid_listeners_cut",
		"Listeners that were cut because they were behind, since the start.", gauges.ListenersCut)
	set.Readings(prometheus.GaugeValue, "gavel_relay_beacon_node_follows",
		"1 for a beacon node that announces heads, and is not behind the others; by host and port.",
		gauges.BeaconNodesFollow, "node")
	set.Readings(prometheus.GaugeValue, "gavel_relay_beacon_node_answers",
		"1 for a beacon node that answered the last request that it was sent, or was sent none; by host and port.",
		gauges.BeaconNodesAnswer, "node")
	set.Readings(prometheus.GaugeValue, "gavel_relay_validation_node_works",
		"1 for a node that executes blocks and can judge them; 0 while it gets none because it failed; by host and port.",
		gauges.ValidationNodes, "node")
	set.Readings(prometheus.CounterValue, "gavel_relay_hydration_items_total",
		"Transactions and blobs that dehydrated submissions left out, by result: found in what the builder had sent, or "+
			"missing.", gauges.Hydration, "result")
}

// Record implements relay.Facts.
func (m *factMetrics) Record(fact relay.Fact) {
	switch fact := fact.(type) {
	case relay.SubmissionJudged:
		m.countJudged(fact)
	case relay.TopChanged:
		m.topChanges.WithLabelValues(leads(fact)).Inc()
	case relay.HeaderServed:
		m.headers.WithLabelValues().Add(float64(fact.Count()))
	case relay.PayloadDelivered:
		builder := m.builder(fact.Builder)
		m.delivered.WithLabelValues(builder).Inc()
		m.deliveredGwei.WithLabelValues(builder).Add(gwei(fact.ValueWei))
		m.intoSlot.WithLabelValues().Observe(float64(fact.MsIntoSlot) / 1000)
		if fact.RevealMs != nil {
			m.reveal.WithLabelValues().Observe(float64(*fact.RevealMs) / 1000)
		}
	case relay.PayloadWithheld:
		m.withheld.WithLabelValues(fact.Reason).Inc()
	case relay.PayloadLeft:
		m.left.WithLabelValues(fact.Reason).Inc()
	case relay.PayloadRefused:
		m.refused.WithLabelValues(m.refusal(fact.Refusal)).Inc()
	case relay.RegistrationStored:
		m.registrations.WithLabelValues().Inc()
	case relay.SubmissionExecuted:
		m.executed.WithLabelValues(m.builder(fact.Builder), fact.Class).Inc()
	case relay.BuilderDemoted:
		m.demotions.WithLabelValues(fact.Name, fact.Rule).Inc()
	case relay.KillSwitchChanged:
		m.KillSwitch(fact.On)
	case relay.DeliveryPathChanged:
		m.deliveryPath.WithLabelValues(fact.Part).Set(one(fact.Works))
	}
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// bidAsked counts a proposer's valid request for a bid.
// stakedBid implements stakedbid.Config's Counted.
func (m *factMetrics) stakedBid(result string) { m.stakedBids.WithLabelValues(result).Inc() }

func (m *factMetrics) bidAsked(result string) { m.gloasBids.WithLabelValues(result).Inc() }

// KillSwitch shows the position of the switch. It is called at start too, when no fact says it.
func (m *factMetrics) KillSwitch(on bool) {
	m.killSwitch.Set(one(on))
}

func (m *factMetrics) countJudged(fact relay.SubmissionJudged) {
	builder, outcome := m.builder(fact.Builder), "kept"
	switch {
	case fact.Refusal != "":
		outcome = "refused"
	case !fact.EligibleAt.IsZero():
		outcome = "eligible"
	}
	m.submissions.WithLabelValues(builder, outcome, m.refusal(fact.Refusal)).Inc()
	if outcome != "eligible" {
		return
	}
	because := "verified"
	if fact.Optimistic {
		because = "optimistic"
	}
	m.bids.WithLabelValues(builder, because).Inc()
	m.eligible.WithLabelValues(because).Observe(fact.EligibleAt.Sub(fact.ReceivedAt).Seconds())
}

// builder returns the label of a builder.
func (m *factMetrics) builder(key phase0.BLSPubKey) string {
	if m.nameOf != nil {
		if name := m.nameOf(key); name != "" {
			return name
		}
	}
	return "other"
}

// refusal returns the label of a refusal: its id if it is in the catalogue, "other" if not, and
// empty if there is none.
func (m *factMetrics) refusal(id string) string {
	if id == "" || m.refusals[id] {
		return id
	}
	return "other"
}

func leads(fact relay.TopChanged) string {
	if fact.ValueWei == nil || fact.ValueWei.IsZero() {
		return "none"
	}
	return "bid"
}

// gwei is an amount as a metric. A float64 has exact whole numbers up to 2^53, which in gwei is
// nine million ether.
func gwei(valueWei *uint256.Int) float64 {
	if valueWei == nil {
		return 0
	}
	return valueWei.Float64() / 1e9
}
