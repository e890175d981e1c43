package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
)

// The commands of docs/operations.md are run one after the other, as they stand there, on a real
// journal and a real NATS server.
func TestCommandsOfOperations(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	home, address := t.TempDir(), freePort(t)
	startNATS(t, address)
	t.Chdir(home)
	j, err := journal.Open(t.Context(), journal.Config{Dir: "gavel-relay-data/journal", EscrowBytes: 64 << 20,
		FactsBytes: 64 << 20, EvidenceBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 9 {
		if _, err := j.Append(t.Context(), "relay.x", fmt.Appendf(nil, `{"n":%d}`, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.KeepNetwork(t.Context(), map[string]string{"chain": "1"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	commands := regexp.MustCompile(`(?m)^bin/(gavel journal .*)$`).FindAllStringSubmatch(string(page), -1)
	if len(commands) < 7 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, found := range commands {
		line := strings.ReplaceAll(found[1], "nats://127.0.0.1:4222", "nats://"+address)
		var stdout, stderr bytes.Buffer
		program := root()
		program.Writer = &stdout
		if status := run.Main(program, strings.Fields(line), &stderr); status != 0 {
			t.Fatalf("%s: status %d, %s%s", line, status, stdout.String(), stderr.String())
		}
		t.Logf("%s\n%s", line, stdout.String())
		want := map[string]string{"show": "chain 1", "check": "whole", "change": "36h0m0s", "facts": `"seq":9,`}[strings.Fields(line)[2]]
		if want == "" {
			want = "FACTS"
		}
		if !strings.Contains(stdout.String(), want) || strings.Contains(stdout.String(), "DAMAGED") {
			t.Errorf("%s: no %q in\n%s", line, want, stdout.String())
		}
	}
	moved, err := journal.Show(t.Context(), journal.Config{URL: "nats://" + address})
	if err != nil || moved.Journal != j.ID() || moved.Streams[0].Last != 9 {
		t.Errorf("%+v, %v: want the journal that was moved", moved, err)
	}
}

func startNATS(t *testing.T, address string) {
	t.Helper()
	var port int
	if _, err := fmt.Sscanf(address, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: t.TempDir(),
		NoSigs: true, NoLog: true, MaxPayload: 32 << 20, MaxPending: 128 << 20,
		JetStreamMaxStore: 1 << 40}) // whatever the disk has
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
}

func TestJournalToolMistakes(t *testing.T) {
	backup := filepath.Join(t.TempDir(), "backup")
	for _, c := range []struct {
		args, want string
		status     int
	}{
		{"show", "give --folder or --journal", 2},
		{"show --folder a --journal nats://h", "give --folder or --journal", 2},
		{"show --folder " + t.TempDir(), "there is no journal", 1},
		{"backup --folder a", "dir is empty", 2},
		{"restore --folder a --dir " + backup, "--original-is-gone", 2},
		{"restore --folder a --original-is-gone --dir " + backup, "read the backup", 1},
		{"move --folder a", "move needs --folder", 2},
		{"change --folder a", "change is for a cluster", 2},
		{"change --journal nats://127.0.0.1:1 --start-timeout 0s", "connect to nats://127.0.0.1:1", 1},
		{"restore --folder a --journal-replicas 9 --dir b", "journal-replicas is 9", 2},
	} {
		var stdout, stderr bytes.Buffer
		program := root()
		program.Writer = &stdout
		if status := run.Main(program, append([]string{"gavel", "journal"}, strings.Fields(c.args)...),
			&stderr); status != c.status ||
			!strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: status %d, %s", c.args, status, stderr.String())
		}
	}
}
