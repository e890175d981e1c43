package deploy

import "strings"

// board is one of Grafana's.
type board struct {
	file, title string
	// service is the value of gavel_build_info's label by which the board's instances are found.
	service string
	rows    []row
}

type row struct {
	title  string
	panels []panel
}

// panel is a diagram, or one number if it is a stat. Its description is the help of the metrics.
type panel struct {
	title string
	unit  string // Grafana's name: s, bytes, reqps, short, percentunit
	stat  bool
	shows []query
}

// query is an expression in PromQL, in which $here stands for the chosen instances, and the legend
// of its series.
type query struct{ expr, legend string }

// one is a panel with one query.
func one(title, unit, expr, legend string) panel {
	return panel{title: title, unit: unit, shows: []query{{expr, legend}}}
}

// number is a panel with one number for each instance.
func number(title, unit, expr string) panel {
	p := one(title, unit, expr, "{{instance}}")
	p.stat = true
	return p
}

// perSecond is the rate of a counter, summed by labels.
func perSecond(counter, by string) string {
	return "sum by (" + by + ") (rate(" + counter + "{$here}[$__rate_interval]))"
}

// quantiles are the median and the 99th percentile of a histogram, by a label if it is not empty.
func quantiles(title, histogram, selector, by string) panel {
	group, legend := "le", ""
	if by != "" {
		group, legend = "le, "+by, "{{"+by+"}} "
	}
	of := func(q string) string {
		return "histogram_quantile(" + q + ", sum by (" + group + ") (rate(" + histogram + "_bucket{$here" + selector +
			"}[$__rate_interval])))"
	}
	return panel{title: title, unit: "s", shows: []query{{of("0.5"), legend + "p50"}, {of("0.99"), legend + "p99"}}}
}

// served are the rows that every service's board has.
func served() []row {
	return []row{{"Requests", []panel{
		one("Requests by endpoint", "reqps", perSecond("gavel_http_request_seconds_count", "endpoint, method"),
			"{{method}} {{endpoint}}"),
		one("Answers by status", "reqps", perSecond("gavel_http_request_seconds_count", "status"), "{{status}}"),
		quantiles("Time of answers", "gavel_http_request_seconds", "", "endpoint"),
		quantiles("On the way to us", "gavel_http_client_to_server_seconds", "", "endpoint"),
		one("Refusals", "reqps", perSecond("gavel_http_refusals_total", "refusal"), "{{refusal}}"),
		one("Turned away", "reqps", perSecond("gavel_http_turned_away_total", "reason"), "{{reason}}"),
		{title: "Bytes", unit: "Bps", shows: []query{
			{"sum(rate(gavel_http_received_bytes_total{$here}[$__rate_interval]))", "received"},
			{"sum(rate(gavel_http_sent_bytes_total{$here}[$__rate_interval]))", "sent"},
		}},
		one("In flight", "short", "gavel_http_in_flight{$here}", "{{instance}}"),
	}}, {"Builds", []panel{
		one("What runs where", "short", "gavel_build_info{$here}", "{{instance}} {{region}} {{version}} {{commit}} {{go}}"),
	}}}
}

var relayBoard = board{"relay", "gavel: relay", "relay", append([]row{
	{"Now", []panel{
		number("Head slot", "none", "gavel_relay_head_slot{$here}"),
		number("Validators registered", "none", "gavel_relay_registrations{$here}"),
		number("Validators", "none", "gavel_relay_validators{$here}"),
		number("Kill switch", "none", "gavel_relay_kill_switch{$here}"),
		number("Delivery works", "none", "min by (instance) (gavel_relay_delivery_path_works{$here})"),
		number("Beacon nodes following", "none", "gavel_relay_beacon_nodes_following{$here}"),
	}},
	{"Gloas", []panel{
		number("May bid", "none", "gavel_relay_gloas_may_bid{$here}"),
		one("Requests for bids, by result", "reqps", perSecond("gavel_relay_gloas_bids_total", "result"), "{{result}}"),
		one("Payloads withheld", "reqps", perSecond("gavel_relay_payloads_withheld_total", "reason"), "{{reason}}"),
		one("Bids of staked builders, by result", "reqps", perSecond("gavel_relay_gloas_staked_bids_total", "result"),
			"{{result}}"),
		one("Payloads left to builders", "reqps", perSecond("gavel_relay_gloas_payloads_left_total", "reason"), "{{reason}}"),
		quantiles("Block to envelope", "gavel_relay_gloas_reveal_seconds", "", ""),
	}},
	{"Auction", []panel{
		one("Submissions by outcome", "reqps", perSecond("gavel_relay_submissions_total", "outcome"), "{{outcome}}"),
		one("Refused submissions", "reqps",
			`sum by (refusal) (rate(gavel_relay_submissions_total{$here,outcome="refused"}[$__rate_interval]))`, "{{refusal}}"),
		one("Bids that count, by why", "reqps", perSecond("gavel_relay_bids_total", "because"), "{{because}}"),
		one("Top bid changes", "reqps", perSecond("gavel_relay_top_changes_total", "to"), "{{to}}"),
		quantiles("Submission to eligible bid", "gavel_relay_submission_eligible_seconds", "", "because"),
		quantiles("Stages", "gavel_stage_seconds", "", "stage"),
		one("Left out and hydrated", "reqps", perSecond("gavel_relay_hydration_items_total", "result"), "{{result}}"),
		{title: "Listeners to leading bids", unit: "short", shows: []query{
			{"gavel_relay_top_bid_listeners{$here}", "{{instance}}"},
			{"gavel_relay_top_bid_listeners_cut{$here}", "{{instance}} cut since the start"},
		}},
	}},
	{"Deliveries", []panel{
		one("Headers served", "reqps", perSecond("gavel_relay_headers_served_total", "instance"), "{{instance}}"),
		quantiles("getHeader", "gavel_http_request_seconds", ","+getHeader, ""),
		one("Payloads delivered in an hour", "short",
			"sum by (instance) (increase(gavel_relay_payloads_delivered_total{$here}[1h]))", "{{instance}}"),
		one("Payloads refused in an hour", "short",
			"sum by (refusal) (increase(gavel_relay_payloads_refused_total{$here}[1h]))", "{{refusal}}"),
		quantiles("Request into the slot", "gavel_relay_delivery_into_slot_seconds", "", ""),
		one("Parts of the delivery", "short", "gavel_relay_delivery_path_works{$here}", "{{part}}"),
		one("Registrations stored", "reqps", perSecond("gavel_relay_registrations_stored_total", "instance"), "{{instance}}"),
	}},
	{"Nodes", []panel{
		{title: "Beacon nodes", unit: "short", shows: []query{
			{"gavel_relay_beacon_node_follows{$here}", "{{node}} follows"},
			{"gavel_relay_beacon_node_answers{$here}", "{{node}} answers"},
		}},
		one("Validation nodes", "short", "gavel_relay_validation_node_works{$here}", "{{node}}"),
	}},
}, served()...)}

var buildersBoard = board{"builders", "gavel: builders", "relay", []row{
	{"Bids", []panel{
		one("Submissions", "reqps", perSecond("gavel_relay_submissions_total", "builder"), "{{builder}}"),
		one("Eligible share", "percentunit",
			`sum by (builder) (rate(gavel_relay_submissions_total{$here,outcome="eligible"}[$__rate_interval])) / `+
				perSecond("gavel_relay_submissions_total", "builder"), "{{builder}}"),
		one("Refusals by builder", "reqps",
			`sum by (builder, refusal) (rate(gavel_relay_submissions_total{$here,outcome="refused"}[$__rate_interval]))`,
			"{{builder}} {{refusal}}"),
		one("Bids that count", "reqps", perSecond("gavel_relay_bids_total", "builder, because"), "{{builder}} {{because}}"),
	}},
	{"Deliveries", []panel{
		one("Blocks delivered in a day", "short",
			"sum by (builder) (increase(gavel_relay_payloads_delivered_total{$here}[1d]))", "{{builder}}"),
		one("Value delivered in a day, gwei", "none",
			"sum by (builder) (increase(gavel_relay_payloads_delivered_value_gwei_total{$here}[1d]))", "{{builder}}"),
		one("Share of blocks in a day", "percentunit",
			"sum by (builder) (increase(gavel_relay_payloads_delivered_total{$here}[1d])) / ignoring (builder) group_left () "+
				"sum(increase(gavel_relay_payloads_delivered_total{$here}[1d]))", "{{builder}}"),
	}},
	{"Trust", []panel{
		one("Blocks executed after their bids counted", "reqps",
			perSecond("gavel_relay_trusted_blocks_executed_total", "builder, class"), "{{builder}} {{class}}"),
		one("Demotions in a day", "short", "sum by (builder, rule) (increase(gavel_relay_demotions_total{$here}[1d]))",
			"{{builder}} {{rule}}"),
	}},
}}

var rpcBoard = board{"rpc", "gavel: bundle RPC", "rpc", append([]row{
	{"Now", []panel{
		number("Head", "none", "gavel_rpc_head{$here}"),
		number("Live orders", "none", "gavel_rpc_orders{$here}"),
		number("Owner of the orders", "none", "gavel_rpc_owner{$here}"),
		number("Owner is known", "none", "gavel_rpc_owner_known{$here}"),
		number("Takeovers", "none", "gavel_rpc_takeovers_total{$here}"),
		number("Orders to unknown builders", "none", "gavel_rpc_unknown_builders{$here}"),
	}},
	{"Orders", []panel{
		one("Calls", "reqps", perSecond("gavel_rpc_calls_total", "method"), "{{method}}"),
		one("Refused calls", "reqps", `sum by (refusal) (rate(gavel_rpc_calls_total{$here,refusal!=""}[$__rate_interval]))`,
			"{{refusal}}"),
		quantiles("Time of methods", "gavel_rpc_call_seconds", "", "method"),
		one("Requests handed to the owner", "reqps", perSecond("gavel_rpc_forwarded_requests_total", "outcome"),
			"{{outcome}}"),
		one("Orders accepted", "reqps", perSecond("gavel_rpc_orders_total", "kind"), "{{kind}}"),
		one("Orders ended", "reqps", perSecond("gavel_rpc_orders_ended_total", "state"), "{{state}}"),
		one("Simulations", "reqps", perSecond("gavel_rpc_simulations_total", "result"), "{{result}}"),
		one("Deliveries to builders", "reqps", perSecond("gavel_rpc_deliveries_total", "builder, result"),
			"{{builder}} {{result}}"),
	}},
	{"Refunds and chain", []panel{
		one("Refunds", "reqps", perSecond("gavel_rpc_refunds_total", "status"), "{{status}}"),
		one("Refunds credited in a day, gwei", "none",
			"sum by (instance) (increase(gavel_rpc_refunds_credited_gwei_total{$here}[1d]))", "{{instance}}"),
		one("Blocks reverted in a day", "short",
			"sum by (instance) (increase(gavel_rpc_blocks_reverted_total{$here}[1d]))", "{{instance}}"),
		one("Execution nodes", "short", "gavel_rpc_execution_node_answers{$here}", "{{node}}"),
	}},
}, served()...)}

var streamBoard = board{"stream", "gavel: event stream", "stream", append([]row{
	{"Stream", []panel{
		one("Listeners", "short", "gavel_stream_listeners{$here}", "{{instance}}"),
		{title: "Events a second", unit: "short", shows: []query{
			{"deriv(gavel_stream_published{$here}[5m])", "{{instance}} streamed"},
			{"deriv(gavel_stream_delivered{$here}[5m])", "{{instance}} taken by listeners"},
		}},
		{title: "Listeners without luck, since the start", unit: "short", shows: []query{
			{"gavel_stream_refused{$here}", "{{instance}} refused"}, {"gavel_stream_cut{$here}", "{{instance}} cut"},
			{"gavel_stream_resumed{$here}", "{{instance}} resumed"},
		}},
		{title: "Long events, since the start", unit: "short", shows: []query{
			{"gavel_stream_long_events{$here}", "{{instance}} long"},
			{"gavel_stream_dropped_events{$here}", "{{instance}} dropped"},
		}},
	}},
	{"History", []panel{
		one("Events in the history", "short", "gavel_stream_history_events{$here}", "{{instance}}"),
		one("Lag", "short", "gavel_stream_history_lag{$here}", "{{instance}}"),
		one("Facts that could not be read", "short", "gavel_stream_facts_skipped{$here}", "{{instance}}"),
	}},
}, served()...)}

// journalBoard shows the journals of relay and bundle RPC beside each other.
var journalBoard = board{"journal", "gavel: journal and stores", "relay|rpc|stream", []row{
	{"Facts", []panel{
		both("Facts lost, since the start", "short", "gavel_%s_facts_lost{$here}"),
		both("Messages never acked, since the start", "short", "gavel_%s_journal_unacked{$here}"),
		both("The journal works", "short", "gavel_%s_journal_works{$here}"),
		both("Last synced", "s", "gavel_%s_journal_synced_seconds_ago{$here}"),
	}},
	{"Disk", []panel{
		both("Free", "bytes", "gavel_%s_journal_free_bytes{$here}"),
		both("Facts", "bytes", "gavel_%s_journal_facts_bytes{$here}"),
		one("Escrow", "bytes", "gavel_relay_journal_escrow_bytes{$here}", "{{instance}}"),
		one("Evidence", "bytes", "gavel_relay_journal_evidence_bytes{$here}", "{{instance}}"),
	}},
	{"Projections", []panel{
		one("Lag of the archive", "short", "gavel_relay_archive_lag{$here}", "{{instance}}"),
		one("Lag of the ledger", "short", "gavel_rpc_ledger_lag{$here}", "{{instance}}"),
		one("Lag of the history", "short", "gavel_stream_history_lag{$here}", "{{instance}}"),
	}},
}}

// both is a panel of a metric that relay and bundle RPC have.
func both(title, unit, expr string) panel {
	return panel{title: title, unit: unit, shows: []query{
		{strings.ReplaceAll(expr, "%s", "relay"), "{{instance}} relay"}, {strings.ReplaceAll(expr, "%s", "rpc"),
			"{{instance}} rpc"},
	}}
}

var boards = []board{relayBoard, buildersBoard, rpcBoard, streamBoard, journalBoard}
