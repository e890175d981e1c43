package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/run"
)

// call runs the program with a lab that only says what it was asked for.
func call(t *testing.T, summary display.Summary, fails error,
	args ...string) (cfg *devnet.Config, status int, stderr string) {
	t.Helper()
	var out bytes.Buffer
	program := root(func(_ context.Context, got devnet.Config, _ *mempool.Flow,
		_ display.Output) (display.Summary, error) {
		cfg = &got
		return summary, fails
	})
	program.Writer = t.Output()
	status = run.Main(program, append([]string{"gavel-lab"}, args...), &out)
	return cfg, status, out.String()
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// joined is the address of another relay.
var joined = "http://0x" + strings.Repeat("ab", 48) + "@127.0.0.1:9063"

// mempoolFile has transactions.
const mempoolFile = "../../scenarios/replay/testdata/demo/mempool-sample.parquet"

// everything has no field at its default, so that a flag that reaches no field is seen.
var everything = devnet.Config{
	Slots: 3, SlotDuration: 6 * time.Second, Speed: 2.5, Validators: 4, Builders: 5, TxsPerSlot: 6,
	ReplayMempool: mempoolFile,
	BlobEvery:     7,
	ValueShare:    8, SlotsPerEpoch: 4, StakedBuilder: true,
	OrdersPerSlot: 8, Searchers: 3, CircuitBreaker: 7, BundlePort: 1004, StreamPort: 1005, ValidationPort: 1006,
	Web: true, WebPort: 1007, Relays: []string{joined},
	Fork: eth.Electra, RelayPort: 1001, BeaconPort: 1002, RPCPort: 1003, DataDir: "/tmp/x",
	MevBoost: "/bin/mev-boost", Seed: 9,
	Plain: true, Verbose: true,
}

func TestEveryFieldHasAFlagAndAKey(t *testing.T) {
	flags := []string{
		"devnet", "--slots", "3", "--slot", "6s", "--speed", "2.5", "--validators", "4", "--builders", "5", "--txs", "6",
		"--replay-mempool", mempoolFile,
		"--blob-every", "7", "--value-share", "8",
		"--slots-per-epoch", "4", "--fork", "Electra", "--forks", "fulu@2,gloas@9", "--staked-builder",
		"--relay-port", "1001", "--beacon-port", "1002",
		"--rpc-port", "1003", "--orders", "8", "--searchers", "3", "--circuit-breaker", "7", "--bundle-port", "1004",
		"--stream-port", "1005",
		"--validation-port", "1006", "--web", "--web-port", "1007", "--relays", joined,
		"--data-dir", "/tmp/x", "--mev-boost", "/bin/mev-boost", "--seed", "9", "--plain", "--verbose",
	}
	yaml := file(t, `# all keys
slots: 3
slot: 6s
speed: 2.5
validators: 4
builders: 5
txs: 6
replay-mempool: "`+mempoolFile+`"
blob-every: 7
value-share: 8
slots-per-epoch: 4
fork: "Electra"
forks: [fulu@2, gloas@9]
staked-builder: true
relay-port: 1001
beacon-port: 1002
rpc-port: 1003
orders: 8
searchers: 3
circuit-breaker: 7
bundle-port: 1004
stream-port: 1005
validation-port: 1006
web: true
web-port: 1007
relays: ["`+joined+`"]
data-dir: /tmp/x
mev-boost: /bin/mev-boost
seed: 9
plain: true
verbose: true
`)
	want := everything
	want.Forks = []eth.ForkPoint{{Fork: eth.Fulu, Epoch: 2}, {Fork: eth.Gloas, Epoch: 9}}
	if err := want.Check(); err != nil {
		t.Fatal(err)
	}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[devnet.Config]()) {
		if reflect.DeepEqual(reflect.ValueOf(want).Field(i).Interface(),
			reflect.ValueOf(devnet.Default()).Field(i).Interface()) {
			t.Errorf("%s is at its default here: give it a flag, a key and another value", field.Name)
		}
	}
	for name, args := range map[string][]string{"flags": flags, "file": {"devnet", "--config", yaml}} {
		got, status, stderr := call(t, display.Summary{}, nil, args...)
		if status != 0 || got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: status %d, %q\ngot  %+v\nwant %+v", name, status, stderr, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	want := devnet.Default()
	if err := want.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"devnet"}, {"devnet", "--config", file(t, "")},
		{"devnet", "--config", file(t, "# nothing\n")}} {
		if got, _, stderr := call(t, display.Summary{}, nil, args...); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%q: %q\ngot  %+v\nwant %+v", args, stderr, got, want)
		}
	}
}

func TestFlagWinsOverFile(t *testing.T) {
	got, _, stderr := call(t, display.Summary{}, nil, "devnet", "--slots", "5", "--config",
		file(t, "slots: 7\nbuilders: 3\n"))
	if got == nil || got.Slots != 5 || got.Builders != 3 {
		t.Errorf("%q: %+v", stderr, got)
	}
}

// Each mistake ends before anything runs, with status 2 and one line that says what to do.
func TestMistakes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.yaml")
	for _, c := range []struct {
		args []string
		file string
		want string
	}{
		{args: []string{"--slotz", "3"}, want: "gavel-lab: there is no flag --slotz: see gavel-lab devnet --help"},
		{args: []string{"--slots", "many"},
			want: `gavel-lab: slots is "many": give a whole number: see gavel-lab devnet --help`},
		{args: []string{"--slot", "12"},
			want: `gavel-lab: slot is "12": give a duration with its unit, such as 12s: see gavel-lab devnet --help`},
		{args: []string{"--speed", "fast"}, want: `gavel-lab: speed is "fast": give a number: see gavel-lab devnet --help`},
		{args: []string{"--seed", "-1"},
			want: `gavel-lab: seed is "-1": give a whole number, 0 or more: see gavel-lab devnet --help`},
		{args: []string{"--slots"}, want: "gavel-lab: flag needs an argument: --slots: see gavel-lab devnet --help"},
		{args: []string{"extra"},
			want: `gavel-lab: "extra" is too much: gavel-lab devnet takes flags only, see gavel-lab devnet --help`},
		{args: []string{"--builders", "0"}, want: "gavel-lab: builders is 0: give a number from 1 to 64"},
		{args: []string{"--fork", "shapella"},
			want: `gavel-lab: fork "shapella" is unknown: give one of bellatrix, capella, deneb, electra, fulu, gloas`},
		{args: []string{"--fork", ""},
			want: "gavel-lab: fork is empty: give one of bellatrix, capella, deneb, electra, fulu, gloas"},
		{args: []string{"--forks", "electra"},
			want: `gavel-lab: forks has "electra": give fork@epoch, as in electra@0,fulu@2`},
		{args: []string{"--config", missing}, want: "gavel-lab: read config file: open " + missing +
			": no such file or directory"},
		{file: "slotz: 3\n",
			want: `gavel-lab: lab.yaml:1: unknown key "slotz": give any of slots, slot, speed, validators, builders, ` +
				"staked-builder, txs, replay-mempool, orders, searchers, value-share, blob-every, circuit-breaker, " +
				"slots-per-epoch, fork, " +
				"forks, relay-port, beacon-port, rpc-port, bundle-port, stream-port, validation-port, web, web-port, relays, " +
				"data-dir, mev-boost, seed, plain, verbose"},
		{file: "slots: 3\nconfig: other.yaml\n", want: `gavel-lab: lab.yaml:2: unknown key "config": give any of …`},
		{file: "slots: 3\n\nspeed: fast\n", want: `gavel-lab: lab.yaml:3: speed is "fast": give a number`},
		{file: "slots: {a: 1}\n", want: "gavel-lab: lab.yaml:1: slots wants one value or a list of them"},
		{file: "- slots\n", want: "gavel-lab: lab.yaml:1: give keys with values, as in slots: 16"},
		{file: "slots: 3\nslots: 4\n", want: "gavel-lab: lab.yaml:2: broken YAML: …"},
		{file: "slots: 3\nforks: [a\nspeed: 1\n", want: "gavel-lab: lab.yaml:3: broken YAML: …"},
		{file: "slots: 3\n\tspeed: 1\n", want: "gavel-lab: lab.yaml:2: broken YAML: …"},
		{file: "slots: \"3\n", want: "gavel-lab: lab.yaml:1: broken YAML: …"},
	} {
		args := append([]string{"devnet"}, c.args...)
		if c.file != "" {
			args = append(args, "--config", file(t, c.file))
		}
		cfg, status, stderr := call(t, display.Summary{}, nil, args...)
		if cfg != nil {
			t.Errorf("%q %q: the devnet was started", c.args, c.file)
		}
		if status != 2 {
			t.Errorf("%q %q: status %d, want 2", c.args, c.file, status)
		}
		start, open := strings.CutSuffix(c.want, "…")
		if !strings.HasPrefix(stderr, start) || !open && stderr != c.want+"\n" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q %q:\ngot  %swant %s", c.args, c.file, stderr, c.want)
		}
	}
}

// What went wrong in the run ends with status 1 and one line, too.
func TestEndings(t *testing.T) {
	for _, c := range []struct {
		summary display.Summary
		err     error
		status  int
		stderr  string
	}{
		{display.Summary{Slots: 2, Delivered: 2, Landed: 2}, nil, 0, ""},
		{display.Summary{Slots: 2, Delivered: 1, Landed: 1, Missed: 1}, nil, 1,
			"gavel-lab: 1 of 2 payloads delivered and landed: 1 slot missed\n"},
		{display.Summary{}, errors.New("open chain: disk full"), 1, "gavel-lab: open chain: disk full\n"},
	} {
		if _, status, stderr := call(t, c.summary, c.err, "devnet"); status != c.status || stderr != c.stderr {
			t.Errorf("%+v, %v: status %d and %q", c.summary, c.err, status, stderr)
		}
	}
}

func TestDocs(t *testing.T) {
	golden.Section(t, "../../docs/flags.md", "gavel-lab", run.Markdown(root(nil)))
}
