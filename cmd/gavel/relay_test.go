package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay/app"
)

const testKey = "0x0000000000000000000000000000000000000000000000000000000000000001"

// callRelay runs the command with a relay that only says what it was asked for.
func callRelay(t *testing.T, args ...string) (cfg *relayConfig, status int, stdout, stderr string) {
	t.Helper()
	return call(t, relayCommand, args...)
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

var needed = []string{"--beacon", "http://b", "--validation-node", "http://v"}

// Every field of the relay's configuration is reached by a flag: none is at its zero value here.
func TestEveryFieldHasAFlag(t *testing.T) {
	t.Setenv(secretKeyEnv, testKey)
	t.Setenv(builderKeyEnv, testKey)
	cfg, status, _, stderr := callRelay(t, "--gloas-builder-index", "7", "--gloas-auth-data", "a.example, b.example",
		"--gloas-value-share", "10", "--gloas-staked-bids",
		"--network", "hoodi", "--listen", ":1", "--admin-listen", ":2",
		"--proposer-listen", ":3", "--beacon", "http://a, http://b",
		"--validation-node", "http://v", "--admin-token-file", written(t, "token", " 0123456789abcdef\n"), "--data-dir", "d",
		"--db", "postgres://h/g",
		"--journal", "nats://h", "--journal-replicas", "3", "--journal-change-streams", "--facts-megabytes", "23",
		"--journal-credentials", written(t, "creds", "x"), "--journal-ca", written(t, "ca", "x"), "--journal-cert",
		written(t, "cert", "x"), "--journal-key", written(t, "key", "x"),
		"--escrow-megabytes", "24",
		"--evidence-megabytes", "25", "--escrow-in-memory", "--builders-file", written(t, "b.yaml", "- name: x\n"),
		"--webhook", "http://w", "--header-cutoff", "1s", "--header-delay", "2s", "--payload-cutoff", "3s",
		"--reveal-delay", "4s",
		"--header-payload-timeout", "5s", "--validation-timeout", "6s", "--validation-concurrency", "7", "--executors", "8",
		"--publish-timeout", "9s", "--start-timeout", "10s", "--stale-after", "22s", "--literal", "--no-cancellations",
		"--website", "--website-hide-losing",
		"--record-refused", "--requests-per-second", "11", "--burst", "12",
		"--builder-requests-per-second", "13", "--builder-burst", "14", "--trusted-proxies", "10.0.0.0/8,fd00::/8",
		"--max-connections", "15",
		"--body-megabytes", "16", "--top-bid-listeners", "17", "--top-bid-queue", "21", "--top-bid-needs-key", "--linger",
		"18s", "--received-for", "19s",
		"--facts-for", "20s", "--trace-endpoint", "http://t", "--region", "eu-west", "--log-level", "debug",
		"--log-format", "json")
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	reached(t, "Validator ValidatorLive ValidationNodes Settings Clock Observe Log", *cfg, cfg.relay, cfg.relay.Limits)
	reached(t, "StartTimeout Waiting Dir Moved ReadOnly Listen EscrowFor AuctionLog Log",
		cfg.relay.Journal, cfg.relay.Journal.Access)
	own, status, _, stderr := callRelay(t, append(needed, "--journal-moved", "0badcafe")...)
	if status != 0 || own.relay.Journal.Moved != "0badcafe" {
		t.Errorf("status %d: %s", status, stderr)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	if !reflect.DeepEqual(cfg.relay.Limits.TrustedProxies, want) {
		t.Errorf("proxies %v", cfg.relay.Limits.TrustedProxies)
	}
	reached(t, "", *cfg.relay.Gloas)
	if cfg.relay.Gloas.Index != 7 || len(cfg.relay.Gloas.AuthData) != 2 {
		t.Errorf("%+v", cfg.relay.Gloas)
	}
	if cfg.relay.AdminToken != "0123456789abcdef" || cfg.relay.Limits.BodyBytes != 16<<20 ||
		len(cfg.relay.BeaconURLs) != 2 || cfg.relay.Journal.Replicas != 3 {
		t.Errorf("%+v", cfg.relay)
	}
}

// A command line wins over the environment, which wins over the file.
func TestPrecedence(t *testing.T) {
	t.Setenv(secretKeyEnv, testKey)
	t.Setenv("GAVEL_RELAY_BURST", "2")
	t.Setenv("GAVEL_RELAY_EXECUTORS", "2")
	file := written(t, "relay.yaml",
		"burst: 3\nexecutors: 3\nlinger: 3s\nbeacon: [http://b1, http://b2]\nvalidation-node: http://v\n")
	cfg, status, _, stderr := callRelay(t, "--burst", "1", "--config", file)
	if status != 0 {
		t.Fatal(stderr)
	}
	if cfg.relay.Limits.Burst != 1 || cfg.relay.Executors != 2 || cfg.relay.Limits.Linger != 3*time.Second ||
		len(cfg.relay.BeaconURLs) != 2 {
		t.Errorf("%+v", cfg.relay)
	}
}

// 0 means no bound where the flag says so, and the defaults of the flags are those of the relay.
func TestDefaultsAreTheRelays(t *testing.T) {
	t.Setenv(secretKeyEnv, testKey)
	cfg, _, _, stderr := callRelay(t, append(needed, "--requests-per-second", "0", "--header-cutoff", "0")...)
	if cfg == nil {
		t.Fatal(stderr)
	}
	if cfg.relay.Limits.PerSecond >= 0 || cfg.relay.HeaderCutOff >= 0 {
		t.Errorf("0 is a bound: %+v", cfg.relay)
	}
	cfg, _, _, _ = callRelay(t, needed...)
	fromFlags, plain := cfg.relay, app.Config{BeaconURLs: cfg.relay.BeaconURLs, Key: cfg.relay.Key,
		DataDir: cfg.relay.DataDir}
	fromFlags.Validator, plain.Validator = valid{}, valid{}
	for _, c := range []*app.Config{&fromFlags, &plain} {
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		c.Log, c.Journal = nil, app.Config{}.Journal
	}
	if !reflect.DeepEqual(fromFlags, plain) {
		t.Errorf("flags %+v\nrelay %+v", fromFlags, plain)
	}
}

// Secrets are printed nowhere, however they came in.
func TestPrintConfigHidesSecrets(t *testing.T) {
	t.Setenv(secretKeyEnv, testKey)
	t.Setenv(adminTokenEnv, "the token of the admin")
	t.Setenv("GAVEL_RELAY_DB", "postgres://gavel:hunter2@db/gavel")
	_, status, stdout, stderr := callRelay(t, "--beacon", "http://user:hunter3@b1,http://b2",
		"--validation-node", "http://v",
		"--webhook", "https://hooks.example/services/hunter4", "--journal", "nats://u:hunter5@n", "--print-config")
	if status != 0 {
		t.Fatal(stderr)
	}
	if strings.Contains(stdout, "hunter") || strings.Contains(stdout, "the token") ||
		strings.Contains(stdout, testKey[2:]) {
		t.Errorf("a secret is shown:\n%s", stdout)
	}
	golden.File(t, "testdata/config.txt", stdout)
	// What is printed can be read again.
	file := written(t, "again.yaml", stdout)
	_, status, again, stderr := callRelay(t, "--config", file, "--print-config")
	if status != 0 {
		t.Fatal(stderr)
	}
	if !strings.Contains(again, "webhook: \"https://hooks.example/(hidden)\"") {
		t.Errorf("%s", again)
	}
}

// Each mistake ends before anything is opened, with status 2 and one line that says what to do and
// shows no secret.
func TestRelayMistakes(t *testing.T) {
	for _, c := range []struct {
		key  string
		args []string
		want string
	}{
		{"", needed, "gavel: there is no secret key: give --secret-key-file, or set GAVEL_RELAY_SECRET_KEY"},
		{"0xzz", needed, "gavel: the secret key is not hexadecimal: want 32 bytes"},
		{"0x00", needed, "gavel: not a secret key: want 32 bytes, big-endian, below the group order and not zero"},
		{testKey, nil, "gavel: beacon is empty: give the URL of a beacon node, or of several with commas"},
		{testKey, needed[:2],
			"gavel: validation-node is empty: give the URL of a node that serves flashbots_validateBuilderSubmission"},
		{testKey, append(needed, "--network", "ropsten"),
			`gavel: network is "ropsten": give one of mainnet, sepolia, hoodi, custom`},
		{testKey, append(needed, "--gloas-auth-data", "a.example"),
			"gavel: gloas-builder-index is empty: give the index of the relay's staked builder, or leave out its key, " +
				"auth data and share"},
		{testKey, append(needed, "--gloas-value-share", "5"),
			"gavel: gloas-builder-index is empty: give the index of the relay's staked builder, or leave out its key, " +
				"auth data and share"},
		{testKey, append(needed, "--gloas-builder-index", "7", "--gloas-auth-data", "a.example", "--gloas-value-share",
			"101"),
			"gavel: gloas-value-share is 101: give a percentage, 0 to 100"},
		{testKey, append(needed, "--gloas-staked-bids"),
			"gavel: gloas-builder-index is empty: bids of staked builders are taken beside those of the relay's own builder"},
		{testKey, append(needed, "--gloas-builder-index", "18446744073709551615"),
			`gavel: gloas-builder-index is "18446744073709551615": give the number of a builder`},
		{testKey, append(needed, "--gloas-builder-index", "7"),
			"gavel: gloas-auth-data is empty: give the host of the relay's URL"},
		{testKey, append(needed, "--gloas-builder-index", "7", "--gloas-auth-data", "a.example"),
			"gavel: there is no secret key: give --gloas-builder-key-file, or set GAVEL_RELAY_GLOAS_BUILDER_KEY"},
		{testKey, append(needed, "--top-bid-queue", "-1"), "gavel: top-bid-queue is -1: give a number of bids"},
		{testKey, append(needed, "--stale-after", "0s"), "gavel: stale-after is 0s: give 1s or more"},
		{testKey, append(needed, "--facts-for", "-5s"),
			"gavel: facts-for is -5s: give a duration with its unit of 1s or more, such as 720h, or 0 for ever"},
		{testKey, append(needed, "--facts-megabytes", "1"),
			"gavel: facts-megabytes is 1: give a number of megabytes, 8 or more"},
		{testKey, append(needed, "--escrow-megabytes", "0"),
			"gavel: escrow-megabytes is 0: give a number of megabytes, 8 or more"},
		{testKey, append(needed, "--journal-replicas", "0"), "gavel: journal-replicas is 0: give 1 to 5"},
		{testKey, append(needed, "--journal-replicas", "3"),
			"gavel: journal-replicas is for a cluster: give its URL with journal, or leave it out"},
		{testKey, append(needed, "--journal-ca", "ca.pem"),
			"gavel: journal-ca is for a cluster: give its URL with journal, or leave it out"},
		{testKey, append(needed, "--journal", "nats://h", "--journal-credentials", "/nowhere/a.creds"),
			"gavel: journal-credentials: open /nowhere/a.creds: no such file or directory"},
		{testKey, append(needed, "--journal", "nats://h", "--journal-cert", "main.go"),
			"gavel: journal-cert and journal-key belong together: give both, or none"},
		{testKey, append(needed, "--journal-change-streams"),
			"gavel: journal-change-streams is for a cluster: give its URL with journal, or leave it out"},
		{testKey, append(needed, "--journal", "nats://h", "--journal-moved", "0badcafe"),
			"gavel: journal-moved is for the folder of a journal in this process: leave it out with journal"},
		{testKey, append(needed, "--escrow-in-memory"), "gavel: escrow-in-memory would lose every payload that was sold …"},
		{testKey, append(needed, "--listen", ""), "gavel: listen is empty: give host:port"},
		{testKey, append(needed, "--trusted-proxies", "10.0.0.1"),
			`gavel: trusted-proxies has "10.0.0.1": give ranges such as 10.0.0.0/8`},
		{testKey, append(needed, "--admin-token-file", written(t, "t", "short")),
			"gavel: the admin token is too short: give at least 16 characters"},
		{testKey, append(needed, "--builders-file", written(t, "b.yaml", "- name: a b\n")), "gavel: builders-file …"},
		{testKey, append(needed, "--secret-key-file", "/nowhere"),
			"gavel: secret-key-file: open /nowhere: no such file or directory"},
		{testKey, append(needed, "--log-level", "loud"),
			`gavel: log level "loud" is unknown: give debug, info, warn or error`},
		{testKey, append(needed, "--linger", "5"),
			`gavel: linger is "5": give a duration with its unit, such as 12s: see gavel relay --help`},
	} {
		t.Setenv(secretKeyEnv, c.key)
		cfg, status, _, stderr := callRelay(t, c.args...)
		start, open := strings.CutSuffix(c.want, "…")
		if cfg != nil || status != 2 || !strings.HasPrefix(stderr, start) || !open && stderr != c.want+"\n" ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d\ngot  %swant %s", c.args, status, stderr, c.want)
		}
	}
}
