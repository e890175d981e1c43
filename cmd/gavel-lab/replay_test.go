package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/run"
)

func TestReplayImport(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   string
		status int
		stdout string
		stderr string
	}{
		{"--relay flashbots ../../scenarios/dataset/testdata/flashbots-7567001.json", 0, "12   12      0    0  imported", ""},
		{"../../scenarios/dataset/testdata/flashbots-7567001.json", 0, "was imported before", ""},
		{"../../scenarios/dataset/testdata/README.md", 1, "FAILED: not recognised", "1 of 1 inputs failed"},
		{"", 2, "", "no files: give the archives to import"},
		{"--network ropsten x", 2, "", `network "ropsten" is not known: choose one of mainnet, sepolia, holesky, hoodi`},
		{"--network hoodi x", 2, "", "of mainnet, and the import of hoodi"},
		{"--batch 0 x", 2, "", "batch is 0"},
		{"--into " + dir + "/run ../../scenarios/testdata/facts.ndjson", 0, "27   27      0    0  imported", ""},
		{"--network mainnet ../../scenarios/testdata/facts.ndjson", 2, "", "a run has a network of its own"},
		{"../../scenarios/testdata/facts.ndjson", 2, "", "is of mainnet, and the import of run-1795274056"},
		{"https://relay.example", 2, "", "give --slots FROM-TO"},
		{"https://relay.example --slots 5-4", 2, "", "write them as FROM-TO"},
		{"--slots 5-4 https://relay.example", 2, "", "write them as FROM-TO"},
		{"--slots 1-99999999 https://relay.example", 2, "", "the last slot is not over"},
		{"--slots 1-2 https://relay.example/relay/v1/data", 2, "", "give the address of the relay"},
		{"--slots 1-2 --pace -1s https://relay.example", 2, "", "less than 0"},
		{"--slots 1-2 x", 2, "", "no URL of one is given"},
		{"--into " + dir + "/run ../../scenarios", 2, "", "give another --into"},
	} {
		var out, errs bytes.Buffer
		program := root(nil)
		program.Writer = &out
		args := append([]string{"gavel-lab", "replay", "import", "--into", dir}, strings.Fields(c.args)...)
		status := run.Main(program, args, &errs)
		if status != c.status || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) {
			t.Errorf("%s: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}

func TestReplayRun(t *testing.T) {
	dir := t.TempDir()
	whatIf, wrong := filepath.Join(dir, "later.yaml"), filepath.Join(dir, "wrong.yaml")
	if err := errors.Join(os.WriteFile(whatIf, []byte("ask: $t\nprice: second\nvary: {t: [2s, 3s]}"), 0o644),
		os.WriteFile(wrong, []byte("ask: soon"), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		stdout string
		stderr string
	}{
		{"import --into " + dir + " --relay flashbots ../../scenarios/dataset/testdata/flashbots-7567001.json", 0,
			"imported", ""},
		{"run --dataset " + dir, 0, "as-archived         1         1         12", ""},
		{"run --dataset " + dir + " --infer asked=-20s", 0, "as-archived         1         0         12", ""},
		{"run --dataset " + dir + " --what-if " + whatIf, 0, "\nt=3s                1         1         12", ""},
		{"run --dataset " + dir + " --what-if " + whatIf, 0, "A model, not a replay: t=2s: price", ""},
		{"run --dataset " + dir + " --what-if " + wrong, 2, "", "wrong.yaml:1: ask: \"soon\" is no time"},
		{"run --dataset " + dir + " --what-if " + dir + "/none", 2, "", "read the what-if"},
		{"run --dataset " + dir + " --json", 0, `"inferred": {`, ""},
		{"run --dataset " + dir + "/none", 2, "", "is no data set"},
		{"run --dataset " + dir + " --infer colour=red", 2, "", "there is no such rule"},
		{"run --dataset " + dir + " --shard 3/2", 2, "", "write it as i/n"},
		{"run --dataset " + dir + " --shard 1/2 --out " + dir + "/1", 0, "1 slots of mainnet, shard 1/2", ""},
		{"run --dataset " + dir + " --shard 2/2 --out " + dir + "/2", 0, "0 slots of mainnet, shard 2/2", ""},
		{"merge --into " + dir + "/all " + dir + "/1 " + dir + "/2", 0, "1 slots of mainnet\n", ""},
		{"merge --json --into " + dir + "/all " + dir + "/1 " + dir + "/2", 0, `"slots": 1,`, ""},
		{"merge --into " + dir + "/all " + dir + "/1", 1, "", "merge 1 of 2 shards: 2/2 is missing"},
		{"merge --into " + dir + "/1 " + dir + "/1 " + dir + "/2", 2, "", "would be written over the shard"},
		{"merge --into " + dir + "/all", 2, "", "no folders: give those of all shards"},
		{"run " + dir, 2, "", "takes flags only"},
		{"figures --dataset " + dir + " --out " + dir + "/y --what-if " + whatIf, 0, "what-if.svg, .png, .csv: 2 rows", ""},
		{"figures --dataset " + dir + " --out " + dir + "/y", 0, "what-if: not drawn: No what-if was given", ""},
		{"figures --dataset " + dir + " --out " + dir + "/y --slot 7", 2, "", "the data set has no bids of that slot"},
		{"figures --dataset " + dir + "/none", 2, "", "is no data set"},
		{"feed --dataset " + dir + "/none --relay http://127.0.0.1:1", 2, "", "is no data set"},
		{"feed --dataset " + dir + " --relay nowhere", 2, "", "write it as http://0xKEY@host:port"},
		{"feed --dataset " + dir + " --relay http://0x12@127.0.0.1:1", 2, "", "must be 0x and 48 bytes"},
		{"feed --dataset " + dir + " --relay http://127.0.0.1:1 --world http://127.0.0.1:1", 1, "", "connect to the world"},
		{"feed --dataset " + dir + " --relay http://127.0.0.1:1 --slot 7", 2, "", "has no bids of the wanted slots"},
		{"feed --dataset " + dir + " --relay http://127.0.0.1:1 --speed -1", 2, "", "give a number above 0"},
		{"export --dataset " + dir + " --format relayscan --out " + dir + "/x", 0, "bids.csv: 12 rows\n  lost in 12", ""},
		{"export --dataset " + dir + " --format mempool-dumpster", 2, "", "none of the tables of the format: transactions"},
		{"export --dataset " + dir + "/none --format csv", 2, "", "is no data set"},
	} {
		var out, errs bytes.Buffer
		program := root(nil)
		program.Writer = &out
		status := run.Main(program, append([]string{"gavel-lab", "replay"}, strings.Fields(c.args)...), &errs)
		if status != c.status || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) {
			t.Errorf("%s: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}

// A program without an engine says which one has it; mistakes are told before the data set is
// opened.
func TestReplayQueryWithoutAnEngine(t *testing.T) {
	for args, want := range map[string]string{
		"query SELECT":                "build it by make lab-sql",
		"shell":                       "build it by make lab-sql",
		"query":                       "no question: give one statement in quotes",
		"query SELECT 1":              "no question: give one statement in quotes",
		"query --format yaml SELECT":  `format is "yaml": give one of table, csv, json`,
		"shell --format yaml":         `format is "yaml": give one of table, csv, json`,
		"query --dataset none SELECT": "build it by make lab-sql",
	} {
		var errs bytes.Buffer
		status := run.Main(root(nil), append([]string{"gavel-lab", "replay"}, strings.Fields(args)...), &errs)
		if status != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: status %d, %s", args, status, errs.String())
		}
	}
}
