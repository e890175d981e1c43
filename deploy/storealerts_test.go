package deploy

// behind is true of a lag that is too great, or not known (-1).
func behind(lag, facts string) string { return lag + " > " + facts + " or " + lag + " == -1" }

// nearlyFull is true of a disk that has little left, or will have nothing left in four hours if the
// last hour goes on. It is -1 for a journal on a cluster, whose servers have metrics of their own.
func nearlyFull(freeBytes string) string {
	return "(" + freeBytes + " < 5e9 or predict_linear(" + freeBytes + "[1h], 4 * 3600) < 0) and " + freeBytes + " >= 0"
}

var relayStoreAlerts = []alert{
	{
		name: "GavelRelayJournalStopped", severity: critical, expr: "gavel_relay_journal_works == 0", since: "30s",
		summary: "The journal keeps nothing: its disk is full, or its engine has stopped.",
		fires:   []string{"gavel_relay_journal_works 1 0 0"}, quiet: []string{"gavel_relay_journal_works 1 0 1"}, at: 2,
	},
	{
		name: "GavelRelayFactsLost", severity: critical,
		expr:    "delta(gavel_relay_facts_lost[15m]) > 0 or delta(gavel_relay_journal_unacked[15m]) > 0",
		summary: "Facts did not get into the journal: the Data API will lack them.",
		fires:   []string{"gavel_relay_facts_lost 0 0 4 4 4"}, quiet: []string{"gavel_relay_facts_lost 4x30",
			"gavel_relay_journal_unacked 1 0"},
		at: 4,
	},
	{
		name: "GavelRelayJournalDisk", severity: warning, expr: nearlyFull("gavel_relay_journal_free_bytes"), since: "5m",
		summary: "The disk of the journal is nearly full, or will be within four hours.",
		fires:   []string{"gavel_relay_journal_free_bytes 100e9-1e9x90"},
		quiet: []string{"gavel_relay_journal_free_bytes{instance=\"a\"} 900e9-1e8x90",
			"gavel_relay_journal_free_bytes{instance=\"cluster\"} -1x90"},
		at: 80,
	},
	{
		name: "GavelRelayArchiveLate", severity: warning, expr: behind("gavel_relay_archive_lag", "50000"), since: "5m",
		summary: "The archive is far behind the journal, or does not answer: the Data API is old.",
		fires:   []string{"gavel_relay_archive_lag -1x10"},
		quiet:   []string{"gavel_relay_archive_lag 60000 60000 49000 60000x5"}, at: 7,
	},
	{
		name: "GavelRelayJournalBehindArchive", severity: critical, expr: "gavel_relay_archive_lag < -1", since: "1m",
		summary: "The archive has facts that the journal has not: the journal was lost, or is another one's.",
		fires:   []string{"gavel_relay_archive_lag -400x5"}, quiet: []string{"gavel_relay_archive_lag -1x5"}, at: 3,
	},
}

var rpcAlerts = []alert{
	{
		name: "GavelRPCNoOwner", severity: critical, expr: "gavel_rpc_owner_known == 0", since: "1m",
		summary: "Nobody owns the orders, as far as this instance knows: it refuses all requests.",
		fires:   []string{"gavel_rpc_owner_known 0x5"}, quiet: []string{"gavel_rpc_owner_known 1x5"}, at: 3,
	},
	{
		name: "GavelRPCHeadStands", severity: critical, expr: "changes(gavel_rpc_head[3m]) == 0", since: "1m",
		summary: "The bundle RPC has seen no new block for three minutes.",
		fires:   []string{"gavel_rpc_head 7x10"}, quiet: []string{"gavel_rpc_head 7+1x10"}, at: 8,
	},
	{
		name: "GavelRPCNoExecutionNode", severity: critical, since: "30s",
		expr:    "max by (job, instance) (gavel_rpc_execution_node_answers) == 0",
		summary: "No execution node answers: orders are neither simulated nor followed.",
		fires: []string{`gavel_rpc_execution_node_answers{instance="r",node="a"} 0x5`,
			`gavel_rpc_execution_node_answers{instance="r",node="b"} 0x5`},
		quiet: []string{`gavel_rpc_execution_node_answers{instance="r",node="a"} 0x5`,
			`gavel_rpc_execution_node_answers{instance="r",node="b"} 1x5`},
		at: 3, with: map[string]string{"instance": "r"},
	},
	{
		name: "GavelRPCExecutionNodeDown", severity: warning, expr: "gavel_rpc_execution_node_answers == 0", since: "2m",
		summary: "An execution node does not answer.",
		fires:   []string{`gavel_rpc_execution_node_answers{node="a"} 1 0x5`},
		quiet:   []string{`gavel_rpc_execution_node_answers{node="a"} 0 0 1 0 0 1`}, at: 5,
		with: map[string]string{"node": "a"},
	},
	{
		name: "GavelRPCBuilderTakesNothing", severity: warning, since: "5m",
		expr: `sum by (job, instance, builder) (rate(gavel_rpc_deliveries_total{result="failed"}[5m]))` +
			` / sum by (job, instance, builder) (rate(gavel_rpc_deliveries_total[5m])) > 0.5`,
		summary: "More than half of the orders that are sent to a builder do not get there.",
		fires: []string{`gavel_rpc_deliveries_total{builder="alpha",result="failed"} 0+6x20`,
			`gavel_rpc_deliveries_total{builder="alpha",result="taken"} 0+4x20`},
		quiet: []string{`gavel_rpc_deliveries_total{builder="alpha",result="failed"} 0+4x20`,
			`gavel_rpc_deliveries_total{builder="alpha",result="taken"} 0+6x20`},
		at: 15, with: map[string]string{"builder": "alpha"},
	},
	{
		name: "GavelRPCSlowCalls", severity: warning, since: "5m",
		expr: `histogram_quantile(0.99, sum by (job, instance, method, le) (rate(gavel_rpc_call_seconds_bucket{` +
			`method=~"eth_sendBundle|mev_sendBundle|eth_sendPrivateTransaction"}[5m]))) > 1`,
		summary: "One order in a hundred takes more than a second to be accepted.",
		fires: []string{`gavel_rpc_call_seconds_bucket{method="eth_sendBundle",le="1"} 0+10x20`,
			`gavel_rpc_call_seconds_bucket{method="eth_sendBundle",le="4"} 0+20x20`,
			`gavel_rpc_call_seconds_bucket{method="eth_sendBundle",le="+Inf"} 0+20x20`},
		quiet: []string{`gavel_rpc_call_seconds_bucket{method="eth_callBundle",le="1"} 0+10x20`,
			`gavel_rpc_call_seconds_bucket{method="eth_callBundle",le="+Inf"} 0+20x20`},
		at: 15, with: map[string]string{"method": "eth_sendBundle"},
	},
	{
		name: "GavelRPCJournalStopped", severity: critical, expr: "gavel_rpc_journal_works == 0", since: "30s",
		summary: "The journal keeps nothing: its disk is full, or its engine has stopped.",
		fires:   []string{"gavel_rpc_journal_works 1 0 0"}, quiet: []string{"gavel_rpc_journal_works 1 0 1"}, at: 2,
	},
	{
		name: "GavelRPCFactsLost", severity: critical,
		expr:    "delta(gavel_rpc_facts_lost[15m]) > 0 or delta(gavel_rpc_journal_unacked[15m]) > 0",
		summary: "Facts did not get into the journal: refunds and the stream will lack them.",
		fires:   []string{"gavel_rpc_journal_unacked 0 0 4 4 4"}, quiet: []string{"gavel_rpc_facts_lost 4x30"}, at: 4,
	},
	{
		name: "GavelRPCJournalDisk", severity: warning, expr: nearlyFull("gavel_rpc_journal_free_bytes"), since: "5m",
		summary: "The disk of the journal is nearly full, or will be within four hours.",
		fires:   []string{"gavel_rpc_journal_free_bytes 4e9x20"}, quiet: []string{"gavel_rpc_journal_free_bytes 6e9x20"},
		at: 15,
	},
	{
		name: "GavelRPCLedgerLate", severity: warning, expr: behind("gavel_rpc_ledger_lag", "50000"), since: "5m",
		summary: "The ledger is far behind the journal, or does not answer: refunds are old.",
		fires:   []string{"gavel_rpc_ledger_lag 60000x10"}, quiet: []string{"gavel_rpc_ledger_lag 100x10"}, at: 7,
	},
	{
		name: "GavelRPCJournalBehindLedger", severity: critical, expr: "gavel_rpc_ledger_lag < -1", since: "1m",
		summary: "The ledger has facts that the journal has not: the journal was lost, or is another one's.",
		fires:   []string{"gavel_rpc_ledger_lag -400x5"}, quiet: []string{"gavel_rpc_ledger_lag -1x5"}, at: 3,
	},
}

var streamAlerts = []alert{
	{
		name: "GavelStreamHistoryLate", severity: warning, expr: behind("gavel_stream_history_lag", "10000"), since: "5m",
		summary: "The history is far behind the journal, or one of them does not answer.",
		fires:   []string{"gavel_stream_history_lag -1x10"}, quiet: []string{"gavel_stream_history_lag 20x10"}, at: 7,
	},
	{
		name: "GavelStreamListenersRefused", severity: warning, expr: "delta(gavel_stream_refused[10m]) > 0", since: "5m",
		summary: "Listeners find no place.",
		fires:   []string{"gavel_stream_refused 0+1x20"}, quiet: []string{"gavel_stream_refused 7x20"}, at: 15,
	},
	{
		name: "GavelStreamFactsSkipped", severity: warning, expr: "delta(gavel_stream_facts_skipped[15m]) > 0",
		summary: "A fact of the journal could not be read.",
		fires:   []string{"gavel_stream_facts_skipped 0 0 1 1"}, quiet: []string{"gavel_stream_facts_skipped 1x20"}, at: 3,
	},
}
