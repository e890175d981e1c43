package main

import (
	"encoding/csv"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
)

// A run with orders, in which one slot is missed without a request, one after the proposer has
// asked, and one request is late. The second relay has no bids.
const runOfTables = `
why: What a run leaves behind can be counted.
slots: 6
slot: 4s
relays: 2
users: 1
searchers: [backrun]
builders:
  - [naive, only relay-1]
  - [shade 8%, only relay-1]
proposers:
  - {slots: 3, strategy: offline}
  - {slots: 4, strategy: silent}
  - {slots: 5, strategy: request at 1200ms, key: true}
expect:
  - missed slot in slot 3
  - missed slot in slot 4
  - header served in slot 4
  - landed in slot 6
`

// told are the facts of a run by subject. The same fact may stand for several records.
type told map[string][]scenarios.Record

func (t told) count(subjects ...string) (n int) {
	for _, s := range subjects {
		n += len(t[s])
	}
	return n
}

// distinct are facts without those that are there again.
func (t told) distinct(subject string) (list []scenarios.Record) {
	seen := map[string]bool{}
	for _, r := range t[subject] {
		if !seen[r.Actor+string(r.Fact)] {
			seen[r.Actor+string(r.Fact)] = true
			list = append(list, r)
		}
	}
	return list
}

// field is a member of a fact as text.
func field(t *testing.T, r scenarios.Record, name string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Fact, &members); err != nil {
		t.Fatal(err)
	}
	return strings.Trim(string(members[name]), `"`)
}

// tableRows are rows of a CSV table by column.
type tableRows []map[string]string

func readTable(t *testing.T, dir, name string) (rows tableRows) {
	t.Helper()
	file, err := os.Open(filepath.Join(dir, name+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range all[1:] {
		row := map[string]string{}
		for i, cell := range cells {
			row[all[0][i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// with are the rows whose columns have these values: column, value, column, value. The value "*" is
// any but an empty one.
func (rows tableRows) with(want ...string) (list tableRows) {
	for _, row := range rows {
		fits := true
		for i := 0; i < len(want); i += 2 {
			fits = fits && (row[want[i]] == want[i+1] || want[i+1] == "*" && row[want[i]] != "")
		}
		if fits {
			list = append(list, row)
		}
	}
	return list
}

// sum adds up a column.
func (rows tableRows) sum(column string) string {
	sum := new(big.Int)
	for _, row := range rows {
		if n, ok := new(big.Int).SetString(row[column], 10); ok {
			sum.Add(sum, n)
		}
	}
	return sum.String()
}

// lab calls this program, as a process of its own.
func lab(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "gavel-lab", args...).CombinedOutput(); err != nil {
		t.Fatalf("gavel-lab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// A scenario is run, imported, exported and drawn as people do it. Each table has what the run did,
// as its facts say when they are counted without the data set's code.
func TestRunBecomesTables(t *testing.T) {
	dir := t.TempDir()
	lab(t, "scenario", "run", "--dir", filepath.Join(dir, "runs"), story(t, runOfTables))
	folder, set, out := filepath.Join(dir, "runs", "story.1"), filepath.Join(dir, "set"), filepath.Join(dir, "out")
	file, err := os.Open(filepath.Join(folder, "facts.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	facts := told{}
	err = scenarios.EachRecord(file, func(r scenarios.Record) { facts[r.Subject] = append(facts[r.Subject], r) })
	if err != nil {
		t.Fatal(err)
	}
	lab(t, "replay", "import", folder, "--into", set)
	lab(t, "replay", "export", "--dataset", set, "--format", "csv", "--out", out)
	lab(t, "replay", "figures", "--dataset", set, "--out", filepath.Join(dir, "drawn"))
	if rejected, _ := filepath.Glob(filepath.Join(set, "rejected", "*")); len(rejected) > 0 {
		text, _ := os.ReadFile(rejected[0])
		t.Fatalf("rows are rejected: %s", text)
	}
	wantRequests(t, facts, readTable(t, out, "requests"))
	wantSlots(t, facts, readTable(t, out, "slots"))
	wantStages(t, facts, readTable(t, out, "stages"))
	wantOrders(t, facts, readTable(t, out, "orders"))
	wantWorths(t, facts, readTable(t, out, "bids"))
	wantFigures(t, facts, filepath.Join(dir, "drawn"))
}

func wantRequests(t *testing.T, facts told, rows tableRows) {
	served := rows.with("kind", "header", "received_at", "*")
	if len(served) != len(facts.distinct("header_served")) || len(served) < 5 {
		t.Errorf("%d headers that relays served, want those of 5 slots", len(served))
	}
	if got, want := served.sum("times"), big.NewInt(int64(facts.count("header_served"))).String(); got != want {
		t.Errorf("headers were served %s times, want %s", got, want)
	}
	for _, r := range facts["header_received"] {
		row := rows.with("sent_at", "*", "block_hash", field(t, r, "block_hash"), "outcome", "served", "kind", "header",
			"relay", "relay-1", "proposer_pubkey", field(t, r, "proposer_pubkey"), "value_wei", field(t, r, "value"))
		if len(row) != 1 || row[0]["sent_at"][:26] != (field(t, r, "sent_at") + "000000")[:26] {
			t.Errorf("%s is %v", r.Fact, row)
		}
	}
	for _, c := range []struct {
		subject string
		rows    tableRows
		least   int
	}{
		{"header_received", rows.with("kind", "header", "sent_at", "*", "outcome", "served"), 5},
		{"no_header", rows.with("kind", "header", "sent_at", "*", "outcome", "none", "relay", "relay-2"), 5},
		{"block_taken", rows.with("kind", "payload", "sent_at", "*", "outcome", "served"), 3},
		{"payload_delivered", rows.with("kind", "payload", "received_at", "*", "outcome", "served"), 3},
		{"payload_refused", rows.with("kind", "payload", "received_at", "*", "outcome", "refused"), 0},
	} {
		if len(c.rows) != facts.count(c.subject) || len(c.rows) < c.least {
			t.Errorf("%s: %d rows of %d facts, want %d at least", c.subject, len(c.rows), facts.count(c.subject), c.least)
		}
	}
}

func wantSlots(t *testing.T, facts told, rows tableRows) {
	if len(rows) != 6 || len(rows.with("outcome", "missed")) != 2 || facts.count("slot_finished") != 6 {
		t.Errorf("%d slots, %d of them missed", len(rows), len(rows.with("outcome", "missed")))
	}
	for _, r := range facts["payload_delivered"] { // what the relay's own execution found
		if r.Slot > 6 {
			continue // the run ends in the middle of it
		}
		row := rows.with("block_hash", field(t, r, "block_hash"), "outcome", "landed", "relay", "relay-1",
			"value_wei", field(t, r, "value"), "paid_wei", field(t, r, "paid"), "gas_used", field(t, r, "gas_used"),
			"num_tx", field(t, r, "num_tx"), "block_number", field(t, r, "block_number"),
			"builder_pubkey", field(t, r, "builder_pubkey"), "proposer_pubkey", field(t, r, "proposer_pubkey"),
			"parent_hash", field(t, r, "parent_hash"), "fork", "fulu")
		if len(row) != 1 {
			t.Errorf("no slot has %s", r.Fact)
		}
	}
}

func wantStages(t *testing.T, facts told, rows tableRows) {
	counts, sums := map[string]int{}, map[string]int64{}
	for _, subject := range []string{"submission_judged", "payload_delivered"} {
		for _, r := range facts[subject] {
			var f struct {
				Stages map[string]int64 `json:"stages_us"`
			}
			if err := json.Unmarshal(r.Fact, &f); err != nil {
				t.Fatal(err)
			}
			for name, us := range f.Stages {
				counts[name]++
				sums[name] += us
			}
		}
	}
	for name, request := range map[string]string{
		"receive": "submission", "decode": "submission", "check": "submission", "simulate": "submission",
		"eligible": "submission", "signature": "payload", "escrow": "payload", "guard": "payload", "publish": "payload",
	} {
		got := rows.with("stage", name, "request", request, "took_us", "*", "began_at", "*", "relay", "relay-1")
		if len(got) != counts[name] || len(got) == 0 || got.sum("took_us") != big.NewInt(sums[name]).String() {
			t.Errorf("%s: %d rows of %s µs, want %d of %d", name, len(got), got.sum("took_us"), counts[name], sums[name])
		}
	}
	if n := len(rows.with("request", "submission", "stage", "check")); n != facts.count("submission_judged") {
		t.Errorf("%d submissions were checked, want %d", n, facts.count("submission_judged"))
	}
}

func wantOrders(t *testing.T, facts told, rows tableRows) {
	follow := 0
	for _, r := range facts["order_accepted"] {
		var f struct {
			Order struct {
				Follows uint64 `json:"follows"`
				Bundle  struct {
					Hash string `json:"hash"`
				} `json:"bundle"`
			} `json:"order"`
		}
		if err := json.Unmarshal(r.Fact, &f); err != nil {
			t.Fatal(err)
		}
		if f.Order.Follows > 0 {
			follow++
		}
		if row := rows.with("order_hash", f.Order.Bundle.Hash, "service", "rpc"); len(row) != 1 {
			t.Errorf("%d rows of the order %s", len(row), f.Order.Bundle.Hash)
		}
	}
	paid := new(big.Int)
	for _, r := range facts["refund_paid"] { // the amount is what the run itself has found
		amount, _ := new(big.Int).SetString(r.ValueWei, 10)
		paid.Add(paid, amount)
	}
	landed := facts.count("backrun_landed", "private_transaction_landed", "bundle_landed")
	for name, c := range map[string][2]int{
		"accepted":     {len(rows), facts.count("order_accepted")},
		"shared":       {len(rows.with("shared_at", "*")), facts.count("hint_seen")},
		"landed":       {len(rows.with("state", "landed", "ended_at", "*", "block_hash", "*", "sent_at", "*")), landed},
		"followers":    {len(rows.with("follows_hash", "*", "kind", "share")), follow},
		"transactions": {len(rows.with("kind", "private-transaction", "shared_at", "*")), facts.count("hint_seen")},
		"sent":         {len(rows.with("sent_at", "*")), len(firstBy(t, facts["order_sent"]))},
		"simulated":    {len(rows.with("simulated_at", "*")), len(firstBy(t, facts["order_simulated"]))},
	} {
		if c[0] != c[1] || c[0] == 0 {
			t.Errorf("%s: %d rows, want %d", name, c[0], c[1])
		}
	}
	if got := rows.sum("refund_wei"); got != paid.String() || got == "0" {
		t.Errorf("refunds of %s wei, want %s", got, paid)
	}
}

// firstBy has the facts by order that tell of no failure.
func firstBy(t *testing.T, facts []scenarios.Record) map[string]bool {
	ids := map[string]bool{}
	for _, r := range facts {
		if field(t, r, "error") == "" {
			ids[field(t, r, "id")] = true
		}
	}
	return ids
}

func wantWorths(t *testing.T, facts told, rows tableRows) {
	for _, r := range facts["bid_made"] {
		row := rows.with("kind", "submission", "block_hash", field(t, r, "block_hash"), "value_wei", field(t, r, "value"))
		if len(row) != 1 || row[0]["worth_wei"] != field(t, r, "worth") {
			t.Errorf("%s is %v", r.Fact, row)
		}
	}
	if n := len(rows.with("kind", "submission", "worth_wei", "*")); n != facts.count("submission_judged") || n == 0 {
		t.Errorf("the worth of %d submissions is known, want %d", n, facts.count("submission_judged"))
	}
}

func wantFigures(t *testing.T, facts told, dir string) {
	missed := readTable(t, dir, "missed")
	if len(missed.with("from_ms", "", "slots", "1", "missed", "1")) != 1 || missed.sum("slots") != "6" ||
		missed.sum("missed") != "2" {
		t.Errorf("missed slots: %v", missed)
	}
	if late := missed.with("from_ms", "1200", "slots", "1", "missed", "0"); len(late) != 1 {
		t.Errorf("the proposer that asked late is not there: %v", missed)
	}
	orders := readTable(t, dir, "orders").with("kind", "all", "step", "accepted")
	if orders.sum("orders") != big.NewInt(int64(facts.count("order_accepted"))).String() {
		t.Errorf("orders: %v", orders)
	}
	if stages := readTable(t, dir, "stages"); len(stages) != 9 {
		t.Errorf("%d stages", len(stages))
	}
	builders := readTable(t, dir, "shading").with("series", "builder", "mean", "*", "median", "*")
	if builders.sum("bids") != big.NewInt(int64(facts.count("bid_made"))).String() || len(builders) != 2 {
		t.Errorf("shading: %v, want %d bids", builders, facts.count("bid_made"))
	}
	for _, id := range []string{"stages", "shading", "orders", "missed"} {
		if svg, err := os.ReadFile(filepath.Join(dir, id+".svg")); err != nil || !strings.Contains(string(svg), "</svg>") {
			t.Errorf("%s is not drawn: %v", id, err)
		}
	}
}
