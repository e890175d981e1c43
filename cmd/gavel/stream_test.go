package main

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
)

// callStream runs the command with a service that only says what it was asked for.
func callStream(t *testing.T, args ...string) (cfg *streamConfig, status int, stdout, stderr string) {
	t.Helper()
	return call(t, streamCommand, args...)
}

// Every field of the service's configuration is reached by a flag: none is at its zero value here.
func TestEveryStreamFieldHasAFlag(t *testing.T) {
	const topic = "0x19b47279256b2a23a1665c810c8d55a1758940ee09377d4f8d26497a3577dc83"
	cfg, status, _, stderr := callStream(t, "--listen", ":1", "--admin-listen", ":2", "--journal", "nats://h",
		"--data-dir", "d", "--db", "postgres://h/g",
		"--keep-blocks", "3", "--keep-for", "4h", "--max-limit", "5", "--swaps", "Pancake v3="+topic, "--share-gas-used",
		"--gas-limit",
		"--cors-origin", "https://example.org", "--network", "mainnet", "--ping", "6s", "--max-listeners", "7",
		"--queue-kilobytes", "64",
		"--max-event-bytes", "9", "--max-connections", "10", "--trusted-proxies", "10.0.0.0/8", "--linger", "11s",
		"--trace-endpoint", "http://t", "--region", "eu-west",
		"--log-level", "debug", "--log-format", "json")
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	reached(t, "Source Clock Log", *cfg, cfg.stream, cfg.stream.Limits, cfg.stream.Retention, *cfg.stream.Hints)
	if len(cfg.stream.Hints.Swaps) != 6 || cfg.stream.Limits.QueueBytes != 64<<10 {
		t.Errorf("%+v", cfg.stream)
	}
	if cfg, _, _, stderr = callStream(t, "--journal-listen", "127.0.0.1:4222", "--journal-moved", "0badcafe",
		"--hide-mev-gas-price"); cfg == nil ||
		cfg.stream.Journal.Listen == "" || cfg.stream.Journal.Moved != "0badcafe" ||
		cfg.stream.Hints.MevGasPrice {
		t.Errorf("%+v, %s", cfg, stderr)
	}
}

// Secrets are not printed, and what is printed can be read again.
func TestStreamPrintConfig(t *testing.T) {
	t.Setenv("GAVEL_STREAM_DB", "postgres://gavel:hunter2@db/gavel")
	_, status, stdout, stderr := callStream(t, "--journal", "nats://u:hunter4@n", "--trace-endpoint", "http://u:hunter5@t",
		"--print-config")
	if status != 0 || strings.Contains(stdout, "hunter") {
		t.Fatalf("%s%s", stdout, stderr)
	}
	golden.File(t, "testdata/streamconfig.txt", stdout)
	_, status, again, stderr := callStream(t, "--config", written(t, "again.yaml", stdout), "--print-config")
	if status != 0 || !strings.Contains(again, "max-limit: 500\n") {
		t.Errorf("%s%s", again, stderr)
	}
}

// Each mistake ends before anything is opened, with status 2 and one line that says what to do.
func TestStreamMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", ""}, "listen is empty: give host:port"},
		{[]string{"--journal", "nats://h", "--journal-listen", "127.0.0.1:1"},
			"journal-listen is for a journal in this process"},
		{[]string{"--journal", "nats://h", "--journal-moved", "0badcafe"},
			"journal-moved is for the folder of a journal in this process"},
		{[]string{"--cors-origin", ""}, "cors-origin is empty"},
		{[]string{"--swaps", "x"}, `swaps: "x" is no kind of pool`},
		{[]string{"--max-connections", "x"}, `max-connections is "x"`},
		{[]string{"--trusted-proxies", "x"}, "trusted-proxies"},
		{[]string{"--max-limit", "0"}, "max-limit is 0"},
		{[]string{"--keep-blocks", "-1"}, "keep-blocks is -1"},
		{[]string{"--keep-for", "-1s"}, "keep-for is -1s"},
		{[]string{"--ping", "1ms"}, "ping is 1ms"},
		{[]string{"--log-level", "x"}, "log"},
	} {
		cfg, status, _, stderr := callStream(t, c.args...)
		if cfg != nil || status != 2 || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") > 2 {
			t.Errorf("%v: %d %s, want %s", c.args, status, stderr, c.want)
		}
	}
}
