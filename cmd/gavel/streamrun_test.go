package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/orderflow"
)

// The stream as an operator runs it: a process of its own, whose journal is that of a process which
// runs the bundle RPC. It streams what is shared there.
func TestStreamRunsAlone(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "gavel")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	process := func(args ...string) {
		var said strings.Builder
		command := exec.CommandContext(context.Background(), bin, args...) // the end of the test ends it in order
		command.Stderr = &said
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := command.Process.Signal(os.Interrupt); err != nil {
				t.Error(err)
			}
			if err := command.Wait(); err != nil {
				t.Errorf("%v: %v\n%s", args[0], err, said.String())
			}
		})
	}
	node := executionNode(t)
	t.Setenv(rpcKeyEnv, testKey)
	rpcAdmin, kept, public, admin := freePort(t), freePort(t), freePort(t), freePort(t)
	process("rpc", "--execution-rpc", node.RPCURL(), "--listen", freePort(t), "--admin-listen", rpcAdmin, "--data-dir",
		t.TempDir(), "--journal-listen", kept)
	until(t, "http://"+rpcAdmin+"/readyz", 200, nil)
	process("stream", "--journal", "nats://"+kept, "--listen", public, "--admin-listen", admin, "--data-dir",
		filepath.Join(t.TempDir(), "history"))
	until(t, "http://"+admin+"/readyz", 200, nil)

	raw, hash := rawTransaction(t)
	order, err := json.Marshal(orderflow.Shared{
		At: time.Unix(1_700_000_000, 0), Block: 7, Hash: hash, Bundle: orderflow.Bundle{Hints: orderflow.Calldata,
			Elements: []orderflow.Element{{
				Tx: &orderflow.Tx{Raw: hexutil.MustDecode(raw), Hash: hash},
			}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	writer, err := journal.Open(t.Context(), journal.Config{URL: "nats://" + kept, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close(context.Background()) // it has nothing on its way
	if _, err := writer.Append(t.Context(), orderflow.SharedSubject, order); err != nil {
		t.Fatal(err)
	}
	want := `"logs":null,"txs":[{"to":"` + strings.ToLower(common.Address{1}.Hex()) +
		`","functionSelector":"0x00000000","callData":"0x"}]}`
	if got := firstEvent(t, public); !strings.HasSuffix(got, want) {
		t.Errorf("heard %s, want …%s", got, want)
	}
	if got := text(t, "http://"+public+"/api/v1/history"); !strings.HasPrefix(got,
		`[{"block":7,"timestamp":1700000000,"hint":{"hash":`) || !strings.Contains(got, want) {
		t.Errorf("history %s", got)
	}
}

// firstEvent is the first event that the stream ever had, as curl -N shows it.
func firstEvent(t *testing.T, address string) string {
	t.Helper()
	curl := exec.CommandContext(t.Context(), "curl", "-sSN", "--max-time", "60", "http://"+address+"/?ids=1&lastEventId=0")
	out, err := curl.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := curl.Start(); err != nil {
		t.Fatalf("%v; curl is needed (make install-needs)", err)
	}
	defer curl.Wait()         //nolint:errcheck // it is ended
	defer curl.Process.Kill() //nolint:errcheck // it would listen on
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if event, found := strings.CutPrefix(lines.Text(), "data: "); found {
			return event
		}
	}
	t.Fatal("the stream ended without an event")
	return ""
}

// What is wrong outside of the flags ends the command with an error that says where.
func TestStreamCannotRun(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"port":         {[]string{"--listen", taken.Addr().String()}, "stop the other program or choose another port"},
		"admin's port": {[]string{"--admin-listen", taken.Addr().String()}, "stop the other program or choose another port"},
		"no journal":   {[]string{"--journal", "nats://" + freePort(t), "--start-timeout", "0s"}, "connect to "},
		"no database":  {[]string{"--db", "cassandra://h"}, "open the history: "},
		"open to all":  {[]string{"--journal-listen", "0.0.0.0:4222"}, "give a loopback address"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"--listen", freePort(t), "--admin-listen", "", "--data-dir", "", "--log-level", "error"},
				c.args...)
			cfg, status, _, stderr := callStream(t, args...)
			if status != 0 {
				t.Fatal(stderr)
			}
			if err := serveStream(t.Context(), *cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
