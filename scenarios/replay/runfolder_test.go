package replay

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runFolder is the folder of a run, with its facts and perhaps a plan.
func runFolder(t *testing.T, facts, plan string) string {
	t.Helper()
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, factsName), []byte(facts), 0o600)
	if plan != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, planName), []byte(plan), 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func runOf(t *testing.T, paths ...string) Options {
	t.Helper()
	o := options(t.TempDir())
	var found bool
	var err error
	if o.Network, found, err = RunNetwork(paths); err != nil || !found {
		t.Fatal(found, err)
	}
	return o
}

const twoInstances = "slots: 2\nslot: 12s\nforks: [fulu@0]\nrelays:\n  - behaviour: honest\n  - instance-of: relay-1\n"

// Replayed from its run folder, a relay's auctions are led by the bids that led in the run, in
// which cancellations and refusals are known and need no inference.
func TestReplayRunFolder(t *testing.T) {
	folder := runFolder(t, content(t, "../testdata/facts.ndjson"), "")
	o := runOf(t, folder)
	r := imported(t, o, folder)[0]
	if r.Rows != 27 || r.Added != 27 || r.Bad != 0 || r.Format != "run" {
		t.Errorf("%+v", r.Input)
	}
	if again := imported(t, o, folder)[0]; !again.Before {
		t.Errorf("the run was imported again: %+v", again.Input)
	}
	out := t.TempDir()
	report := mustRun(t, runOptions(t, o.Into, out))
	if report.Slots != 4 || report.Inferred["cancellations"] != 0 {
		t.Errorf("%d slots, inferred %v", report.Slots, report.Inferred)
	}
	lines := strings.Split(strings.TrimSpace(content(t, out, "results.csv")), "\n")
	header := strings.Split(lines[0], ",")
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, ",") {
			row[header[i]] = cell
		}
		if row["tops"] == "0" || row["tops"] != row["tops_led"] || row["relay"] != "relay-1" {
			t.Errorf("slot %s: %s of %s bids that led in the run lead in the replay", row["slot"], row["tops_led"],
				row["tops"])
		}
	}
}

// Instances of a relay hold one auction, and its rows have the relay's name.
func TestRunFolderOfInstances(t *testing.T) {
	facts := content(t, "../testdata/facts.ndjson")
	facts = strings.Replace(facts, `"actor":"relay-1"`, `"actor":"relay-2"`, 9)
	folder := runFolder(t, facts, twoInstances)
	o := runOf(t, folder)
	imported(t, o, folder)
	for _, name := range []string{"relay-2", "relay-1"} {
		run := runOptions(t, o.Into, "")
		run.Relay = name
		bids := int64(0)
		for _, sum := range mustRun(t, run).Summaries {
			bids += sum.Bids
		}
		if (bids > 0) != (name == "relay-1") {
			t.Errorf("%s has %d bids", name, bids)
		}
	}
}

func TestRunNetworkRefuses(t *testing.T) {
	facts := content(t, "../testdata/facts.ndjson")
	folder := runFolder(t, facts, "")
	later := runFolder(t, strings.ReplaceAll(facts, "2026-11-21", "2026-11-22"), "")
	if _, _, err := RunNetwork([]string{folder, folder, later}); !errors.Is(err, errOtherRun) {
		t.Errorf("two runs: %v", err)
	}
	if _, _, err := RunNetwork([]string{runFolder(t, `{"seq":1}`, "")}); err == nil {
		t.Error("a run without facts has a network")
	}
	if _, found, err := RunNetwork([]string{all[0], "missing", t.TempDir()}); found || err != nil {
		t.Errorf("no run: %v, %v", found, err)
	}
	for folder, want := range map[string]string{
		t.TempDir():                          errNoRun.Error(),
		runFolder(t, facts, "slots: [wrong"): "read the plan of the run: plan.yaml",
	} {
		results, err := Import(context.Background(), []string{folder}, options(t.TempDir()))
		if !errors.Is(err, ErrIncomplete) || !strings.Contains(results[0].Failure, want) {
			t.Errorf("%s: %v, %+v", want, err, results)
		}
	}
}

// orderFacts are two orders in the run of testdata, of which the second follows the first and
// lands, a request, and what the chain has.
func orderFacts() string {
	const hash = `"0x00000000000000000000000000000000000000000000000000000000000000`
	var facts strings.Builder
	for _, line := range []string{
		`"slot":1,"actor":"rpc","subject":"order_accepted","fact":{"at":"2026-11-21T15:14:29Z","order":{"id":1,"kind":` +
			`"private_transaction","bundle":{"hash":` + hash + `01"}}}`,
		`"slot":1,"actor":"rpc","subject":"order_accepted","fact":{"at":"2026-11-21T15:14:30Z","order":{"id":2,"kind":` +
			`"mev_bundle","follows":1,"bundle":{"hash":` + hash + `02"}}}`,
		`"slot":2,"actor":"rpc","subject":"backrun_landed","fact":{"at":"2026-11-21T15:14:41Z","id":2,"hash":` + hash +
			`02","state":"landed","block":2,"block_hash":` + hash + `0b","value":"5"}`,
		`"slot":2,"actor":"proposers","at":"relay-1","subject":"no_header","fact":{"kind":"header","slot":"2","sent_at":` +
			`"2026-11-21T15:14:40.25Z"}`,
		`"slot":2,"actor":"chain","subject":"slot_finished","id":"missed","fact":{"txs":0}`,
	} {
		facts.WriteString(`{"seq":1,` + line + "}\n")
	}
	return facts.String()
}

// A run's tables are the same in batches of any size, and if the import is killed after any batch
// and given again; also orders, which become rows only when all facts are read.
func TestRunFolderInPieces(t *testing.T) {
	folder := runFolder(t, content(t, "../testdata/facts.ndjson")+orderFacts(), "")
	whole := runOf(t, folder)
	r := imported(t, whole, folder)[0]
	if r.Rows != 31 || r.Added != 31 || r.Bad != 0 {
		t.Errorf("%+v", r.Input)
	}
	want := tables(tree(t, whole.Into))
	for _, name := range []string{"orders", "requests", "slots", "bids"} {
		if !slices.ContainsFunc(names(want), func(file string) bool { return strings.HasPrefix(file, name+"/") }) {
			t.Errorf("there are no %s", name)
		}
	}
	pieces := runOf(t, folder)
	pieces.BatchRows = 1
	batches := 0
	for done := false; !done; {
		ctx, cancel := context.WithCancel(t.Context())
		pieces.step = cancel // before its first batch is in place: the next one is not begun
		results, err := Import(ctx, []string{folder}, pieces)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		done = err == nil && results[0].Done
		if batches++; batches > 100 {
			t.Fatal("the import does not come to an end")
		}
	}
	if batches < 10 || !maps.Equal(tables(tree(t, pieces.Into)), want) {
		t.Errorf("after %d pieces the tables differ", batches)
	}
}
