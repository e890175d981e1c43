package main

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/rpc/app"
)

// callRPC runs the command with a service that only says what it was asked for.
func callRPC(t *testing.T, args ...string) (cfg *rpcConfig, status int, stdout, stderr string) {
	t.Helper()
	return call(t, rpcCommand, args...)
}

var rpcNeeds = []string{"--execution-rpc", "http://e"}

// Every field of the service's configuration is reached by a flag: none is at its zero value here.
func TestEveryRPCFieldHasAFlag(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	cfg, status, _, stderr := callRPC(t, "--listen", ":1", "--admin-listen", ":2", "--execution-rpc", "http://a, http://b",
		"--chain-file", "genesis.json", "--builders-file", written(t, "b.yaml", "- name: x\n  url: http://x\n"), "--data-dir",
		"d", "--db", "postgres://h/g",
		"--journal", "nats://h", "--journal-replicas", "3", "--facts-for", "4s", "--orders-for", "11m", "--block-time", "5s",
		"--private-blocks", "6", "--max-backruns", "7",
		"--refund-percent", "8", "--fast-percent", "9", "--payout-gas", "10", "--payers",
		"0x0000000000000000000000000000000000000001",
		"--earliest-refund-block", "11", "--refund-details-delay", "12s", "--refund-totals-every", "13s",
		"--refunds-per-page", "25", "--vendor-prefix",
		"v_", "--pool-prefix", "p_",
		"--signature-headers", "X-A,X-B", "--lenient-signatures", "--literal", "--legacy-errors", "--simulations", "14",
		"--requests-per-second", "15",
		"--signer-requests-per-second", "16", "--method-limits", "eth_callBundle=17,eth_sendBundle=18", "--batch", "19",
		"--max-orders", "20",
		"--max-orders-per-signer", "21", "--trusted-proxies", "10.0.0.0/8", "--max-connections", "22", "--body-megabytes",
		"64", "--stale-after", "23s",
		"--linger", "24s", "--trace-endpoint", "http://t", "--region", "eu-west", "--log-level", "debug",
		"--log-format", "json")
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	cfg.rpc.EarliestBlock = cfg.firstDetails(params.MainnetChainConfig) // when the chain is known
	reached(t, "FetchAhead Genesis ExecutionNodes Chain States ChainConfig Clock Observe Log Lease", *cfg, cfg.rpc,
		cfg.rpc.Limits)
	if want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}; !reflect.DeepEqual(cfg.rpc.Limits.TrustedProxies,
		want) {
		t.Errorf("proxies %v", cfg.rpc.Limits.TrustedProxies)
	}
	want := map[string]int{"eth_callBundle": 17, "eth_sendBundle": 18}
	if !reflect.DeepEqual(cfg.rpc.Limits.MethodPerSecond, want) {
		t.Errorf("limits of methods %v", cfg.rpc.Limits.MethodPerSecond)
	}
	if len(cfg.executionURLs) != 2 || cfg.rpc.EarliestBlock != 11 || cfg.rpc.Limits.BodyBytes != 64<<20 ||
		cfg.rpc.Journal.Replicas != 3 ||
		cfg.rpc.Payers[0] != (common.Address{19: 1}) || cfg.rpc.PayoutGas != 10 || len(cfg.rpc.SignatureHeaders) != 2 {
		t.Errorf("%+v", cfg.rpc)
	}
}

// Without a flag it is the network that says where detailed refunds begin.
func TestFirstDetails(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	cfg, _, _, stderr := callRPC(t, rpcNeeds...)
	if cfg == nil {
		t.Fatal(stderr)
	}
	if on := cfg.firstDetails(params.MainnetChainConfig); on != 20802497 {
		t.Errorf("block %d on mainnet", on)
	}
	if on := cfg.firstDetails(params.SepoliaChainConfig); on != 0 {
		t.Errorf("block %d elsewhere", on)
	}
	if cfg, _, _, stderr = callRPC(t, append(rpcNeeds, "--earliest-refund-block", "0")...); cfg == nil ||
		cfg.firstDetails(params.MainnetChainConfig) != 0 {
		t.Errorf("0 is not taken: %s", stderr)
	}
}

// A command line wins over the environment, which wins over the file.
func TestRPCPrecedence(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	t.Setenv("GAVEL_RPC_BATCH", "2")
	t.Setenv("GAVEL_RPC_MAX_ORDERS", "2")
	file := written(t, "rpc.yaml", "batch: 3\nmax-orders: 3\nlinger: 3s\nexecution-rpc: [http://e1, http://e2]\n")
	cfg, status, _, stderr := callRPC(t, "--batch", "1", "--config", file)
	if status != 0 {
		t.Fatal(stderr)
	}
	if cfg.rpc.Limits.Batch != 1 || cfg.rpc.Limits.Orders != 2 || cfg.rpc.Limits.Linger != 3*time.Second ||
		len(cfg.executionURLs) != 2 {
		t.Errorf("%+v", cfg)
	}
}

// anyChain stands for a chain where none is asked.
type anyChain struct {
	exec.Chain
	simulate.States
}

// 0 means no bound where the flag says so, and the defaults of the flags are those of the service.
func TestDefaultsAreTheServices(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	validated := func(cfg app.Config) app.Config {
		cfg.Chain, cfg.States, cfg.ChainConfig = anyChain{}, anyChain{}, params.MainnetChainConfig
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		cfg.Log, cfg.Journal = nil, app.Config{}.Journal
		return cfg
	}
	cfg, _, _, stderr := callRPC(t, append(rpcNeeds, "--requests-per-second", "0", "--signer-requests-per-second", "0",
		"--max-backruns", "0")...)
	if cfg == nil {
		t.Fatal(stderr)
	}
	if unbound := validated(cfg.rpc); unbound.Limits.PerSecond >= 0 || unbound.Limits.SignerPerSecond >= 0 ||
		unbound.MaxBackruns != 0 {
		t.Errorf("0 is a bound: %+v", unbound)
	}
	cfg, _, _, _ = callRPC(t, rpcNeeds...)
	fromFlags, plain := validated(cfg.rpc), validated(app.Config{Key: cfg.rpc.Key, DataDir: cfg.rpc.DataDir})
	if !reflect.DeepEqual(fromFlags, plain) {
		t.Errorf("flags   %+v\nservice %+v", fromFlags, plain)
	}
}

// Secrets are printed nowhere, however they came in.
func TestRPCPrintConfigHidesSecrets(t *testing.T) {
	t.Setenv(rpcKeyEnv, testKey)
	t.Setenv("GAVEL_RPC_DB", "postgres://gavel:hunter2@db/gavel")
	_, status, stdout, stderr := callRPC(t, "--execution-rpc", "http://user:hunter3@e1,http://e2", "--journal",
		"nats://u:hunter4@n",
		"--trace-endpoint", "http://u:hunter5@t", "--builders-file", written(t, "b.yaml",
			"- name: x\n  url: http://u:hunter6@x\n"), "--print-config")
	if status != 0 {
		t.Fatal(stderr)
	}
	if strings.Contains(stdout, "hunter") || strings.Contains(stdout, testKey[2:]) {
		t.Errorf("a secret is shown:\n%s", stdout)
	}
	lines := strings.Split(stdout, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "builders-file: ") {
			lines[i] = `builders-file: "" # as given`
		}
	}
	stdout = strings.Join(lines, "\n")
	golden.File(t, "testdata/rpcconfig.txt", stdout)
	// What is printed can be read again.
	_, status, again, stderr := callRPC(t, "--config", written(t, "again.yaml", stdout), "--print-config")
	if status != 0 || !strings.Contains(again, "\nbatch: 100\n") {
		t.Errorf("%s%s", again, stderr)
	}
}

// Each mistake ends before anything is opened, with status 2 and one line that says what to do and
// shows no secret.
func TestRPCMistakes(t *testing.T) {
	with := func(args ...string) []string { return append(rpcNeeds[:2:2], args...) }
	for _, c := range []struct {
		key  string
		args []string
		want string
	}{
		{"", rpcNeeds, "there is no key: give --secret-key-file, or set GAVEL_RPC_SECRET_KEY"},
		{"0xhunter", rpcNeeds, "the key is no secp256k1 key in hexadecimal: want 32 bytes"},
		{"0x00", rpcNeeds, "the key is no secp256k1 key in hexadecimal: want 32 bytes"},
		{testKey, with("--secret-key-file", "/nowhere"), "secret-key-file: open /nowhere: no such file or directory"},
		{testKey, nil, "execution-rpc is empty: give the URL of an execution node, or of several with commas"},
		{testKey, with("--listen", ""), "listen is empty: give host:port"},
		{testKey, with("--builders-file", "/nowhere"), "builders-file: open /nowhere: no such file or directory"},
		{testKey, with("--builders-file", written(t, "b.yaml", "- name: a\n")), "builders-file …"},
		{testKey, with("--payers", "0x12"), `payers has "0x12": give addresses of 20 bytes in hex`},
		{testKey, with("--signature-headers", " , "), "signature-headers is empty: give at least one name"},
		{testKey, with("--earliest-refund-block", "-1"), `earliest-refund-block is "-1": give a block's number`},
		{testKey, with("--simulations", "0"), `simulations is "0": give a number above 0`},
		{testKey, with("--method-limits", "eth_callBundle"), `method-limits has "eth_callBundle": give METHOD=NUMBER`},
		{testKey, with("--method-limits", "eth_callBundle=0"), `method-limits has "eth_callBundle=0": give METHOD=NUMBER`},
		{testKey, with("--trusted-proxies", "10.0.0.1"), `trusted-proxies has "10.0.0.1": give ranges such as 10.0.0.0/8`},
		{testKey, with("--refund-percent", "101"), "refund-percent is 101: give 1 to 100"},
		{testKey, with("--fast-percent", "0"), "fast-percent is 0: give 1 to 100"},
		{testKey, with("--private-blocks", "65"), "private-blocks is 65: give 1 to 64"},
		{testKey, with("--payout-gas", "-1"), "payout-gas is -1: give 0 to 30000000"},
		{testKey, with("--refunds-per-page", "0"), "refunds-per-page is 0: give 1 to 10000"},
		{testKey, with("--batch", "0"), "batch is 0: give 1 or more"},
		{testKey, with("--body-megabytes", "63"), "body-megabytes is 63: give 64 to 1048576"},
		{testKey, with("--block-time", "10ms"), "block-time is 10ms: give 1s or more"},
		{testKey, with("--linger", "-1s"), "linger is -1s: give 0s or more"},
		{testKey, with("--log-level", "loud"), `log level "loud" is unknown: give debug, info, warn or error`},
		{testKey, with("--linger", "5"), `linger is "5": give a duration with its unit, such as 12s: see gavel rpc --help`},
	} {
		t.Setenv(rpcKeyEnv, c.key)
		cfg, status, _, stderr := callRPC(t, c.args...)
		want, open := strings.CutSuffix("gavel: "+c.want, "…")
		if cfg != nil || status != 2 || !strings.HasPrefix(stderr, want) || !open && stderr != want+"\n" ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d\ngot  %swant %s", c.args, status, stderr, want)
		}
		if strings.Contains(stderr, "hunter") {
			t.Errorf("%q shows the key: %s", c.args, stderr)
		}
	}
}

// Every flag with a number has its bounds.
func TestEveryNumberIsBounded(t *testing.T) {
	bounded := map[string]bool{}
	for _, b := range bounds {
		bounded[b.flag] = true
	}
	for _, b := range shortest {
		bounded[b.flag] = true
	}
	for _, flag := range rpcFlags() {
		switch flag.Get().(type) {
		case int, time.Duration:
			if name := flag.Names()[0]; !bounded[name] {
				t.Errorf("%s may be anything", name)
			}
		}
	}
}
