//go:build duckdb

package query_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/query"
	"github.com/gavel-relay/gavel/scenarios/replay"
)

// questions are worked in docs/replay.md with their answers.
var questions = []struct{ asked, sql string }{
	{"Which builders bid most for a slot, how often, and how much?",
		`SELECT left(builder_pubkey, 10) AS builder, count(*) AS bids, max(value_wei) AS best_wei
FROM bids WHERE slot = 7567001 GROUP BY builder_pubkey ORDER BY best_wei DESC LIMIT 5;`},
	{"Who led half a second after a slot began?",
		`SELECT relay, left(builder_pubkey, 10) AS builder, value_wei
FROM bids WHERE slot = 7567001 AND received_at <= slot_start + INTERVAL 500 MILLISECOND
ORDER BY value_wei DESC LIMIT 1;`},
	{"How does the best bid rise?",
		`SELECT ms, max(best) OVER (ORDER BY ms) AS best_wei
FROM (SELECT date_diff('millisecond', slot_start, received_at) // 500 * 500 + 500 AS ms, max(value_wei) AS best
      FROM bids WHERE slot = 7567001 GROUP BY ms) ORDER BY ms DESC LIMIT 6;`},
	{"What is a second of waiting worth to the proposer?",
		`SELECT slot, max(value_wei) FILTER (received_at <= slot_start) AS at_0s_wei,
       max(value_wei) FILTER (received_at <= slot_start + INTERVAL 1 SECOND) - at_0s_wei AS second_wei
FROM bids GROUP BY slot ORDER BY slot;`},
	{"By how much was the delivered bid below the best one that was listed?",
		`SELECT d.slot, d.relay, d.value_wei AS delivered_wei, max(b.value_wei) - d.value_wei AS missed_wei
FROM deliveries d JOIN bids b USING (slot, relay) GROUP BY d.slot, d.relay, d.value_wei;`},
	{"When had the delivered bid come?",
		`SELECT d.slot, d.relay, min(date_diff('millisecond', b.slot_start, b.received_at)) AS ms_into_slot
FROM deliveries d JOIN bids b USING (slot, relay, block_hash) GROUP BY d.slot, d.relay;`},
	{"How often do builders bid less than just before, which counts only if it cancels?",
		`SELECT slot, count(*) FILTER (value_wei < before) AS lower, count(*) AS bids
FROM (SELECT slot, value_wei, lag(value_wei) OVER (PARTITION BY slot, relay, builder_pubkey ORDER BY received_at) AS before
      FROM bids) GROUP BY slot ORDER BY slot;`},
	{"How concentrated are builders' best bids (Herfindahl-Hirschman index)?",
		`SELECT slot, round(sum(pow(best / total, 2)), 4) AS hhi
FROM (SELECT slot, max(value_wei)::DOUBLE AS best, sum(max(value_wei)::DOUBLE) OVER (PARTITION BY slot) AS total
      FROM bids GROUP BY slot, builder_pubkey) GROUP BY slot ORDER BY slot;`},
	{"Where does the replay give another block than the one that was delivered, and why?",
		`SELECT reason, count(*) AS auctions, sum(difference_wei) AS difference_wei
FROM results WHERE variant = 'as-archived' GROUP BY reason ORDER BY reason;`},
	{"What would proposers have been paid under other rules?",
		`SELECT variant, count(served_value_wei) AS served, sum(paid_wei) AS paid_wei
FROM results GROUP BY variant ORDER BY variant;`},
	{"Which relays list a block that others list, too, and how much later than the first?",
		`SELECT relay, count(*) AS shared, median(date_diff('millisecond', first, received_at)) AS later_ms
FROM (SELECT relay, received_at, min(received_at) OVER same AS first, count(DISTINCT relay) OVER same AS relays
      FROM bids WINDOW same AS (PARTITION BY slot, block_hash)) WHERE relays > 1 GROUP BY relay ORDER BY relay;`},
	{"Of a builder who leads, how far is the best other builder behind?",
		`SELECT slot, served_value_wei, served_value_wei - second_value_wei AS ahead_wei
FROM results WHERE variant = 'as-archived' ORDER BY slot;`},
	{"Of the transactions that were in the mempool when a slot began (in the sample, which is made up), how many of " +
		"each type were waiting, with what tip, and how many are replaced later?",
		`SELECT tx_type, count(*) AS waiting, median(tip_cap_wei) AS median_tip_wei,
       count(*) FILTER (EXISTS (FROM transactions later WHERE later."from" = t."from" AND later.nonce = t.nonce
                                AND later.observed_at > t.observed_at)) AS replaced
FROM transactions t WHERE observed_at <= (SELECT any_value(slot_start) FROM bids WHERE slot = 7567001)
GROUP BY tx_type ORDER BY tx_type;`},
}

// demo is the data set of make replay-demo, with the results of its replay.
func demo(t testing.TB) *query.DB {
	t.Helper()
	const archives = "../replay/testdata/demo/"
	dir, results := t.TempDir(), t.TempDir()
	for relay, files := range map[string][]string{
		"bloxroute": {"bloxroute-7613244.json.gz", "delivered-7613244.json"}, "flashbots": {"flashbots-7567001.json.gz"},
		"": {"mempool-sample.parquet"},
	} {
		for i := range files {
			files[i] = archives + files[i]
		}
		_, err := replay.Import(t.Context(), files, replay.Options{
			Into: dir, Network: dataset.Networks[0], Relay: relay, BatchRows: 1000, Progress: io.Discard,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	options := replay.RunOptions{Dir: dir, Out: results, How: inferred(t), Shard: 1, Shards: 1}
	for _, whatIf := range parsed(t, archives+"what-if.yaml") {
		options.Variants = append(options.Variants, backtest.NewVariant(whatIf))
	}
	if _, err := replay.Run(t.Context(), options); err != nil {
		t.Fatal(err)
	}
	return opened(t, query.Source{Dataset: dir, Results: results})
}

func inferred(t testing.TB) backtest.Inference {
	t.Helper()
	how, err := backtest.Infer(nil)
	if err != nil {
		t.Fatal(err)
	}
	return how
}

func parsed(t testing.TB, file string) []scenarios.WhatIf {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	whatIfs, err := scenarios.ParseWhatIf(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return whatIfs
}

func opened(t testing.TB, from query.Source) *query.DB {
	t.Helper()
	db, err := query.Open(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// The questions of docs/replay.md have the answers that stand there.
func TestQuestionsDocs(t *testing.T) {
	db := demo(t)
	var text strings.Builder
	for i, question := range questions {
		answer, err := db.Ask(context.Background(), question.sql)
		if err != nil {
			t.Fatalf("%s: %v", question.asked, err)
		}
		fmt.Fprintf(&text, "%d. %s\n\n```sql\n%s\n```\n\n```\n", i+1, question.asked, question.sql)
		if err := answer.Write(&text, "table"); err != nil {
			t.Fatal(err)
		}
		text.WriteString("```\n\n")
	}
	golden.Section(t, filepath.Join("..", "..", "docs", "replay.md"), "questions", text.String())
}
