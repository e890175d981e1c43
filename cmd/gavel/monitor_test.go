package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
)

func callMonitor(t *testing.T, args ...string) (got *monitorConfig, status int, stderr string) {
	t.Helper()
	got, status, _, stderr = callMonitorTo(t, args...)
	return got, status, stderr
}

func callMonitorTo(t *testing.T, args ...string) (got *monitorConfig, status int, stdout, stderr string) {
	t.Helper()
	var printed, out bytes.Buffer
	program := &cli.Command{Name: "gavel", Writer: &printed,
		Commands: []*cli.Command{monitorCommand(func(_ context.Context, cfg monitorConfig) error {
			got = &cfg
			return nil
		})}}
	status = run.Main(program, append([]string{"gavel", "monitor"}, args...), &out)
	return got, status, printed.String(), out.String()
}

// Passwords are not printed, keys of relays are, and what is printed can be read again.
func TestMonitorPrintConfig(t *testing.T) {
	key := "0x" + strings.Repeat("ab", 48)
	t.Setenv("GAVEL_MONITOR_BEACON_NODES", "http://u:hunter2@b,http://c")
	got, status, stdout, stderr := callMonitorTo(t, "--relays", "https://"+key+"@relay.example", "--ask-at", "-2s,0s",
		"--print-config")
	if got != nil || status != 0 || strings.Contains(stdout, "hunter") || !strings.Contains(stdout, key) {
		t.Fatalf("%s%s", stdout, stderr)
	}
	got, status, stderr = callMonitor(t, "--config", written(t, "again.yaml", stdout))
	if status != 0 || got.monitor.Relays[0] != "https://"+key+"@relay.example" || len(got.monitor.AskAt) != 2 ||
		len(got.monitor.BeaconURLs) != 2 {
		t.Errorf("%s read again: %+v, %s", stdout, got, stderr)
	}
}

func TestMonitorFlags(t *testing.T) {
	key := "0x" + strings.Repeat("ab", 48)
	got, status, stderr := callMonitor(t, "--relays", "https://"+key+"@relay.example, http://127.0.0.1:9",
		"--beacon-nodes", "http://b", "--ask-at", "-2s,0s",
		"--patience", "500ms")
	if status != 0 || got == nil {
		t.Fatal(status, stderr)
	}
	m := got.monitor
	if len(m.Relays) != 2 || strings.Join(m.Names, " ") != "relay.example 127.0.0.1:9" || m.AskAt[0] != -2*time.Second ||
		m.AskAt[1] != 0 ||
		m.Patience != 500*time.Millisecond || m.Timeout != 3*time.Second {
		t.Errorf("%+v", m)
	}
}

func TestMonitorMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no relay to watch: give the URL of at least one"},
		{[]string{"--relays", "http://a"}, "no beacon node: give the URL of at least one"},
		{[]string{"--relays", "ftp://a", "--beacon-nodes", "http://b"}, `relay "ftp://a": want https://0xkey@host`},
		{[]string{"--relays", "http://0x12@a", "--beacon-nodes", "http://b"}, `relay "http://0x12@a": key: `},
		{[]string{"--relays", "http://a", "--beacon-nodes", "http://b", "--ask-at", "soon"},
			`ask-at has "soon": give durations`},
	} {
		if got, status, stderr := callMonitor(t, c.args...); got != nil || status != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: status %d, %s", c.args, status, stderr)
		}
	}
}
