package journal

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startCluster is the smallest cluster: one server outside of the journal, on a free port of this
// machine.
func startCluster(t *testing.T, maxPayload int32) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
		JetStreamMaxStore: engineQuota, // whatever the disk has
		MaxPayload:        maxPayload,
		MaxPending:        4 * maxValue,
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
	if current, won, err := b.Claim(t.Context(), "slot-1", []byte("root b")); err != nil || won ||
		string(current) != "root a" {
		t.Errorf("%q, %v, %v: want root a, lost", current, won, err)
	}
	if err := a.Put(t.Context(), "block", []byte("payload")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), "block"); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v: want what the other relay put", got, err)
	}
}

// A cluster with the default of 1 MiB would take most blocks and lose the greatest: Open says so
// instead.
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

// A reader whose stream is lost tries to find it again for ever; it still ends with its context.
func TestReaderOfALostStreamEnds(t *testing.T) {
	j := open(t, Config{})
	if _, err := j.Append(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := j.Read(ctx, 1, func(uint64, time.Time, string, []byte) error {
		// From now on a request for a consumer is the reader's, who tries again.
		if _, err := j.conn.Subscribe("$JS.API.CONSUMER.CREATE."+factsName+".>", func(*nats.Msg) { cancel() }); err != nil {
			return err
		}
		return j.js.DeleteStream(t.Context(), factsName)
	})
	if err != nil || ctx.Err() == nil {
		t.Errorf("%v, context %v: want a reader that went on until its context ended", err, ctx.Err())
	}
}

// With the cluster gone facts wait for its return, but not without end; Flush does not pretend that
// they are kept.
func TestFactsOnTheirWayAreBounded(t *testing.T) {
	cluster := startCluster(t, maxValue)
	j, err := Open(t.Context(), Config{URL: cluster.ClientURL(), EscrowBytes: testEscrow})
	if err != nil {
		t.Fatal(err)
	}
	defer j.conn.Close() // there is nobody to flush to
	cluster.Shutdown()
	cluster.WaitForShutdown()
	// The client gives up what was on its way when it notices the loss, which makes room once more.
	taken := 0
	for err == nil && taken <= 2*maxPending {
		err = j.AppendAsync("a", nil)
		taken++
	}
	if pending := j.js.PublishAsyncPending(); err == nil || pending > maxPending {
		t.Errorf("%d facts were taken, the last with %v; %d are on their way, want at most %d", taken, err,
			pending, maxPending)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := j.Flush(ended); err == nil {
		t.Error("flushed into nowhere")
	}
}

// A cluster that is away when the process starts, as after a reboot of all, is waited for.
//
//gavel:fault journal-away
func TestClusterThatIsAwayAtStart(t *testing.T) {
	address := freePort(t)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	tried := make(chan struct{})
	var once sync.Once
	log := slog.New(slog.NewTextHandler(writerFunc(func(line []byte) (int, error) {
		once.Do(func() { close(tried) })
		return len(line), nil
	}), nil))
	opened := make(chan error, 1)
	go func() {
		j, err := Open(t.Context(), withTestQuota(Config{URL: "nats://" + address, StartTimeout: time.Minute, Log: log}))
		if err == nil {
			err = j.Close(t.Context())
		}
		opened <- err
	}()
	<-tried
	s, err := server.NewServer(&server.Options{
		Host: host, Port: number, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, MaxPayload: maxValue,
		MaxPending: 4 * maxValue, JetStreamMaxStore: engineQuota,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(line []byte) (int, error) { return f(line) }
