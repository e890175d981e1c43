package deploy

import "fmt"

// alert is a rule, with a case in which it fires and one in which it does not.
type alert struct {
	name, severity string
	expr           string
	// since is how long the expression must hold, such as 1m; empty is at once.
	since   string
	summary string
	// fires and quiet are series by scrape, one a minute, in promtool's notation. The rule is
	// evaluated after the minutes of at; it must then fire with the labels of with, and with none
	// in the quiet case.
	fires, quiet []string
	at           int
	with         map[string]string
}

// The severities: critical is for whoever is on call, at once; warning is for working hours.
const (
	critical = "critical"
	warning  = "warning"
)

// grew is true of a counter that has grown within a window, also from nothing: a series that
// appears with 1 has no increase in the eyes of Prometheus.
func grew(counter, window string) string {
	return fmt.Sprintf("increase(%s[%s]) > 0 or (%s > 0 unless %s offset %s)", counter, window, counter, counter, window)
}

// alerts are all rules, by service.
var alerts = []struct {
	service string
	rules   []alert
}{
	{"every", everyServiceAlerts}, {"relay", relayAlerts}, {"relay-stores", relayStoreAlerts}, {"rpc", rpcAlerts},
	{"stream", streamAlerts},
}

var everyServiceAlerts = []alert{
	{
		name: "GavelDown", severity: critical, expr: `up{job=~"gavel-.+"} == 0`, since: "1m",
		summary: "A service of gavel does not answer Prometheus.",
		fires:   []string{`up{job="gavel-relay"} 1 0 0 0`}, quiet: []string{`up{job="gavel-relay"} 1 0 1 1`,
			`up{job="node"} 0x4`},
		at: 3, with: map[string]string{"job": "gavel-relay"},
	},
	{
		name: "GavelServerErrors", severity: critical, since: "5m",
		expr: `sum by (job, instance) (rate(gavel_http_request_seconds_count{status="5xx"}[5m]))` +
			` / sum by (job, instance) (rate(gavel_http_request_seconds_count[5m])) > 0.05`,
		summary: "More than 5 % of the answers are errors of the server.",
		fires: []string{`gavel_http_request_seconds_count{job="gavel-rpc",status="5xx"} 0+10x20`,
			`gavel_http_request_seconds_count{job="gavel-rpc",status="2xx"} 0+90x20`},
		quiet: []string{`gavel_http_request_seconds_count{job="gavel-rpc",status="5xx"} 0+1x20`,
			`gavel_http_request_seconds_count{job="gavel-rpc",status="2xx"} 0+99x20`},
		at: 15, with: map[string]string{"job": "gavel-rpc"},
	},
	{
		name: "GavelBodiesWithoutRoom", severity: warning, since: "5m",
		expr:    `rate(gavel_http_turned_away_total{reason=~"body-without-room|body-cut-off"}[5m]) > 0.1`,
		summary: "Request bodies are turned away for want of memory.",
		fires:   []string{`gavel_http_turned_away_total{job="gavel-relay",reason="body-without-room"} 0+60x20`},
		quiet: []string{`gavel_http_turned_away_total{job="gavel-relay",reason="body-without-room"} 0+1x20`,
			`gavel_http_turned_away_total{job="gavel-relay",reason="body-slow"} 0+60x20`},
		at: 15, with: map[string]string{"job": "gavel-relay", "reason": "body-without-room"},
	},
	{
		name: "GavelVersionsDiffer", severity: warning, since: "30m",
		expr:    `count by (service) (count by (service, version, commit) (gavel_build_info)) > 1`,
		summary: "Instances of a service run different builds.",
		fires: []string{`gavel_build_info{service="relay",version="v1",commit="a",instance="1"} 1x60`,
			`gavel_build_info{service="relay",version="v2",commit="b",instance="2"} 1x60`},
		quiet: []string{`gavel_build_info{service="relay",version="v1",commit="a",instance="1"} 1x60`,
			`gavel_build_info{service="relay",version="v1",commit="a",instance="2"} 1x60`,
			`gavel_build_info{service="rpc",version="v2",commit="b",instance="2"} 1x60`},
		at: 40, with: map[string]string{"service": "relay"},
	},
}

// getHeader is the endpoint that proposers wait for.
const getHeader = `endpoint="/eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}"`

var relayAlerts = []alert{
	{
		name: "GavelRelayDeliveryBroken", severity: critical, expr: "gavel_relay_delivery_path_works == 0", since: "30s",
		summary: "The relay serves no headers, because their payloads could not be delivered.",
		fires:   []string{`gavel_relay_delivery_path_works{part="guard"} 1 0 0 0`},
		quiet:   []string{`gavel_relay_delivery_path_works{part="guard"} 1 1 0 1`}, at: 3,
		with: map[string]string{"part": "guard"},
	},
	{
		name: "GavelRelayPayloadLost", severity: critical,
		expr: grew(`gavel_relay_payloads_refused_total{refusal=~"payload-not-published|payload-escrow-unavailable|`+
			`payload-guard-unavailable"}`, "10m"),
		summary: "A proposer signed a header and got no payload, by the relay's fault: its slot is lost.",
		fires:   []string{`gavel_relay_payloads_refused_total{refusal="payload-not-published"} _x8 1x10`},
		quiet: []string{`gavel_relay_payloads_refused_total{refusal="payload-not-published"} 1x20`,
			`gavel_relay_payloads_refused_total{refusal="payload-too-late"} 0+1x20`},
		at: 15, with: map[string]string{"refusal": "payload-not-published"},
	},
	{
		name: "GavelRelayPayloadWithheld", severity: critical,
		expr:    grew(`gavel_relay_payloads_withheld_total{reason!="equivocation"}`, "10m"),
		summary: "The relay has taken a proposer's block and has not revealed its payload: the slot has none.",
		fires:   []string{`gavel_relay_payloads_withheld_total{reason="past-deadline"} 0x8 1x10`},
		quiet: []string{`gavel_relay_payloads_withheld_total{reason="past-deadline"} 1x20`,
			`gavel_relay_payloads_withheld_total{reason="equivocation"} 0+1x20`},
		at: 15, with: map[string]string{"reason": "past-deadline"},
	},
	{
		name: "GavelRelayCannotBid", severity: warning, expr: "gavel_relay_gloas_may_bid == 0", since: "10m",
		summary: "The relay's staked builder may not bid: in gloas proposers get no bids.",
		fires:   []string{"gavel_relay_gloas_may_bid 0x20"}, quiet: []string{"gavel_relay_gloas_may_bid 0x5 1x1 0x9"}, at: 12,
	},
	{
		name: "GavelRelayKillSwitch", severity: warning, expr: "gavel_relay_kill_switch == 1", since: "5m",
		summary: "The kill switch is on: the relay serves no headers.",
		fires:   []string{"gavel_relay_kill_switch 1x10"}, quiet: []string{"gavel_relay_kill_switch 1 1 0 1 1 1 1 1"}, at: 7,
	},
	{
		name: "GavelRelayBuilderDemoted", severity: warning, expr: grew("gavel_relay_demotions_total", "15m"),
		summary: "A builder was demoted: a block that counted on trust was wrong, or its payload did not come.",
		fires:   []string{`gavel_relay_demotions_total{builder="alpha",rule="state"} _x9 1x20`},
		quiet:   []string{`gavel_relay_demotions_total{builder="alpha",rule="state"} 3x40`},
		at:      20, with: map[string]string{"builder": "alpha", "rule": "state"},
	},
	{
		name: "GavelRelayNoBeaconNode", severity: critical, expr: "gavel_relay_beacon_nodes_following < 1", since: "30s",
		summary: "No beacon node announces the chain's head: the relay is blind, and cannot publish.",
		fires:   []string{"gavel_relay_beacon_nodes_following 2 0 0"},
		quiet:   []string{"gavel_relay_beacon_nodes_following 2 0 1"},
		at:      2,
	},
	{
		name: "GavelRelayBeaconNodeBehind", severity: warning, since: "5m",
		expr:    "gavel_relay_beacon_node_follows == 0 or gavel_relay_beacon_node_answers == 0",
		summary: "A beacon node is behind, or does not answer.",
		fires:   []string{`gavel_relay_beacon_node_follows{node="cl-1:5052"} 1 0x10`},
		quiet: []string{`gavel_relay_beacon_node_follows{node="cl-1:5052"} 1 0 0 0 1 0 0 0 0`,
			`gavel_relay_beacon_node_answers{node="cl-1:5052"} 1x10`},
		at: 8, with: map[string]string{"node": "cl-1:5052"},
	},
	{
		name: "GavelRelayHeadStands", severity: critical, expr: "changes(gavel_relay_head_slot[3m]) == 0", since: "1m",
		summary: "The chain's head has not moved for three minutes, as the relay sees it.",
		fires:   []string{"gavel_relay_head_slot 7x10"}, quiet: []string{"gavel_relay_head_slot 7 7 7 8 8 8 9 9 9 10"}, at: 8,
	},
	{
		name: "GavelRelayNoValidationNode", severity: critical, since: "30s",
		expr:    "max by (job, instance) (gavel_relay_validation_node_works) == 0",
		summary: "No node can execute blocks: only what needs no execution is accepted.",
		fires: []string{`gavel_relay_validation_node_works{instance="r",node="a"} 0x5`,
			`gavel_relay_validation_node_works{instance="r",node="b"} 0x5`},
		quiet: []string{`gavel_relay_validation_node_works{instance="r",node="a"} 0x5`,
			`gavel_relay_validation_node_works{instance="r",node="b"} 1x5`},
		at: 3, with: map[string]string{"instance": "r"},
	},
	{
		name: "GavelRelayValidationNodeDown", severity: warning, expr: "gavel_relay_validation_node_works == 0", since: "2m",
		summary: "A node that executes blocks is left aside, because it fails.",
		fires:   []string{`gavel_relay_validation_node_works{node="a"} 1 0x5`},
		quiet:   []string{`gavel_relay_validation_node_works{node="a"} 0 0 1 0 0 1`}, at: 5,
		with: map[string]string{"node": "a"},
	},
	{
		name: "GavelRelayNotJudged", severity: warning,
		expr:    grew(`gavel_relay_trusted_blocks_executed_total{class="infrastructure"}`, "10m"),
		summary: "A block that counted on trust could not be executed, so nobody knows whether it was right.",
		fires:   []string{`gavel_relay_trusted_blocks_executed_total{builder="alpha",class="infrastructure"} 1 1 2`},
		quiet:   []string{`gavel_relay_trusted_blocks_executed_total{builder="alpha",class="valid"} 0+1x20`},
		at:      3, with: map[string]string{"builder": "alpha", "class": "infrastructure"},
	},
	{
		name: "GavelRelayNoSubmissions", severity: warning, since: "2m",
		expr:    "sum by (job, instance) (rate(gavel_relay_submissions_total[2m])) == 0",
		summary: "Builders have sent nothing for four minutes.",
		fires:   []string{`gavel_relay_submissions_total{instance="r",builder="other",outcome="kept"} 9x20`},
		quiet: []string{`gavel_relay_submissions_total{instance="r",builder="other",outcome="kept"} 9x20`,
			`gavel_relay_submissions_total{instance="r",builder="alpha",outcome="eligible"} 0+5x20`},
		at: 10, with: map[string]string{"instance": "r"},
	},
	{
		name: "GavelRelaySlowHeaders", severity: warning, since: "5m",
		expr: `histogram_quantile(0.99, sum by (job, instance, le) (rate(gavel_http_request_seconds_bucket{` + getHeader +
			`}[5m]))) > 0.8`,
		summary: "One getHeader in a hundred takes more than 800 ms, longer than many proposers wait.",
		fires: []string{`gavel_http_request_seconds_bucket{` + getHeader + `,le="0.5"} 0+10x20`,
			`gavel_http_request_seconds_bucket{` + getHeader + `,le="2"} 0+20x20`,
			`gavel_http_request_seconds_bucket{` + getHeader + `,le="+Inf"} 0+20x20`},
		quiet: []string{`gavel_http_request_seconds_bucket{` + getHeader + `,le="0.5"} 0+20x20`,
			`gavel_http_request_seconds_bucket{` + getHeader + `,le="2"} 0+20x20`,
			`gavel_http_request_seconds_bucket{` + getHeader + `,le="+Inf"} 0+20x20`},
		at: 15,
	},
}
