package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// whatIfBids are an auction in which each rule may change who wins. Values are in 0.001 ETH, times
// in ms of the slot. A's last bid takes its third one back, and its block needs a second to execute
// at a second per Mgas.
var whatIfBids = []struct {
	builder   string
	value, ms int
	gas       int
}{
	{"aa", 10, -500, 21_000}, {"bb", 12, 0, 21_000}, {"aa", 15, 200, 21_000}, {"aa", 11, 400, 1_000_000},
	{"bb", 16, 1200, 21_000},
}

// whatIfSet is a data set of that auction.
func whatIfSet(t *testing.T) string {
	t.Helper()
	const slot, beginMs = 7567001, 1_697_628_035_000
	var rows []string
	for i, bid := range whatIfBids {
		rows = append(rows, fmt.Sprintf(`{"slot":"%d","parent_hash":"0x%064x","block_hash":"0x%064x","builder_pubkey":"0x%s",`+
			`"proposer_pubkey":"0x%s","proposer_fee_recipient":"0x%040x","gas_limit":"30000000","gas_used":"%d",`+
			`"value":"%d000000000000000","num_tx":"1","block_number":"18376902","timestamp":"%d","timestamp_ms":"%d",`+
			`"optimistic_submission":true}`, slot, 1, i+2, strings.Repeat(bid.builder, 48), strings.Repeat("cc", 48), 3,
			bid.gas, bid.value, (beginMs+bid.ms)/1000, beginMs+bid.ms))
	}
	file := filepath.Join(t.TempDir(), "bids.json")
	if err := os.WriteFile(file, []byte("["+strings.Join(rows, ",\n")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	into := options(dir)
	into.Relay = "r"
	imported(t, into, file)
	return dir
}

// Under each key of a what-if, a relay that runs and the replay agree on who wins, and that is who
// must win: each row says it as the builder and its value in 0.001 ETH, for each variant.
func TestLiveRelayAgreesWithWhatIf(t *testing.T) {
	o, _ := feedWorld(t)
	o.Dir = whatIfSet(t)
	rows := map[string]struct{ text, want string }{
		"why":           {"why: nothing is changed", "bb 12"},
		"cancellations": {"cancellations: $c\nvary: {c: [off, on, freshest]}", "aa 15, bb 12, bb 12"},
		"floor":         {"floor: off", "bb 12"},
		"close":         {"close: 300ms", "aa 15"},
		"ask":           {"ask: [300ms, 1300ms]", "aa 15, bb 16"},
		"latency":       {"latency: [builder 0xbb +1100ms]", "aa 11"},
		"regions":       {"regions: {far: [0xbb]}\nlatency: [region far +1100ms]", "aa 11"},
		"execution":     {"execution: verified 1s per Mgas", "aa 15"},
		"sequence":      {"sequence: $s\nvary: {s: [off, sent]}", "bb 12, bb 12"},
		"shading":       {"shading: 10%", "bb 10.8"},
		"price":         {"price: second", "bb 12"},
		"vary":          {"close: $at\nvary: {at: [-100ms, 300ms]}", "aa 10, aa 15"},
	}
	for _, key := range scenarios.WhatIfKeys {
		if rows[key.Key].text == "" {
			t.Errorf("nothing shows %s", key.Key)
		}
	}
	for key, row := range rows {
		t.Run(key, func(t *testing.T) {
			plans, err := scenarios.ParseWhatIf("what-if.yaml", []byte(row.text))
			if err != nil {
				t.Fatal(err)
			}
			o := o
			for _, plan := range plans {
				o.Variants = append(o.Variants, backtest.NewVariant(plan))
			}
			report, text := mustFeed(t, o)
			var won []string
			for _, fed := range report.Auctions {
				won = append(won, fmt.Sprintf("%.2s %s", strings.TrimPrefix(fed.ReplayBuilder, "0x"), milliEther(fed.ReplayWei)))
				if !fed.SameWinner || fed.ServedWei != fed.ReplayWei || !strings.Contains(text, "the same as in the replay") {
					t.Errorf("the relay has served %s wei: %s", fed.ServedWei, text)
				}
			}
			if got := strings.Join(won, ", "); got != row.want || !report.OK() || !report.Judged() {
				t.Errorf("%s wins, want %s: %s", got, row.want, text)
			}
		})
	}
}

// milliEther writes wei in 0.001 ETH.
func milliEther(wei string) string {
	whole, rest := wei[:len(wei)-15], strings.TrimRight(wei[len(wei)-15:], "0")
	if rest == "" {
		return whole
	}
	return whole + "." + rest
}

// A relay that serves another bid is told from the replay.
func TestLiveRelayWithAnotherWinner(t *testing.T) {
	o, _ := feedWorld(t)
	o.Dir = whatIfSet(t)
	plans, err := scenarios.ParseWhatIf("what-if.yaml", []byte("ask: 300ms"))
	if err != nil {
		t.Fatal(err)
	}
	lives := FeedOptions{Dir: o.Dir, How: o.How, Variants: []backtest.Variant{backtest.NewVariant(plans[0])}}
	network, err := networkOf(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := lives.auctions(t.Context(), network)
	if err != nil || len(all) != 1 {
		t.Fatal(len(all), err)
	}
	other := all[0].Bids[0].Bid
	all[0].Winner = &other
	stage, err := openStage(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := stage.register(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := stage.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fed, err := h.feed(t.Context(), all[0], 6)
	if err != nil || fed.SameWinner {
		t.Errorf("%+v, %v", fed, err)
	}
}
