package journal

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startCluster is the smallest cluster: one server outside of the journal, on a free port of this machine.
func startCluster(t *testing.T, maxPayload int32) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		MaxPending: 4 * maxValue,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(startTime) {
		t.Fatal("the cluster does not start")
	}
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// Two relays on one cluster share one guard: that is what the cluster is for.
func TestRelaysOfOneClusterShareTheGuard(t *testing.T) {
	cluster := startCluster(t, maxValue)
	a, b := open(t, Config{URL: cluster.ClientURL()}), open(t, Config{URL: cluster.ClientURL()})
	if _, won, err := a.Claim(t.Context(), "slot-1", []byte("root a")); err != nil || !won {
		t.Fatal(won, err)
	}
	if current, won, err := b.Claim(t.Context(), "slot-1", []byte("root b")); err != nil || won || string(current) != "root a" {
		t.Errorf("%q, %v, %v: want root a, lost", current, won, err)
	}
	if err := a.Put(t.Context(), "block", []byte("payload")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "block"); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v: want what the other relay put", got, err)
	}
}

// A cluster with the default of 1 MiB would take most blocks and lose the greatest: Open says so instead.
func TestClusterMustTakeTheGreatestBlock(t *testing.T) {
	_, err := Open(t.Context(), Config{URL: startCluster(t, 1<<20).ClientURL()})
	if err == nil || !strings.Contains(err.Error(), "max_payload") {
		t.Errorf("%v, want a word about max_payload", err)
	}
}

func TestErrorsHideThePasswordOfTheURL(t *testing.T) {
	_, err := Open(t.Context(), Config{URL: "nats://user:hunter2@127.0.0.1:1"})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("%v: want an error that names the host and not the password", err)
	}
}

// A reader ends with its context even if the cluster is gone.
func TestReaderOfALostClusterEnds(t *testing.T) {
	cluster := startCluster(t, maxValue)
	j, err := Open(t.Context(), Config{URL: cluster.ClientURL()})
	if err != nil {
		t.Fatal(err)
	}
	defer j.conn.Close() // nothing to flush to
	if _, err := j.Append(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j.conn.SetDisconnectErrHandler(func(*nats.Conn, error) { cancel() })
	err = j.Read(ctx, 1, func(uint64, time.Time, string, []byte) error {
		go cluster.Shutdown()
		return nil
	})
	if err != nil || ctx.Err() == nil {
		t.Errorf("%v, context %v: want a reader that went on until its context ended", err, ctx.Err())
	}
}
